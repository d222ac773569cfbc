// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting

/// A challenge as a client keeps it.
struct GivenChallenge: Sendable {
    var id: String
    var nonce: String
    var keyStatus: String

    var nonceOctets: [UInt8] { Base64URL.decode(Array(nonce.utf8)) ?? [] }
}

/// A phone of any platform, put together from PROTOCOL.md and not with the server's own code.
struct Phone: Sendable {
    static let test = "test"
    static let android = "android"
    static let ios = "ios"

    let key: P256PrivateKey
    var platform: String
    var deviceID = "phone-1"
    var appID = "demo-app"

    init(_ platform: String = Phone.test, key: P256PrivateKey? = nil, deviceID: String = "phone-1") throws {
        self.key = try key ?? P256PrivateKey()
        self.platform = platform
        self.deviceID = deviceID
    }

    var publicKey: [UInt8] { key.publicKey.subjectPublicKeyInfo }

    var challengeRequest: HIDTesting.TestClaims {
        HIDTesting.TestClaims([
            ("app_id", "\"\(appID)\""), ("device_id", "\"\(deviceID)\""), ("platform", "\"\(platform)\""),
        ])
    }

    private func common(_ type: String, _ challenge: GivenChallenge) -> HIDTesting.TestClaims {
        HIDTesting.TestClaims(
            [("type", "\"\(type)\""), ("challenge_id", "\"\(challenge.id)\"")] + challengeRequest.members)
    }

    // MARK: - Key proofs

    func keyProofStatement(_ challenge: GivenChallenge) -> [UInt8] {
        Array("hid-key-proof-v1\n\(appID)\n\(deviceID)\n\(challenge.nonce)".utf8)
    }

    func keyProof(_ challenge: GivenChallenge, signature: String? = nil) throws -> HIDTesting.TestClaims {
        let der = try key.signDER(digest: SHA256.digest(keyProofStatement(challenge)))
        return common("key_proof", challenge).with("signature", "\"\(signature ?? TestDevice.base64(der))\"")
    }

    // MARK: - Attestations

    /// `claims` is compact JSON with its members sorted, as the authority signs it.
    func testAttestation(
        _ challenge: GivenChallenge, by authority: P256PrivateKey, claims: String = #"{"level":"tee"}"#
    ) throws -> HIDTesting.TestClaims {
        let lines = [
            "hid-test-attestation-v1", appID, deviceID, challenge.nonce, TestDevice.base64URL(SHA256.digest(publicKey)),
            TestDevice.base64URL(SHA256.digest(Array(claims.utf8))),
        ]
        let signature = try authority.sign(digest: SHA256.digest(Array(lines.joined(separator: "\n").utf8)))
        return common("attestation", challenge)
            .with("public_key", "\"\(TestDevice.base64(publicKey))\"").with("claims", claims)
            .with("signature", "\"\(TestDevice.base64URL(signature))\"")
    }

    func androidAttestation(
        _ challenge: GivenChallenge, _ change: (inout AndroidTestChain) -> Void = { _ in }
    ) throws -> HIDTesting.TestClaims {
        var chain = try AndroidTestChain()
        chain.leaf.publicKey = publicKey
        chain.description.challenge = DERWriter.octetString(challenge.nonceOctets)
        change(&chain)
        return androidAttestation(challenge, chain: try chain.signed())
    }

    func androidAttestation(_ challenge: GivenChallenge, chain: [[UInt8]]) -> HIDTesting.TestClaims {
        let texts = chain.map { "\"\(TestDevice.base64($0))\"" }
        return common("attestation", challenge).with("certificate_chain", "[\(texts.joined(separator: ","))]")
    }

    func appleAttestation(
        _ challenge: GivenChallenge, by service: TestAppAttest, key attestKey: TestSigningKey,
        _ change: (inout TestAppAttest.Shape) -> Void = { _ in }
    ) throws -> HIDTesting.TestClaims {
        var shape = TestAppAttest.Shape(clientDataHash: SHA256.digest(challenge.nonceOctets + publicKey))
        change(&shape)
        let object = try service.object(shape, key: attestKey)
        return common("attestation", challenge)
            .with("key_id", "\"\(TestDevice.base64(SHA256.digest(attestKey.point)))\"")
            .with("attestation_object", "\"\(TestDevice.base64(object))\"")
            .with("public_key", "\"\(TestDevice.base64(publicKey))\"")
    }
}
