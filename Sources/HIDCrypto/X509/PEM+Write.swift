// SPDX-License-Identifier: Apache-2.0

extension PEM {
    /// One block with lines of 64 characters (RFC 7468).
    package static func text(_ der: [UInt8], label: StaticString) -> [UInt8] {
        let base64 = Base64.encode(der.span)
        var text = Array("-----BEGIN \(label)-----\n".utf8)
        for start in stride(from: 0, to: base64.count, by: 64) {
            text += base64[start..<min(start + 64, base64.count)]
            text.append(UInt8(ascii: "\n"))
        }
        return text + Array("-----END \(label)-----\n".utf8)
    }
}
