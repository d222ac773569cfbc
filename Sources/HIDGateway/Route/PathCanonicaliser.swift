// SPDX-License-Identifier: Apache-2.0

/// Turns a path into the one spelling that rules are matched by and that is forwarded.
///
/// The rules are those of a strict reader: every octet that two common servers read differently is refused, encoded
/// unreserved characters are decoded once (RFC 3986 section 6.2.2.2), other triplets get upper-case digits (6.2.2.1),
/// empty segments are dropped before dot-segments (5.2.4). The result is a fixed point: it is its own canonical form.
package enum PathCanonicaliser {
    /// Whether the path came in its canonical form.
    package enum Outcome: Sendable {
        case unchanged
        case normalised
    }

    /// Writes the canonical form of a path.
    ///
    /// - Parameters:
    ///   - path: an absolute path without query; an empty one counts as `/`.
    ///   - storage: overwritten; its capacity is kept. Worthless after a fault.
    /// - Returns: whether the path came in that form.
    /// - Throws: the first fault from the left; climbing above the root comes last.
    package static func canonicalise(
        _ path: Span<UInt8>, into storage: inout [UInt8]
    ) throws(PathFault) -> Outcome {
        storage.removeAll(keepingCapacity: true)
        if isPlain(path) {
            for index in 0..<path.count { storage.append(path[index]) }
            return .unchanged
        }
        try rewrite(path, into: &storage)
        return storage.span.equals(path) ? .unchanged : .normalised
    }

    /// Whether a path is canonical at first sight; most are.
    private static func isPlain(_ path: Span<UInt8>) -> Bool {
        guard path.count > 0, path[0] == ASCII.slash else { return false }
        var previous: UInt8 = 0
        for index in 0..<path.count {
            let octet = path[index]
            if previous == ASCII.slash, octet == ASCII.slash || octet == ASCII.dot { return false }
            guard octet == ASCII.slash || isLiteral(octet) else { return false }
            previous = octet
        }
        return true
    }

    /// Characters that stand for themselves: unreserved, and the others that no server takes for a separator.
    private static func isLiteral(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x7E: true
        case 0x21, 0x24, 0x26...0x2C, 0x3A, 0x3D, 0x40, ASCII.leftBracket, ASCII.rightBracket: true
        default: false
        }
    }

    private static func rewrite(_ path: Span<UInt8>, into storage: inout [UInt8]) throws(PathFault) {
        var writer = SegmentWriter()
        storage.append(ASCII.slash)
        var index = path.count > 0 && path[0] == ASCII.slash ? 1 : 0
        while index < path.count {
            let octet = path[index]
            if octet == ASCII.slash {
                writer.close(&storage, isLast: false)
                index += 1
            } else if octet == ASCII.percent {
                index = try appendTriplet(path, at: index, to: &storage)
            } else if isLiteral(octet) {
                storage.append(octet)
                index += 1
            } else {
                throw octet == ASCII.semicolon ? .semicolon : .badCharacter
            }
        }
        writer.close(&storage, isLast: true)
        guard !writer.climbedAboveRoot else { throw .aboveRoot }
    }

    /// Appends what the triplet at an offset stands for and returns the offset behind it.
    private static func appendTriplet(
        _ path: Span<UInt8>, at index: Int, to storage: inout [UInt8]
    ) throws(PathFault) -> Int {
        let octet = try decoded(path, at: index)
        if octet >= 0x80 { return try appendSequence(path, at: index, lead: octet, to: &storage) }
        if let fault = fault(encoded: octet) { throw fault }
        if ASCII.isUnreserved(octet) {
            storage.append(octet)
        } else {
            append(triplet: octet, to: &storage)
        }
        return index + 3
    }

    /// Collects the spellings that make a path ambiguous.
    ///
    /// - Parameters:
    ///   - path: as for ``canonicalise(_:into:)``.
    ///   - storage: overwritten.
    /// - Returns: the spellings; none for a path that has a canonical form.
    /// - Throws: the first fault from the left that makes the path malformed, not ambiguous.
    static func ambiguities(
        of path: Span<UInt8>, using storage: inout [UInt8]
    ) throws(PathFault) -> PathAmbiguity {
        storage.removeAll(keepingCapacity: true)
        var found: PathAmbiguity = []
        var index = 0
        while index < path.count {
            let octet = path[index]
            guard octet == ASCII.percent else {
                if octet == ASCII.semicolon {
                    found.insert(.semicolon)
                } else if octet == ASCII.backslash {
                    found.insert(.backslash)
                } else if octet != ASCII.slash, !isLiteral(octet) {
                    found.insert(.unencoded)
                }
                index += 1
                continue
            }
            if let fault = fault(encoded: try decoded(path, at: index)) {
                guard let ambiguity = PathAmbiguity(fault) else { throw fault }
                found.insert(ambiguity)
                index += 3
            } else {
                index = try appendTriplet(path, at: index, to: &storage)
            }
        }
        return found
    }

    /// Why an encoded ASCII character is refused; nil when it is not.
    private static func fault(encoded octet: UInt8) -> PathFault? {
        switch octet {
        case 0..<0x20, ASCII.delete: .control
        case ASCII.slash: .encodedSlash
        case ASCII.backslash: .encodedBackslash
        case ASCII.percent: .encodedPercent
        case ASCII.semicolon: .encodedSemicolon
        case ASCII.questionMark: .encodedQuestionMark
        case ASCII.hash: .encodedHash
        default: nil
        }
    }

    /// Appends the triplets of one UTF-8 sequence (RFC 3629 section 4): nothing overlong, no surrogates.
    private static func appendSequence(
        _ path: Span<UInt8>, at index: Int, lead: UInt8, to storage: inout [UInt8]
    ) throws(PathFault) -> Int {
        guard let expected = UTF8Sequence(lead: lead) else { throw .badUTF8 }
        append(triplet: lead, to: &storage)
        var next = index + 3
        for position in 0..<expected.continuations {
            guard next < path.count, path[next] == ASCII.percent else { throw .badUTF8 }
            let octet = try decoded(path, at: next)
            let range = position == 0 ? expected.second : 0x80...0xBF
            guard range.contains(octet) else { throw .badUTF8 }
            append(triplet: octet, to: &storage)
            next += 3
        }
        return next
    }

    /// The octet of the triplet at an offset.
    private static func decoded(_ path: Span<UInt8>, at index: Int) throws(PathFault) -> UInt8 {
        guard index + 2 < path.count, let high = ASCII.hexadecimal(path[index + 1]),
            let low = ASCII.hexadecimal(path[index + 2])
        else { throw .badPercent }
        return high << 4 | low
    }

    private static func append(triplet octet: UInt8, to storage: inout [UInt8]) {
        storage.append(ASCII.percent)
        storage.append(ASCII.hexadecimalDigit(octet >> 4))
        storage.append(ASCII.hexadecimalDigit(octet & 0xF))
    }
}

/// What must follow the first octet of a UTF-8 sequence of two to four octets (RFC 3629 section 4).
struct UTF8Sequence {
    let continuations: Int
    let second: ClosedRange<UInt8>

    init?(lead: UInt8) {
        switch lead {
        case 0xC2...0xDF: (continuations, second) = (1, 0x80...0xBF)
        case 0xE0: (continuations, second) = (2, 0xA0...0xBF)
        case 0xED: (continuations, second) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (continuations, second) = (2, 0x80...0xBF)
        case 0xF0: (continuations, second) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (continuations, second) = (3, 0x80...0xBF)
        case 0xF4: (continuations, second) = (3, 0x80...0x8F)
        default: return nil
        }
    }
}

/// Drops empty segments and resolves dot-segments while a path is written (RFC 3986 section 5.2.4).
///
/// The storage starts with `/` and holds one segment that is open, from `start` to its end.
struct SegmentWriter {
    /// Where the open segment starts.
    private(set) var start = 1
    /// Whether a `..` had nothing left to remove; such a `..` is dropped.
    private(set) var climbedAboveRoot = false

    /// Ends the open segment; unless it is the last one, the next one is opened.
    mutating func close(_ storage: inout [UInt8], isLast: Bool, resolvesDots: Bool = true) {
        let length = storage.count - start
        if !resolvesDots, length > 0 {
            storage.append(ASCII.slash)
            start = storage.count
        } else if length == 1, storage[start] == ASCII.dot {
            storage.removeLast()
        } else if length == 2, storage[start] == ASCII.dot, storage[start + 1] == ASCII.dot {
            storage.removeLast(2)
            removeSegment(&storage)
        } else if length > 0, !isLast {
            storage.append(ASCII.slash)
            start = storage.count
        }
    }

    /// Removes the segment before the open one, which is empty.
    mutating func removeSegment(_ storage: inout [UInt8]) {
        guard start > 1 else {
            climbedAboveRoot = true
            return
        }
        var slash = start - 2
        while slash > 0, storage[slash] != ASCII.slash { slash -= 1 }
        storage.removeLast(storage.count - slash - 1)
        start = slash + 1
    }
}
