// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDVerifier

/// A phone whose key lives in software: it signs requests as the SDK does.
struct SoftwareDevice {
    var key: P256PrivateKey

    /// The identifier at an application: 32 base64url characters, the same as long as key and app_id are.
    func hid(for app: [UInt8]) -> [UInt8] {
        let text = key.publicKey.subjectPublicKeyInfo + app
        let digest = SHA256.digest(text.span)
        return Base64URL.encode(digest.span.extracting(0..<24))
    }

    /// The value of X-HID-Signature, and of the octets when `isSpoilt` one bit changed.
    func signature(
        _ profile: SignatureProfile, of request: SignedRequest, token: [UInt8], body: [UInt8], isSpoilt: Bool = false
    ) throws(CryptoError) -> [UInt8] {
        let bodyDigest = SHA256.hash(body.span)
        switch profile {
        case .v1:
            var octets = try key.sign(digest: bodyDigest.span)
            if isSpoilt { octets[63] ^= 2 }
            return Base64.encode(octets.span)
        case .v2:
            let base = SignatureBase.v2(
                method: request.method.span, authority: request.authority.span, target: request.target.span,
                tokenText: token.span, bodyDigest: bodyDigest.span)
            let digest = SHA256.hash(base.span)
            var octets = try key.sign(digest: digest.span)
            if isSpoilt { octets[63] ^= 2 }
            return Array("v2.".utf8) + Base64URL.encode(octets.span)
        }
    }
}
