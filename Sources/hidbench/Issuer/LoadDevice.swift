// SPDX-License-Identifier: Apache-2.0

import HIDCrypto

/// What a challenge answer says.
struct LoadChallenge {
    var id: [UInt8]
    var nonce: [UInt8]

    /// Reads the answer of `POST /v1/m/hid/c`; nil when it is none.
    init?(_ content: [UInt8]) {
        guard let document = try? StrictJSON(content),
            let id = document.member("challenge_id", of: document.root).flatMap(document.textBytes),
            let nonce = document.member("nonce", of: document.root).flatMap(document.textBytes)
        else { return nil }
        (self.id, self.nonce) = (id, nonce)
    }
}

/// A device that the generator plays: texts for the server, signed when they are sent.
struct LoadDevice {
    let appID: String
    let deviceID: String
    let key: P256PrivateKey

    private static let claims = "{\"level\":\"tee\"}"

    /// Content of `POST /v1/m/hid/c`.
    var challengeRequest: [UInt8] {
        Array("{\"app_id\":\"\(appID)\",\"device_id\":\"\(deviceID)\",\"platform\":\"test\"}".utf8)
    }

    /// Content of `POST /v1/m/hid/v` of a device that is registered.
    func keyProof(_ challenge: LoadChallenge) throws(CryptoError) -> [UInt8] {
        let statement = Array("hid-key-proof-v1\n\(appID)\n\(deviceID)\n".utf8) + challenge.nonce
        let signature = try Self.signature(key, statement)
        return request("key_proof", challenge, signature, "")
    }

    /// Content of `POST /v1/m/hid/v` of a new device.
    func attestation(_ challenge: LoadChallenge, by authority: P256PrivateKey) throws(CryptoError) -> [UInt8] {
        let publicKey = key.publicKey.subjectPublicKeyInfo
        let (keyDigest, claimsDigest) = (SHA256.hash(publicKey.span), SHA256.hash(Self.claims.utf8.span))
        var statement = Array("hid-test-attestation-v1\n\(appID)\n\(deviceID)\n".utf8) + challenge.nonce + [0x0A]
        Base64URL.encode(keyDigest.span, appendingTo: &statement)
        statement.append(0x0A)
        Base64URL.encode(claimsDigest.span, appendingTo: &statement)
        let signature = try Self.signature(authority, statement)
        let key = String(decoding: Base64.encode(publicKey.span), as: UTF8.self)
        return request("attestation", challenge, signature, ",\"public_key\":\"\(key)\",\"claims\":\(Self.claims)")
    }

    /// Whether an answer brings a token in compact form.
    static func hasToken(_ content: [UInt8]) -> Bool {
        guard let document = try? StrictJSON(content),
            let token = document.member("token", of: document.root).flatMap(document.textBytes)
        else { return false }
        return token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 3
    }

    private static func signature(_ key: P256PrivateKey, _ statement: [UInt8]) throws(CryptoError) -> [UInt8] {
        let digest = SHA256.hash(statement.span)
        let signature = try key.sign(digest: digest.span)
        return Base64URL.encode(signature.span)
    }

    private func request(
        _ type: String, _ challenge: LoadChallenge, _ signature: [UInt8], _ rest: String
    ) -> [UInt8] {
        var text = Array("{\"type\":\"\(type)\",\"challenge_id\":\"".utf8)
        text += challenge.id
        text += "\",\"app_id\":\"\(appID)\",\"device_id\":\"\(deviceID)\",\"platform\":\"test\",\"signature\":\"".utf8
        text += signature
        text += "\"\(rest)}".utf8
        return text
    }
}
