// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

// A Span cannot pass through the macros of Swift Testing, so tests call these forms with arrays.

extension Base64URL {
    package static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text.span) }
    package static func encode(_ bytes: [UInt8]) -> [UInt8] { encode(bytes.span) }
    package static func decode(_ text: [UInt8], appendingTo output: inout [UInt8]) -> Base64Fault? {
        decode(text.span, appendingTo: &output)
    }
}

extension Base64 {
    package static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text.span) }
    package static func encode(_ bytes: [UInt8]) -> [UInt8] { encode(bytes.span) }
}

extension StrictInteger {
    package static func parse(_ text: String, leadingZeros: Bool = true, maximum: UInt64 = .max) -> UInt64? {
        let bytes = Array(text.utf8)
        return parse(bytes.span, leadingZeros: leadingZeros, maximum: maximum)
    }
}

extension SHA256 {
    package static func digest(_ bytes: [UInt8]) -> [UInt8] { digest(bytes.span) }
}

extension ECDSASignature {
    package static func fault(ofRaw signature: [UInt8]) -> ECDSASignatureFault? { fault(ofRaw: signature.span) }
    package static func encodeDER(_ raw: [UInt8]) -> [UInt8]? { encodeDER(raw.span) }
    package static func parseDER(_ der: [UInt8]) throws(ECDSASignatureFault) -> [UInt8] { try parseDER(der.span) }
}

extension P256Curve {
    package static func isPoint(_ bytes: [UInt8]) -> Bool { isPoint(bytes.span) }
}

extension P256PublicKey {
    package convenience init(x: [UInt8], y: [UInt8]) throws(CryptoError) { try self.init(x: x.span, y: y.span) }
    package func verify(digest: [UInt8], signature: [UInt8]) -> Bool {
        verify(digest: digest.span, signature: signature.span)
    }
}

extension P256PrivateKey {
    package func sign(digest: [UInt8]) throws(CryptoError) -> [UInt8] { try sign(digest: digest.span) }
    package func signDER(digest: [UInt8]) throws(CryptoError) -> [UInt8] { try signDER(digest: digest.span) }
}

extension P256Verifier {
    package func verify(digest: [UInt8], signature: [UInt8], point: [UInt8]) -> P256Verification {
        verify(digest: digest.span, signature: signature.span, point: point.span)
    }
}

/// Whether two arrays hold the same octets, compared in constant time.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    constantTimeEqual(left.span, right.span)
}
