// SPDX-License-Identifier: Apache-2.0

/// The `path` of a rule: exact, `/a/**` (`/a` and all below it, whole segments), `*` for one segment.
///
/// A pattern is written in its own canonical form, so that what an operator reads is what requests are compared with.
package struct PathPattern: Sendable, Hashable {
    /// Why a text is no pattern.
    package enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
        case notAbsolute
        /// No request could ever match.
        case refused(PathFault)
        /// Requests are matched in that form.
        case notCanonical(canonical: String)
        /// `**` stands before the last segment.
        case restNotLast
        /// `*` is only a part of a segment; a literal one is written `%2A`.
        case partialWildcard
        case tooLong

        package var description: String {
            switch self {
            case .notAbsolute: "a path must start with /"
            case .refused(let fault): "no request can have this path: \(fault.explanation) (\(fault.code))"
            case .notCanonical(let canonical): "the path must be written in its canonical form, \(canonical)"
            case .restNotLast: "** is allowed as the last segment only"
            case .partialWildcard: "* and ** stand for whole segments; write %2A for the character"
            case .tooLong: "a path may have \(RequestTarget.maximumLength) octets"
            }
        }
    }

    /// The pattern as written.
    package let text: String
    /// Its octets without a final `/**`; empty for `/**`.
    let bytes: [UInt8]
    /// Whether it ends in `/**`.
    let matchesBelow: Bool
    /// How narrow it is.
    package let specificity: Specificity

    /// `/` alone.
    package static let root = PathPattern()

    private init() {
        text = "/"
        bytes = [ASCII.slash]
        matchesBelow = false
        specificity = Specificity(segments: [[]], matchesBelow: false)
    }

    /// Reads a pattern.
    ///
    /// - Throws: the fault that makes it none.
    package init(parsing text: String) throws(Fault) {
        let given = Array(text.utf8)
        guard given.first == ASCII.slash else { throw .notAbsolute }
        guard given.count <= RequestTarget.maximumLength else { throw .tooLong }
        try Self.checkCanonical(given)
        var segments = given.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false)
        let rest: [UInt8] = [ASCII.asterisk, ASCII.asterisk]
        matchesBelow = segments.last.map { $0.elementsEqual(rest) } ?? false
        if matchesBelow { segments.removeLast() }
        for segment in segments where segment.contains(ASCII.asterisk) {
            if segment.elementsEqual(rest) { throw .restNotLast }
            if segment.count > 1 { throw .partialWildcard }
        }
        self.text = text
        bytes = matchesBelow ? Array(given.dropLast(3)) : given
        specificity = Specificity(segments: segments, matchesBelow: matchesBelow)
    }

    /// Whether it names one path only.
    package var isExact: Bool { specificity.isExact }

    /// Whether a canonical path is meant, segment by segment.
    package func matches(_ path: Span<UInt8>) -> Bool { Self.matches(bytes.span, matchesBelow, path) }

    /// Whether the octets of a pattern, without a final `/**`, mean a path.
    static func matches(_ own: Span<UInt8>, _ matchesBelow: Bool, _ path: Span<UInt8>) -> Bool {
        var index = 0
        var other = 0
        while index < own.count {
            guard other < path.count, path[other] == ASCII.slash else { return false }
            let end = endOfSegment(own, after: index)
            let otherEnd = endOfSegment(path, after: other)
            if end == index + 2, own[index + 1] == ASCII.asterisk {
                guard otherEnd > other + 1 else { return false }
            } else {
                guard own.extracting(index..<end).equals(path.extracting(other..<otherEnd)) else { return false }
            }
            index = end
            other = otherEnd
        }
        return other == path.count || matchesBelow && path[other] == ASCII.slash
    }

    /// The octets of the pattern as ``PathFold`` reads them, without a final `/**`; empty for `/**`.
    func folded(_ fold: inout PathFold, reading: PathFold.Reading) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        fold.fold(bytes.span, reading: reading)
        return matchesBelow && fold.key.count == 1 ? [] : fold.key
    }

    /// The offset of the slash that ends the segment which starts with the slash at an offset.
    static func endOfSegment(_ path: Span<UInt8>, after slash: Int) -> Int {
        var index = slash + 1
        while index < path.count, path[index] != ASCII.slash { index += 1 }
        return index
    }

    /// Octets beyond visible ASCII are encoded first, so that the fault can show the form to write.
    private static func checkCanonical(_ given: [UInt8]) throws(Fault) {
        var encoded: [UInt8] = []
        for octet in given {
            if octet &- 0x21 < 0x5E {
                encoded.append(octet)
            } else {
                encoded += [ASCII.percent, ASCII.hexadecimalDigit(octet >> 4), ASCII.hexadecimalDigit(octet & 0xF)]
            }
        }
        var canonical: [UInt8] = []
        do {
            _ = try PathCanonicaliser.canonicalise(encoded.span, into: &canonical)
        } catch {
            throw .refused(error)
        }
        guard canonical == given else { throw .notCanonical(canonical: String(decoding: canonical, as: UTF8.self)) }
    }
}

extension PathPattern {
    /// The order of patterns that match one path; the greater one is the more specific one.
    ///
    /// Exact before pattern, then more segments before fewer, more literal ones before fewer, one segment before any
    /// number of them, and the literal that comes earlier.
    package struct Specificity: Sendable, Hashable, Comparable {
        package let isExact: Bool
        package let segmentCount: Int
        package let literalCount: Int
        package let matchesBelow: Bool
        /// One bit for each of the first 64 segments, the first one highest.
        let literals: UInt64
        let length: Int

        init(segments: [ArraySlice<UInt8>], matchesBelow: Bool) {
            var literals: UInt64 = 0
            var literalCount = 0
            for (index, segment) in segments.enumerated() where !segment.elementsEqual([ASCII.asterisk]) {
                literalCount += 1
                if index < 64 { literals |= 1 << UInt64(63 - index) }
            }
            isExact = literalCount == segments.count && !matchesBelow
            segmentCount = segments.count
            self.literalCount = literalCount
            self.matchesBelow = matchesBelow
            self.literals = literals
            length = segments.reduce(0) { $0 + $1.count + 1 }
        }

        package static func < (left: Specificity, right: Specificity) -> Bool {
            if left.isExact != right.isExact { return right.isExact }
            if left.segmentCount != right.segmentCount { return left.segmentCount < right.segmentCount }
            if left.literalCount != right.literalCount { return left.literalCount < right.literalCount }
            if left.matchesBelow != right.matchesBelow { return left.matchesBelow }
            if left.literals != right.literals { return left.literals < right.literals }
            return left.length < right.length
        }
    }
}
