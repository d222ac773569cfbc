// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The octet classes of tokens.
enum TokenAlphabet {
    /// Whether an octet is a letter, a digit, `-` or `_`.
    static func isBase64URL(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Whether all octets are base64url and their number is in `counts`.
    static func isBase64URL(_ text: Span<UInt8>, _ counts: ClosedRange<Int>) -> Bool {
        guard counts.contains(text.count) else { return false }
        for index in text.indices where !isBase64URL(text[index]) { return false }
        return true
    }

    /// Whether all octets are base64url, `.` or `~`, and their number is in `counts`.
    static func isName(_ text: Span<UInt8>, _ counts: ClosedRange<Int>) -> Bool {
        guard counts.contains(text.count) else { return false }
        for index in text.indices {
            let byte = text[index]
            guard isBase64URL(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") else { return false }
        }
        return true
    }

    /// The octet with A-Z folded to a-z.
    static func lower(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether `text` is `literal` (given in lower case) when ASCII letters are folded.
    static func isFolded(_ text: Span<UInt8>, _ literal: StaticString) -> Bool {
        guard text.count == literal.utf8CodeUnitCount, text.count <= 32 else { return false }
        var folded = InlineArray<32, UInt8>(repeating: 0)
        for index in text.indices { folded[index] = lower(text[index]) }
        return Octets.equal(folded.span.extracting(0..<text.count), literal)
    }
}
