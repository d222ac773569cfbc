// SPDX-License-Identifier: Apache-2.0

/// Which grammar rules of RFC 9110 section 5.6 and RFC 3986 section 2 admit a byte, one bit a rule.
enum ByteClass {
    /// `tchar`: what a method, a field name or a coding name is made of.
    static let token: UInt8 = 1
    /// The byte `_`, legal in a name and read as `-` by some upstreams.
    static let underscore: UInt8 = 2
    /// HTAB, SP, VCHAR and obs-text: what a field value may hold.
    static let value: UInt8 = 4
    /// VCHAR without SP: what a request-target may hold before the path rules judge it.
    static let target: UInt8 = 8
    /// `unreserved` of RFC 3986: what a registered name may hold here.
    static let hostName: UInt8 = 16
    /// A hexadecimal digit of either case.
    static let hexDigit: UInt8 = 32
    /// `qdtext`: what a quoted string holds outside a quoted pair.
    static let quotedText: UInt8 = 64

    /// The bits of every byte.
    static let table: [256 of UInt8] = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        68, 77, 12, 77, 77, 77, 77, 77, 76, 76, 77, 77, 76, 93, 93, 76,
        125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 76, 76, 76, 76, 76, 76,
        76, 125, 125, 125, 125, 125, 125, 93, 93, 93, 93, 93, 93, 93, 93, 93,
        93, 93, 93, 93, 93, 93, 93, 93, 93, 93, 93, 76, 12, 76, 77, 95,
        77, 125, 125, 125, 125, 125, 125, 93, 93, 93, 93, 93, 93, 93, 93, 93,
        93, 93, 93, 93, 93, 93, 93, 93, 93, 93, 93, 76, 77, 76, 93, 0,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
        68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68, 68,
    ]

    /// Whether the byte is in any of the classes.
    @inline(__always)
    static func contains(_ byte: UInt8, _ classes: UInt8) -> Bool {
        table[Int(byte)] & classes != 0
    }

    /// The first index at or after `start` whose byte is in none of the classes, or `end`.
    @inline(__always)
    static func skip(_ classes: UInt8, in bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, table[Int(bytes[index])] & classes != 0 { index &+= 1 }
        return index
    }

    /// The value of a hexadecimal digit that `hexDigit` admitted.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt64 {
        byte < 0x40 ? UInt64(byte & 0x0F) : UInt64(byte & 0x0F) + 9
    }
}
