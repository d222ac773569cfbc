// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The three parts of a compact JWS (RFC 7515 section 3.1), found in one pass without an allocation.
struct CompactForm {
    /// The most octets of a token.
    static let maximumLength = 4096

    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// What the issuer signed: header, dot, payload, as received.
    var signedText: Range<Int> { header.lowerBound..<payload.upperBound }

    init(_ token: Span<UInt8>) throws(Reason) {
        guard !Self.isBlank(token) else { throw .tokenMissing }
        guard token.count <= Self.maximumLength else { throw .tokenTooLong }
        var dots = 0
        var first = 0
        var second = 0
        for index in token.indices {
            let byte = token[index]
            if byte == UInt8(ascii: ".") {
                dots += 1
                if dots == 1 { first = index } else if dots == 2 { second = index }
            } else if !TokenAlphabet.isBase64URL(byte) {
                throw .tokenCharset
            }
        }
        guard dots == 2, first > 0 else { throw .tokenParts }
        header = 0..<first
        payload = first + 1..<second
        signature = second + 1..<token.count
        try Self.checkForm(token.extracting(header))
        try Self.checkForm(token.extracting(payload))
        try Self.checkForm(token.extracting(signature))
    }

    /// Decodes a part; its alphabet and form have been checked.
    static func decode(_ part: Span<UInt8>) throws(Reason) -> [UInt8] {
        guard let bytes = Base64URL.decode(part) else { throw .base64 }
        return bytes
    }

    private static func isBlank(_ token: Span<UInt8>) -> Bool {
        for index in token.indices where token[index] != 0x20 && token[index] != 0x09 { return false }
        return true
    }

    private static func checkForm(_ part: Span<UInt8>) throws(Reason) {
        switch Base64URL.formFault(part) {
        case nil: return
        case .unusedBits: throw .base64Noncanonical
        case .alphabet, .length: throw .base64
        }
    }
}
