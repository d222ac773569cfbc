// SPDX-License-Identifier: Apache-2.0

/// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond U+10FFFF.
package enum UTF8Scan {
    /// The code point that starts at an index and how many octets it takes, or nil when they are not UTF-8.
    static func decode(_ bytes: Span<UInt8>, at index: Int) -> (scalar: UInt32, length: Int)? {
        let first = bytes[index]
        switch first {
        case 0x00...0x7F: return (UInt32(first), 1)
        case 0xC2...0xDF: return continued(bytes, index, UInt32(first & 0x1F), length: 2, least: 0x80)
        case 0xE0...0xEF: return continued(bytes, index, UInt32(first & 0x0F), length: 3, least: 0x800)
        case 0xF0...0xF4: return continued(bytes, index, UInt32(first & 0x07), length: 4, least: 0x10000)
        default: return nil
        }
    }

    private static func continued(
        _ bytes: Span<UInt8>, _ index: Int, _ lead: UInt32, length: Int, least: UInt32
    ) -> (scalar: UInt32, length: Int)? {
        guard bytes.count - index >= length else { return nil }
        var scalar = lead
        for offset in 1..<length {
            let byte = bytes[index + offset]
            guard byte & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        guard scalar >= least, scalar <= 0x10FFFF, !(0xD800...0xDFFF).contains(scalar) else { return nil }
        return (scalar, length)
    }

    /// Index of the first octet that is not part of valid UTF-8.
    package static func firstInvalid(in bytes: [UInt8]) -> Int? {
        let span = bytes.span
        var index = 0
        while index < span.count {
            guard let (_, length) = decode(span, at: index) else { return index }
            index += length
        }
        return nil
    }
}
