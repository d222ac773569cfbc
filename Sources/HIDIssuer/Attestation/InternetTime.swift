// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Times as `2026-03-01T12:30:00Z`, with or without a fraction of a second; always UTC (RFC 3339 section 5.6).
package enum InternetTime {
    /// Seconds since 1970, the fraction cut off; nil for any other form, offsets and leap seconds among them.
    package static func seconds(_ text: [UInt8]) -> Int64? {
        guard text.count >= 20, text.count <= 30, text.last == UInt8(ascii: "Z") else { return nil }
        let separators: [(Int, UInt8)] = [(4, 0x2D), (7, 0x2D), (10, 0x54), (13, 0x3A), (16, 0x3A)]
        for (index, separator) in separators where text[index] != separator { return nil }
        let fraction = text[19..<text.count - 1]
        if let point = fraction.first {
            guard point == UInt8(ascii: "."), fraction.count > 1,
                fraction.dropFirst().allSatisfy({ $0 &- UInt8(ascii: "0") < 10 })
            else { return nil }
        }
        let digits = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19].flatMap { text[$0] }
        return CertificateTime.generalized((digits + [UInt8(ascii: "Z")])[...])
    }
}
