// SPDX-License-Identifier: Apache-2.0

/// Octets with a meaning in a path.
enum ASCII {
    static let space: UInt8 = 0x20
    static let hash: UInt8 = 0x23
    static let dollar: UInt8 = 0x24
    static let percent: UInt8 = 0x25
    static let leftParenthesis: UInt8 = 0x28
    static let rightParenthesis: UInt8 = 0x29
    static let asterisk: UInt8 = 0x2A
    static let plus: UInt8 = 0x2B
    static let dot: UInt8 = 0x2E
    static let slash: UInt8 = 0x2F
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let questionMark: UInt8 = 0x3F
    static let at: UInt8 = 0x40
    static let leftBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let rightBracket: UInt8 = 0x5D
    static let delete: UInt8 = 0x7F

    /// The value of a hexadecimal digit, or nil.
    static func hexadecimal(_ octet: UInt8) -> UInt8? {
        switch octet {
        case 0x30...0x39: octet &- 0x30
        case 0x41...0x46: octet &- 0x37
        case 0x61...0x66: octet &- 0x57
        default: nil
        }
    }

    /// The upper-case hexadecimal digit of a value below 16.
    static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? value &+ 0x30 : value &+ 0x37
    }

    /// A...Z to a...z, every other octet as it is.
    static func lowercased(_ octet: UInt8) -> UInt8 {
        octet &- 0x41 < 26 ? octet | 0x20 : octet
    }

    /// `unreserved` of RFC 3986 section 2.3.
    static func isUnreserved(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    static func isDigit(_ octet: UInt8) -> Bool { octet &- 0x30 < 10 }
}

extension Span<UInt8> {
    /// Whether the octets are exactly those of the literal.
    func equals(_ literal: StaticString, ignoringCase: Bool = false) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        var index = 0
        for octet in literal.description.utf8 {
            let own = ignoringCase ? ASCII.lowercased(self[index]) : self[index]
            guard own == octet else { return false }
            index += 1
        }
        return true
    }

    /// Whether both hold the same octets.
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index] {
            return false
        }
        return true
    }
}
