// SPDX-License-Identifier: Apache-2.0

/// The widest reading of a path: what a careless upstream could take it for.
///
/// Never forwarded and never the reason of a refusal; a rule that only this key hits demands the token. Some steps
/// of a reader can also hide a segment from a rule (a look-alike that becomes a slash, a trimmed `..`, a cut parameter),
/// so that each can be left out: see ``Reading``. The storage is reused.
package struct PathFold: Sendable {
    /// The steps that not every upstream takes.
    package struct Reading: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Compatibility characters and overlong sequences become ASCII (Unicode NFKC, lenient decoders).
        package static let lookalikes = Reading(rawValue: 1)
        /// Dots and spaces behind a segment are dropped (Windows).
        package static let trimming = Reading(rawValue: 2)
        /// Parameters are dropped, the path ends at `?` or `#` (Tomcat, second parsers).
        package static let delimiters = Reading(rawValue: 4)

        /// Spaces before a segment are dropped, `.. .` is `..` (scripts).
        package static let oddities = Reading(rawValue: 8)
        /// Dot-segments that other steps bring about are resolved, segments that they empty are dropped.
        package static let dots = Reading(rawValue: 16)

        /// Characters that only look like ASCII become it, all white space is trimmed, ignorable characters are dropped.
        package static let bestFit = Reading(rawValue: 32)

        /// Names of NTFS streams and session segments are dropped (IIS).
        package static let streams = Reading(rawValue: 64)
        /// A plus sign around a segment is a space (form decoders).
        package static let plus = Reading(rawValue: 128)

        package static let widest = Reading(rawValue: 255)

        /// The readings to try after the widest one, fewest steps left out first.
        package static let narrower = (0..<widest.rawValue)
            .sorted { ($1.nonzeroBitCount, $1) < ($0.nonzeroBitCount, $0) }.map(Reading.init(rawValue:))
    }

    /// The folded path of the last call: `/`, or segments without a final slash.
    package private(set) var key: [UInt8] = []
    var work: [UInt8] = []
    private var effects: Reading = []
    var plusIsBlank = false
    private var writer = SegmentWriter()

    package init() {}

    /// Folds a path, with or without its query, and tells which steps changed anything.
    ///
    /// Any octets are accepted; a missing first slash is added.
    @discardableResult
    package mutating func fold(_ path: Span<UInt8>, reading: Reading = .widest) -> Reading {
        effects = []
        plusIsBlank = reading.contains(.plus)
        if Self.isOwnKey(path) {
            key.removeAll(keepingCapacity: true)
            let end = path.count > 1 && path[path.count - 1] == ASCII.slash ? path.count - 1 : path.count
            for index in 0..<end { key.append(path[index]) }
            return []
        }
        work.removeAll(keepingCapacity: true)
        for index in 0..<path.count { work.append(path[index]) }
        for _ in 0..<3 {
            let isDecoded = decodeTriplets()
            let isMapped = mapSequences(reading)
            guard isDecoded || isMapped else { break }
        }
        simplify(reading)
        writeSegments(reading)
        return effects
    }

    /// Folds a request-target that may be refused, for logs and `hidctl`: an `http://` authority is skipped.
    package mutating func fold(target: Span<UInt8>) {
        var start = RequestTarget.endOfScheme(in: target) ?? 0
        if start > 0 {
            while start < target.count, !Self.endsAuthority(target[start]) { start += 1 }
        }
        fold(target.extracting(start..<target.count))
    }

    private static func endsAuthority(_ octet: UInt8) -> Bool {
        octet == ASCII.slash || octet == ASCII.questionMark || octet == ASCII.hash
    }

    /// Whether the widest key of a canonical path is the path, and no look-up is to be tried beside it.
    static func hasOneName(_ path: Span<UInt8>) -> Bool {
        guard path.count > 1, path[path.count - 1] != ASCII.slash else { return path.count == 1 }
        for index in 0..<path.count {
            switch path[index] {
            case 0x61...0x7A, 0x30...0x39, ASCII.slash, 0x2D, 0x5F, 0x7E: continue
            default: return false
            }
        }
        return true
    }

    /// Whether no octet of a path has a second reading, but for a final slash.
    private static func isOwnKey(_ path: Span<UInt8>) -> Bool {
        guard path.count > 0, path[0] == ASCII.slash else { return false }
        var previous: UInt8 = 0
        for index in 0..<path.count {
            let octet = path[index]
            switch octet {
            case 0x61...0x7A, 0x30...0x39, 0x2D, 0x5F, 0x7E, ASCII.dot: break
            case ASCII.slash where previous != ASCII.dot && previous != ASCII.slash: break
            default: return false
            }
            previous = octet
        }
        return previous != ASCII.dot
    }

    // MARK: - Decoding

    /// Decodes `%XX` and `%uXXXX` once; anything else after a percent sign stays.
    mutating func decodeTriplets() -> Bool {
        guard work.contains(ASCII.percent) else { return false }
        var read = 0
        var written = 0
        while read < work.count {
            if work[read] == ASCII.percent, let octet = octet(at: read + 1) {
                put(octet, at: &written)
                read += 3
            } else if work[read] == ASCII.percent, let scalar = scalar(at: read + 1) {
                read += 6
                putSequence(scalar, at: &written)
            } else {
                put(work[read], at: &written)
                read += 1
            }
        }
        let isChanged = written < work.count
        work.removeLast(work.count - written)
        return isChanged
    }

    private mutating func put(_ octet: UInt8, at written: inout Int) {
        work[written] = octet
        written += 1
    }

    /// The octet that two digits stand for.
    func octet(at index: Int) -> UInt8? {
        guard index + 1 < work.count, let high = ASCII.hexadecimal(work[index]),
            let low = ASCII.hexadecimal(work[index + 1])
        else { return nil }
        return high << 4 | low
    }

    /// The UTF-16 unit that `u` and four digits stand for (an escape of IIS).
    private func scalar(at index: Int) -> UInt32? {
        guard index < work.count, ASCII.lowercased(work[index]) == 0x75, let high = octet(at: index + 1),
            let low = octet(at: index + 3)
        else { return nil }
        return UInt32(high) << 8 | UInt32(low)
    }

    private mutating func putSequence(_ scalar: UInt32, at written: inout Int) {
        if scalar < 0x80 {
            put(UInt8(truncatingIfNeeded: scalar), at: &written)
        } else if scalar < 0x800 {
            put(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6), at: &written)
            put(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F), at: &written)
        } else {
            put(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12), at: &written)
            put(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F), at: &written)
            put(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F), at: &written)
        }
    }

    /// Replaces characters beyond ASCII by what a folding upstream makes of them.
    mutating func mapSequences(_ reading: Reading) -> Bool {
        guard work.contains(where: { $0 >= 0x80 }) else { return false }
        var read = 0
        var written = 0
        var isChanged = false
        while read < work.count {
            guard work[read] >= 0x80, let (scalar, length) = sequence(at: read) else {
                put(work[read], at: &written)
                read += 1
                continue
            }
            if replace(scalar, length: length, reading, at: &written) {
                isChanged = true
            } else if length == 2, scalar >= 0x80 {
                putSequence(Lookalike.lowercased(scalar), at: &written)
            } else {
                for offset in 0..<length { put(work[read + offset], at: &written) }
            }
            read += length
        }
        work.removeLast(work.count - written)
        return isChanged
    }

    /// Writes what a character becomes, which is never longer; false when it stays.
    private mutating func replace(_ scalar: UInt32, length: Int, _ reading: Reading, at written: inout Int) -> Bool {
        if Lookalike.changesIntoLetters(scalar), let text = LookalikeTable.texts[scalar] {
            for octet in text { put(octet, at: &written) }
        } else if let octet = Lookalike.compatible(scalar) {
            effects.insert(.lookalikes)
            guard reading.contains(.lookalikes) else { return false }
            put(octet, at: &written)
        } else if let octet = Lookalike.bestFit(scalar) {
            effects.insert(.bestFit)
            guard reading.contains(.bestFit) else { return false }
            put(octet, at: &written)
        } else if let text = LookalikeTable.texts[scalar], text.count <= length {
            effects.insert(.lookalikes)
            guard reading.contains(.lookalikes) else { return false }
            for octet in text { put(octet, at: &written) }
        } else if Lookalike.isIgnorable(scalar) {
            effects.insert(.bestFit)
            return reading.contains(.bestFit)
        } else {
            return false
        }
        return true
    }

    /// The character that starts at an offset, overlong forms included, and its length.
    func sequence(at index: Int) -> (scalar: UInt32, length: Int)? {
        let lead = work[index]
        let length: Int
        switch lead {
        case 0xC0...0xDF: length = 2
        case 0xE0...0xEF: length = 3
        case 0xF0...0xF7: length = 4
        default: return nil
        }
        guard index + length <= work.count else { return nil }
        var scalar = UInt32(lead) & (0xFF >> UInt32(length + 1))
        for offset in 1..<length {
            guard work[index + offset] & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(work[index + offset] & 0x3F)
        }
        return (scalar, length)
    }

    // MARK: - Segments

    /// Lower case, `/` for `\`, no controls, no parameters; ends at NUL, `?` or `#`.
    private mutating func simplify(_ reading: Reading) {
        let cuts = reading.contains(.delimiters)
        var found: Reading = []
        var octets = work.mutableSpan
        var written = 0
        var isInParameter = false
        for read in 0..<octets.count {
            var octet = ASCII.lowercased(octets[read])
            if octet == ASCII.backslash { octet = ASCII.slash }
            if octet == 0 { break }
            if octet == ASCII.plus { found.insert(.plus) }
            if octet == ASCII.questionMark || octet == ASCII.hash {
                found.insert(.delimiters)
                if cuts { break }
            }
            if octet == ASCII.semicolon {
                found.insert(.delimiters)
                isInParameter = cuts
            } else if octet == ASCII.slash {
                isInParameter = false
            }
            if isInParameter || octet < 0x20 || octet == ASCII.delete { continue }
            octets[written] = octet
            written += 1
        }
        work.removeLast(work.count - written)
        effects.formUnion(found)
    }

    private mutating func writeSegments(_ reading: Reading) {
        key.removeAll(keepingCapacity: true)
        key.append(ASCII.slash)
        writer = SegmentWriter()
        var start = 0
        while start < work.count {
            var end = start
            while end < work.count, work[end] != ASCII.slash { end += 1 }
            if start < end { writeSegment(start..<end, reading) }
            start = end + 1
        }
        if key.count > 1, key.last == ASCII.slash { key.removeLast() }
    }

    private mutating func writeSegment(_ segment: Range<Int>, _ reading: Reading) {
        var kept = segment
        let unnamed = withoutStream(segment)
        if unnamed != kept {
            effects.insert(.streams)
            if reading.contains(.streams) { kept = unnamed }
        }
        if let first = kept.first, isBlank(work[first]) {
            effects.insert(.oddities)
            if reading.contains(.oddities) { kept = kept.drop { isBlank(work[$0]) } }
        }
        let isOdd = isClimbWithBlanks(kept)
        let trimmed = isOdd && reading.contains(.oddities) ? kept.prefix(2) : trimmed(kept)
        if trimmed != kept {
            effects.formUnion(isOdd ? [.trimming, .oddities] : .trimming)
            if reading.contains(.trimming) { kept = trimmed }
        }
        if kept.isEmpty || isDots(kept) { effects.insert(.dots) }
        let resolves = reading.contains(.dots)
        for index in kept.isEmpty && !resolves ? segment : kept { key.append(work[index]) }
        writer.close(&key, isLast: false, resolvesDots: resolves)
    }

    /// Whether a segment is `..` and then dots and spaces, the space first: some trim it to `..`, some to nothing.
    func isClimbWithBlanks(_ segment: Range<Int>) -> Bool {
        leadingDots(segment) == 2 && segment.count > 3 && isBlank(work[segment.lowerBound + 2])
            && segment.allSatisfy { work[$0] == ASCII.dot || isBlank(work[$0]) }
            && segment.dropFirst(2).contains { work[$0] == ASCII.dot }
    }

    func isDots(_ segment: Range<Int>) -> Bool {
        segment.count <= 2 && segment.allSatisfy { work[$0] == ASCII.dot }
    }

    /// What an upstream that trims the end keeps of a segment; `.` and `..` are kept.
    func trimmed(_ segment: Range<Int>) -> Range<Int> {
        let start = segment.lowerBound
        var last = segment.upperBound
        while last > start, isBlank(work[last - 1]) { last -= 1 }
        if isDots(start..<last) { return start..<last }
        while last > start, isBlank(work[last - 1]) || work[last - 1] == ASCII.dot { last -= 1 }
        return start..<last
    }

    func isBlank(_ octet: UInt8) -> Bool { octet == ASCII.space || octet == ASCII.plus && plusIsBlank }

    private func leadingDots(_ range: Range<Int>) -> Int {
        var count = 0
        for index in range {
            guard work[index] == ASCII.dot else { break }
            count += 1
        }
        return count
    }

    func withoutStream(_ segment: Range<Int>) -> Range<Int> {
        if isSession(segment) { return segment.prefix(0) }
        return segment.lowerBound..<(streamName(in: segment) ?? segment.upperBound)
    }

    /// Whether a segment is a cookieless session of ASP.NET, `(S(...))` (CVE-2023-36899).
    private func isSession(_ segment: Range<Int>) -> Bool {
        segment.count >= 5 && work[segment.lowerBound] == ASCII.leftParenthesis
            && work[segment.lowerBound + 2] == ASCII.leftParenthesis
            && work[segment.upperBound - 1] == ASCII.rightParenthesis
            && work[segment.upperBound - 2] == ASCII.rightParenthesis
    }

    /// Where the name of an NTFS stream starts, `::$DATA` or `:name:$type`.
    private func streamName(in segment: Range<Int>) -> Int? {
        var first: Int?
        for index in segment where work[index] == ASCII.colon {
            let colon = first ?? index
            if index + 1 < segment.upperBound, work[index + 1] == ASCII.dollar { return colon }
            first = colon
        }
        return nil
    }
}
