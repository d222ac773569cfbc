// SPDX-License-Identifier: Apache-2.0

/// What lies between two places at which some reader cuts a path.
struct PathPiece: Sendable {
    /// Where its text stands in ``PathFold/work``, letters in lower case.
    let text: Range<Int>
    /// What the widest reading keeps of it: no white space or dots around it, no name of a stream.
    let kept: Range<Int>
    /// Whether every reader starts a segment here.
    let startsSegment: Bool
    /// Whether some reader takes it for `..`.
    let isClimb: Bool
    /// Whether some reader drops it, or does not get as far.
    var isDroppable: Bool
}

/// An ambiguous path, cut wherever any reader could cut it.
///
/// A reader decodes up to three times, takes `\` and look-alikes for a slash or not, strips parameters before it
/// resolves dots or after or never, merges slashes before or after or never, stops at `?`, `#`, `;` or not. Whatever it
/// does, its segments are pieces of this list, one or several of them joined, in their order, and what it left out are
/// droppable ones. So a rule that no such choice touches is touched by no reader. The storage is reused.
struct PathPieces: Sendable {
    private(set) var list: [PathPiece] = []
    /// Whether any reader climbs, or takes the first segment for a host.
    private(set) var isUprooted = false

    /// Stands for a slash that came as such while the others are decoded.
    private static let hardSlash: UInt8 = 1

    /// Cuts a path.
    ///
    /// - Parameters:
    ///   - path: starts with a slash, holds visible ASCII only, every triplet well-formed.
    ///   - fold: its ``PathFold/work`` holds the text of the pieces afterwards.
    /// - Throws: a fault that no policy forgives and that only decoding again brings to light, or `ambiguous` when a
    ///   third decoding leaves something to decode.
    mutating func cut(_ path: Span<UInt8>, with fold: inout PathFold) throws(PathFault) {
        list.removeAll(keepingCapacity: true)
        isUprooted = false
        try Self.decode(path, with: &fold)
        var segment = Segment()
        var (start, index, isBehindCut, startsSegment) = (1, 1, false, true)
        while index <= fold.work.count {
            let octet = index < fold.work.count ? fold.work[index] : Self.hardSlash
            guard let separator = Separator(octet, hardSlash: Self.hardSlash) else {
                index += 1
                continue
            }
            let piece = fold.piece(start..<index, startsSegment: startsSegment, isBehindCut: isBehindCut)
            list.append(piece)
            segment.add(piece)
            if separator == .hard { segment.close() }
            if separator == .cut { isBehindCut = true }
            startsSegment = separator == .hard
            index += 1
            start = index
        }
        guard !segment.climbedAboveRoot else { throw .aboveRoot }
        markDroppable()
    }

    /// Decodes three times into ``PathFold/work``; slashes that come to light are 0x2F or 0x5C, the others 0x01.
    private static func decode(_ path: Span<UInt8>, with fold: inout PathFold) throws(PathFault) {
        fold.work.removeAll(keepingCapacity: true)
        var slashes = 0
        for index in 0..<path.count {
            let isSlash = path[index] == ASCII.slash
            if isSlash { slashes += 1 }
            fold.work.append(isSlash ? hardSlash : path[index])
        }
        for _ in 0..<3 {
            let isDecoded = fold.decodeTriplets()
            let isMapped = fold.mapSequences(.widest)
            guard isDecoded || isMapped else { break }
        }
        var index = 0
        while index < fold.work.count {
            let octet = fold.work[index]
            if octet >= 0x80 {
                guard let sequence = fold.sequence(at: index) else { throw .badUTF8 }
                index += sequence.length
                continue
            }
            if octet == hardSlash { slashes -= 1 } else if octet < 0x20 || octet == ASCII.delete { throw .control }
            if octet == ASCII.percent, fold.octet(at: index + 1) != nil { throw .ambiguous }
            fold.work[index] = ASCII.lowercased(octet)
            index += 1
        }
        guard slashes == 0 else { throw .control }
    }

    /// What stands before a climb can be climbed over; behind two slashes stands a host for some (RFC 3986 section 4.2).
    private mutating func markDroppable() {
        if let last = list.lastIndex(where: \.isClimb) {
            isUprooted = true
            for index in 0..<last { list[index].isDroppable = true }
        }
        guard let first = list.first, first.text.isEmpty, list.count > 1 else { return }
        isUprooted = true
        var index = list.firstIndex { !$0.text.isEmpty } ?? list.count
        while index < list.count {
            list[index].isDroppable = true
            index += 1
            if index < list.count, list[index].startsSegment { break }
        }
    }
}

/// What ends a piece.
private enum Separator {
    /// A slash for every reader.
    case hard
    /// A slash for some.
    case soft
    /// For some the path ends here, or a parameter begins.
    case cut

    init?(_ octet: UInt8, hardSlash: UInt8) {
        switch octet {
        case hardSlash: self = .hard
        case ASCII.slash, ASCII.backslash: self = .soft
        case ASCII.semicolon, ASCII.questionMark, ASCII.hash: self = .cut
        default: return nil
        }
    }
}

/// Counts how deep the shallowest reading of the segments so far is.
private struct Segment {
    private var depth = 0
    private var inner = 0
    private var pieces = 0
    private(set) var climbedAboveRoot = false

    mutating func add(_ piece: PathPiece) {
        pieces += 1
        if piece.isClimb { inner -= 1 } else if !piece.isDroppable { inner += 1 }
        if depth + inner < 0 { climbedAboveRoot = true }
    }

    /// A reader that does not cut within the segment sees one.
    mutating func close() {
        depth += pieces > 1 ? min(inner, 1) : inner
        (inner, pieces) = (0, 0)
    }
}

extension PathFold {
    /// The piece that stands in a part of ``work``.
    fileprivate mutating func piece(_ text: Range<Int>, startsSegment: Bool, isBehindCut: Bool) -> PathPiece {
        plusIsBlank = true
        var kept = withoutStream(text).drop { isBlank(work[$0]) }
        kept = isClimbWithBlanks(kept) ? kept.prefix(2) : trimmed(kept)
        let dots = text.count { work[$0] == ASCII.dot }
        let blanks = text.count { isBlank(work[$0]) }
        let isNothing = dots + blanks == text.count
        let isClimb = isNothing && dots > 1 || kept.count == 2 && isDots(kept)
        return PathPiece(
            text: text, kept: kept, startsSegment: startsSegment, isClimb: isClimb,
            isDroppable: isBehindCut || isNothing || kept.isEmpty || isDots(kept))
    }
}
