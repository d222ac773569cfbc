// SPDX-License-Identifier: Apache-2.0

/// Lower-case hexadecimal, of whole octets or of numbers.
package enum Hex {
    /// Two digits an octet.
    package static func octets(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for octet in bytes {
            text.append(digit(octet >> 4))
            text.append(digit(octet & 0x0F))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A big-endian number without leading zero digits; zero is `0`.
    package static func number(_ bytes: some Sequence<UInt8>) -> String {
        let text = octets(bytes).utf8.drop { $0 == UInt8(ascii: "0") }
        return text.isEmpty ? "0" : String(decoding: text, as: UTF8.self)
    }

    /// A hexadecimal number of either letter case in its minimal form; nil for an empty text and other characters.
    package static func normalise(_ text: some Collection<UInt8>) -> String? {
        guard !text.isEmpty else { return nil }
        var digits: [UInt8] = []
        for octet in text {
            switch octet {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(octet)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(octet | 0x20)
            default: return nil
            }
        }
        let minimal = digits.drop { $0 == UInt8(ascii: "0") }
        return minimal.isEmpty ? "0" : String(decoding: minimal, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
