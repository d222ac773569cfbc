// SPDX-License-Identifier: Apache-2.0

/// Finds the field lines of a head in bytes that arrive in any pieces (RFC 9112 section 5).
///
/// Not accepted: bare LF, CR without LF, white space before a colon, folded lines, names that are no tokens and
/// control bytes in values. Every byte is looked at once; a dripped head costs no more than a whole one.
struct FieldScanner {
    enum Step {
        /// All bytes up to `end` are fine and the section is not over.
        case needMore
        /// A line that is followed by another line, so that it cannot be folded.
        case field(FieldLine)
        /// The empty line; the index is the first one behind it.
        case end(Int)
        case bad(FieldFault)
    }

    private enum Phase {
        case lineStart
        case name
        case space
        case value
    }

    private var phase = Phase.lineStart
    private var position: Int
    private var nameStart = 0
    private var valueStart = 0
    private var pending = FieldLine(name: 0..<0, value: 0..<0)
    private var hasPending = false

    init(position: Int) {
        self.position = position
    }

    /// Goes on where the last call stopped; `bytes` has the same start every time.
    mutating func next(_ bytes: Span<UInt8>, end: Int) -> Step {
        while position < end {
            let step: Step? =
                switch phase {
                case .lineStart: startLine(bytes, end)
                case .name: readName(bytes, end)
                case .space: skipSpace(bytes, end)
                case .value: readValue(bytes, end)
                }
            if let step { return step }
        }
        return .needMore
    }

    private mutating func startLine(_ bytes: Span<UInt8>, _ end: Int) -> Step? {
        let byte = bytes[position]
        if byte == 0x20 || byte == 0x09 { return .bad(.foldedLine) }
        if hasPending {
            hasPending = false
            return .field(pending)
        }
        switch byte {
        case 0x0D:
            guard position &+ 1 < end else { return .needMore }
            return bytes[position &+ 1] == 0x0A ? .end(position &+ 2) : .bad(.bareCR)
        case 0x0A:
            return .bad(.bareLF)
        default:
            nameStart = position
            phase = .name
            return nil
        }
    }

    private mutating func readName(_ bytes: Span<UInt8>, _ end: Int) -> Step? {
        position = ByteClass.skip(ByteClass.token, in: bytes, from: position, to: end)
        guard position < end else { return .needMore }
        switch bytes[position] {
        case 0x3A where position > nameStart:
            pending.name = nameStart..<position
            position &+= 1
            phase = .space
            return nil
        case 0x0D:
            guard position &+ 1 < end else { return .needMore }
            return .bad(bytes[position &+ 1] == 0x0A ? .lineBad : .bareCR)
        case 0x0A:
            return .bad(.bareLF)
        default:
            return .bad(.nameBad)
        }
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>, _ end: Int) -> Step? {
        while position < end, bytes[position] == 0x20 || bytes[position] == 0x09 { position &+= 1 }
        guard position < end else { return .needMore }
        valueStart = position
        phase = .value
        return nil
    }

    private mutating func readValue(_ bytes: Span<UInt8>, _ end: Int) -> Step? {
        position = bytes.skipFieldValue(from: position, to: end)
        guard position < end else { return .needMore }
        switch bytes[position] {
        case 0x0D:
            guard position &+ 1 < end else { return .needMore }
            guard bytes[position &+ 1] == 0x0A else { return .bad(.bareCR) }
            finishLine(bytes)
            return nil
        case 0x0A:
            return .bad(.bareLF)
        default:
            return .bad(.valueControl)
        }
    }

    private mutating func finishLine(_ bytes: Span<UInt8>) {
        var last = position
        while last > valueStart, bytes[last &- 1] == 0x20 || bytes[last &- 1] == 0x09 { last &-= 1 }
        pending.value = valueStart..<last
        pending.hasUnderscore = false
        for index in pending.name where bytes[index] == 0x5F { pending.hasUnderscore = true }
        hasPending = true
        position &+= 2
        phase = .lineStart
    }
}
