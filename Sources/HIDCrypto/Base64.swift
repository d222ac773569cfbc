// SPDX-License-Identifier: Apache-2.0

/// Why a base64 text was refused.
package enum Base64Fault: Sendable, Equatable {
    /// An octet outside the alphabet; padding, white space and line breaks among them.
    case alphabet
    /// A length no encoder produces: 1 modulo 4, or padding that is missing or too long.
    case length
    /// The unused bits of the last character are not zero (RFC 4648 section 3.5).
    case unusedBits
}

/// base64url of RFC 4648 section 5 without padding, as JOSE wants it; nothing lenient.
package enum Base64URL {
    /// Decodes, or returns nil for anything an encoder would not have written.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        return decode(text, appendingTo: &output) == nil ? output : nil
    }

    /// Decodes and appends; on a fault `output` is as before.
    package static func decode(_ text: Span<UInt8>, appendingTo output: inout [UInt8]) -> Base64Fault? {
        Base64Core.decode(text, values: Base64Core.urlValues, appendingTo: &output)
    }

    /// Checks length and unused bits only: cheap, for a text whose alphabet is known to be right.
    package static func formFault(_ text: Span<UInt8>) -> Base64Fault? {
        Base64Core.formFault(text, values: Base64Core.urlValues)
    }

    /// Encodes without padding.
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        encode(bytes, appendingTo: &output)
        return output
    }

    /// Encodes without padding and appends.
    package static func encode(_ bytes: Span<UInt8>, appendingTo output: inout [UInt8]) {
        Base64Core.encode(bytes, letters: Base64Core.urlLetters, padded: false, appendingTo: &output)
    }
}

/// Standard base64 of RFC 4648 section 4 with padding; no line breaks, nothing lenient.
package enum Base64 {
    /// Decodes, or returns nil for anything an encoder would not have written.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        return decode(text, appendingTo: &output) == nil ? output : nil
    }

    /// Decodes and appends; on a fault `output` is as before.
    package static func decode(_ text: Span<UInt8>, appendingTo output: inout [UInt8]) -> Base64Fault? {
        guard text.count % 4 == 0 else { return .length }
        var end = text.count
        let pad = UInt8(ascii: "=")
        if end > 0, text[end - 1] == pad { end -= 1 }
        if end > 0, end < text.count, text[end - 1] == pad { end -= 1 }
        return Base64Core.decode(text.extracting(0..<end), values: Base64Core.standardValues, appendingTo: &output)
    }

    /// Encodes with padding.
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        encode(bytes, appendingTo: &output)
        return output
    }

    /// Encodes with padding and appends.
    package static func encode(_ bytes: Span<UInt8>, appendingTo output: inout [UInt8]) {
        Base64Core.encode(bytes, letters: Base64Core.standardLetters, padded: true, appendingTo: &output)
    }
}

/// The arithmetic both alphabets share.
private enum Base64Core {
    static let standardLetters = letters(UInt8(ascii: "+"), UInt8(ascii: "/"))
    static let urlLetters = letters(UInt8(ascii: "-"), UInt8(ascii: "_"))
    static let standardValues = values(of: standardLetters)
    static let urlValues = values(of: urlLetters)

    private static func letters(_ value62: UInt8, _ value63: UInt8) -> [UInt8] {
        Array(0x41...0x5A) + Array(0x61...0x7A) + Array(0x30...0x39) + [value62, value63]
    }

    /// For each octet its value, or 64 when it is not in the alphabet.
    private static func values(of letters: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: 64, count: 256)
        for (value, letter) in letters.enumerated() { table[Int(letter)] = UInt8(value) }
        return table
    }

    static func formFault(_ text: Span<UInt8>, values: [UInt8]) -> Base64Fault? {
        let tail = text.count % 4
        guard tail != 0 else { return nil }
        guard tail != 1 else { return .length }
        let last = values[Int(text[text.count - 1])]
        guard last < 64 else { return .alphabet }
        return last & (tail == 2 ? 0x0F : 0x03) == 0 ? nil : .unusedBits
    }

    static func decode(_ text: Span<UInt8>, values: [UInt8], appendingTo output: inout [UInt8]) -> Base64Fault? {
        let start = output.count
        let tail = text.count % 4
        let size = text.count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        output.append(contentsOf: repeatElement(0, count: size))
        let seen = fill(&output, from: start, with: text, values: values.span)
        // Every value is under 64 exactly when no bit above the sixth was seen.
        let fault = seen < 64 ? formFault(text, values: values) : .alphabet
        if fault != nil { output.removeSubrange(start...) }
        return fault
    }

    /// Writes the decoded octets and returns all values or-ed together.
    private static func fill(
        _ output: inout [UInt8], from start: Int, with text: Span<UInt8>, values: Span<UInt8>
    ) -> UInt8 {
        var seen: UInt8 = 0
        var buffer: UInt32 = 0
        var bits = 0
        var position = start
        var view = output.mutableSpan
        for index in text.indices {
            let value = values[Int(text[index])]
            seen |= value
            buffer = buffer << 6 | UInt32(value & 0x3F)
            bits += 6
            guard bits >= 8, position < view.count else { continue }
            bits -= 8
            view[position] = UInt8(truncatingIfNeeded: buffer >> UInt32(bits))
            position += 1
        }
        return seen
    }

    static func encode(_ bytes: Span<UInt8>, letters: [UInt8], padded: Bool, appendingTo output: inout [UInt8]) {
        let (whole, tail) = (bytes.count - bytes.count % 3, bytes.count % 3)
        let tailSize = tail == 0 ? 0 : padded ? 4 : tail + 1
        var position = output.count
        output.append(contentsOf: repeatElement(UInt8(ascii: "="), count: whole / 3 * 4 + tailSize))
        let table = letters.span
        var view = output.mutableSpan
        var index = 0
        while index < whole {
            let word = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            view[position] = table[Int(word >> 18)]
            view[position + 1] = table[Int(word >> 12) & 0x3F]
            view[position + 2] = table[Int(word >> 6) & 0x3F]
            view[position + 3] = table[Int(word) & 0x3F]
            index += 3
            position += 4
        }
        guard tail > 0 else { return }
        let word = UInt32(bytes[index]) << 16 | (tail == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
        view[position] = table[Int(word >> 18)]
        view[position + 1] = table[Int(word >> 12) & 0x3F]
        if tail == 2 { view[position + 2] = table[Int(word >> 6) & 0x3F] }
    }
}
