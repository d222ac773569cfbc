// SPDX-License-Identifier: Apache-2.0

/// Checks a trailer section octet by octet (RFC 9112 section 7.1.2).
///
/// Trailers never become fields of the head: the names a client could smuggle that way stay without effect.
struct TrailerScanner {
    enum Step {
        case goOn
        case end
        case bad(BodyFault)
    }

    private enum State {
        case lineStart
        case name
        /// Behind a CR inside a name: the next octet tells a line without colon from a bare CR.
        case nameCR
        case value
        case valueCR
        case endCR
    }

    private var state = State.lineStart
    private var octets = 0
    private var lines = 0

    mutating func accept(_ byte: UInt8, _ limits: BodyLimits) -> Step {
        octets &+= 1
        // The empty line that ends the section is not counted against it.
        if octets > limits.trailerBytes &+ 2 { return .bad(.trailerTooLarge) }
        switch state {
        case .lineStart: return startLine(byte, limits)
        case .name: return readName(byte)
        case .nameCR: return .bad(byte == 0x0A ? .trailerLine : .bareCR)
        case .value:
            if byte == 0x0D { return to(.valueCR) }
            if ByteClass.contains(byte, ByteClass.value) { return .goOn }
            return .bad(byte == 0x0A ? .bareLF : .trailerControl)
        case .valueCR: return byte == 0x0A ? to(.lineStart) : .bad(.bareCR)
        case .endCR: return byte == 0x0A ? .end : .bad(.bareCR)
        }
    }

    private mutating func startLine(_ byte: UInt8, _ limits: BodyLimits) -> Step {
        switch byte {
        case 0x0D: return to(.endCR)
        case 0x0A: return .bad(.bareLF)
        case 0x20, 0x09: return .bad(.trailerFolded)
        default:
            guard ByteClass.contains(byte, ByteClass.token) else { return .bad(.trailerName) }
            lines &+= 1
            return lines > limits.trailerFields ? .bad(.trailerTooLarge) : to(.name)
        }
    }

    private mutating func readName(_ byte: UInt8) -> Step {
        if ByteClass.contains(byte, ByteClass.token) { return .goOn }
        switch byte {
        case 0x3A: return to(.value)
        case 0x0D: return to(.nameCR)
        case 0x0A: return .bad(.bareLF)
        default: return .bad(.trailerName)
        }
    }

    private mutating func to(_ next: State) -> Step {
        state = next
        return .goOn
    }
}
