// SPDX-License-Identifier: Apache-2.0

/// Characters beyond ASCII that some upstream turns into ASCII: NFKC, case mapping, best-fit tables.
///
/// Only the characters that matter for names and separators of paths; nothing here changes a path that is forwarded.
enum Lookalike {
    /// The ASCII character that another one may become.
    static func ascii(of scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0..<0x80: return UInt8(truncatingIfNeeded: scalar)  // an overlong sequence
        case 0xFF01...0xFF5E: return UInt8(truncatingIfNeeded: scalar - 0xFEE0)  // full width
        case 0x24B6...0x24CF: return letter(scalar - 0x24B6)
        case 0x24D0...0x24E9: return letter(scalar - 0x24D0)
        case 0x1D400...0x1D6A3: return letter((scalar - 0x1D400) % 26)  // mathematical letters
        case 0x1D7CE...0x1D7FF: return 0x30 + UInt8(truncatingIfNeeded: (scalar - 0x1D7CE) % 10)
        case 0x2460...0x2468: return 0x31 + UInt8(truncatingIfNeeded: scalar - 0x2460)
        case 0x2070, 0x2074...0x2079: return 0x30 + UInt8(truncatingIfNeeded: scalar - 0x2070)
        case 0x2080...0x2089: return 0x30 + UInt8(truncatingIfNeeded: scalar - 0x2080)
        case 0xB9: return 0x31
        case 0xB2, 0xB3: return 0x30 + UInt8(truncatingIfNeeded: scalar - 0xB0)
        default: return separator(scalar) ?? letterlike(scalar)
        }
    }

    /// The text that one character may become, never longer than its own UTF-8; empty when it is ignored.
    static func replacement(of scalar: UInt32) -> StaticString? {
        switch scalar {
        case 0x80...0x9F, 0xAD, 0x34F, 0x61C, 0x180B...0x180E, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F,
            0xFE00...0xFE0F, 0xFEFF, 0xE0000...0xE0FFF:
            ""
        case 0xDF, 0x1E9E: "ss"
        case 0x2025: ".."
        case 0x2026: "..."
        case 0xFB00: "ff"
        case 0xFB01: "fi"
        case 0xFB02: "fl"
        case 0xFB03: "ffi"
        case 0xFB04: "ffl"
        case 0xFB05, 0xFB06: "st"
        default: nil
        }
    }

    /// Lower case for the letters of Latin-1, Greek and Cyrillic, whose sequences keep their length.
    static func lowercased(_ scalar: UInt32) -> UInt32 {
        switch scalar {
        case 0xC0...0xD6, 0xD8...0xDE, 0x391...0x3A1, 0x3A3...0x3AB, 0x410...0x42F: scalar + 0x20
        case 0x400...0x40F: scalar + 0x50
        case 0x100...0x12F, 0x132...0x137, 0x14A...0x177, 0x460...0x481, 0x48A...0x4BF: scalar | 1
        case 0x139...0x148, 0x179...0x17E: scalar + (scalar & 1)
        default: scalar
        }
    }

    private static func letter(_ index: UInt32) -> UInt8 {
        0x61 + UInt8(truncatingIfNeeded: index % 26)
    }

    private static func separator(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0x2044, 0x2215, 0x29F8: ASCII.slash
        case 0x2216, 0x29F5, 0x29F9, 0xFE68: ASCII.backslash
        case 0x2024, 0xFE52, 0x3002, 0xFF61: ASCII.dot
        case 0x37E, 0xFE54: ASCII.semicolon
        case 0xFE56: ASCII.questionMark
        case 0xFE5F: ASCII.hash
        case 0xFE6A: ASCII.percent
        case 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: ASCII.space
        case 0x2010...0x2015, 0x2212, 0xFE58, 0xFE63: 0x2D
        default: nil
        }
    }

    private static func letterlike(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0xAA: 0x61
        case 0x212C: 0x62
        case 0x2102, 0x212D, 0x216D, 0x217D: 0x63
        case 0x2145, 0x2146, 0x216E, 0x217E: 0x64
        case 0x212F, 0x2130, 0x2147: 0x65
        case 0x2131: 0x66
        case 0x210A: 0x67
        case 0x210B...0x210F: 0x68
        case 0x130, 0x131, 0x2110, 0x2111, 0x2139, 0x2148, 0x2160, 0x2170: 0x69
        case 0x2149: 0x6A
        case 0x212A: 0x6B
        case 0x2112, 0x2113, 0x216C, 0x217C: 0x6C
        case 0x2133, 0x216F, 0x217F: 0x6D
        case 0x2115, 0x207F: 0x6E
        case 0xBA, 0x2134: 0x6F
        case 0x2118, 0x2119: 0x70
        case 0x211A: 0x71
        case 0x211B...0x211D: 0x72
        case 0x17F: 0x73
        case 0x2164, 0x2174: 0x76
        case 0x2169, 0x2179: 0x78
        case 0x2124, 0x2128: 0x7A
        default: nil
        }
    }
}
