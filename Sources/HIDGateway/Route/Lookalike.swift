// SPDX-License-Identifier: Apache-2.0

/// Characters beyond ASCII that some upstream turns into ASCII: NFKC, case mapping, best-fit tables.
///
/// Only the characters that matter for names and separators of paths; nothing here changes a path that is forwarded.
enum Lookalike {
    /// The ASCII character that overlong sequences, full-width forms and mathematical letters stand for.
    static func compatible(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0..<0x80: UInt8(truncatingIfNeeded: scalar)
        case 0xFF01...0xFF5E: UInt8(truncatingIfNeeded: scalar - 0xFEE0)
        case 0x1D400...0x1D6A3: 0x61 + UInt8(truncatingIfNeeded: (scalar - 0x1D400) % 26)
        case 0x1D7CE...0x1D7FF: 0x30 + UInt8(truncatingIfNeeded: (scalar - 0x1D7CE) % 10)
        default: nil
        }
    }

    /// Whether a change of case makes ASCII letters of a character; that hides nothing, so every reading does it.
    static func changesIntoLetters(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xDF, 0x130, 0x131, 0x17F, 0x1E9E, 0x212A, 0xFB00...0xFB06: true
        default: false
        }
    }

    /// Whether a character is invisible and dropped by some.
    static func isIgnorable(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9F, 0xAD, 0x34F, 0x61C, 0x180B...0x180E, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F,
            0xFE00...0xFE0F, 0xFEFF, 0xE0000...0xE0FFF:
            true
        default: false
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

    /// What characters become that only look like ASCII.
    static func bestFit(_ scalar: UInt32) -> UInt8? {
        switch scalar {
        case 0x2044, 0x2215, 0x29F8: ASCII.slash
        case 0x2216, 0x29F5, 0x29F9: ASCII.backslash
        case 0x3002, 0xFF61: ASCII.dot
        case 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: ASCII.space
        case 0x2010...0x2015, 0x2212: 0x2D
        default: nil
        }
    }
}
