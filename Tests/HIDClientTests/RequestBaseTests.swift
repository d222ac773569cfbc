// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDClient

/// What is signed, octet for octet.
@Suite struct RequestBaseTests {
    private let challenge = HumanIDChallenge(
        applicationID: "app-1", deviceID: "dev-1", nonceText: "bm9uY2U", nonce: Array("nonce".utf8))

    @Test func `the SDK and the verifier agree on the lines of profile v2 for any octets`() {
        var generator = SystemRandomNumberGenerator()
        func octets(_ limit: Int) -> [UInt8] {
            (0..<Int.random(in: 0...limit, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        for _ in 0..<20_000 {
            let (method, authority, target, token, body) = (octets(8), octets(40), octets(60), octets(90), octets(90))
            let digest = SHA256.digest(body.span)
            let expected = SignatureBase.v2(
                method: method.span, authority: authority.span, target: target.span, tokenText: token.span,
                bodyDigest: digest.span)
            let made = RequestBase.v2(method: method, authority: authority, target: target, token: token, body: body)
            guard made == expected else {
                Issue.record("\(method) \(authority) \(target)")
                return
            }
        }
    }

    @Test func `the six lines of profile v2`() {
        let base = RequestBase.v2(
            method: Array("POST".utf8), authority: Array("API.Test".utf8), target: Array("/Login?A=b".utf8),
            token: Array("abc".utf8), body: [])
        #expect(
            String(decoding: base, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) == [
                "hid-request-v2", "POST", "api.test", "/Login?A=b", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
                "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
            ])
    }

    @Test func `the statements of a key proof and of a test attestation`() {
        #expect(RequestBase.keyProof(challenge) == Array("hid-key-proof-v1\napp-1\ndev-1\nbm9uY2U".utf8))
        let claims: [String: HumanIDClaim] = ["level": .text("tee"), "blocked": .flag(true)]
        let statement = RequestBase.testAttestation(challenge, publicKey: Array("abc".utf8), claims: claims)
        let sorted = SHA256.digest(Array("{\"blocked\":true,\"level\":\"tee\"}".utf8))
        #expect(
            String(decoding: statement, as: UTF8.self) == """
                hid-test-attestation-v1
                app-1
                dev-1
                bm9uY2U
                ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0
                \(TestDevice.base64URL(sorted))
                """)
        let both = Array("nonceabc".utf8)
        #expect(RequestBase.clientDataHash(challenge, publicKey: Array("abc".utf8)) == SHA256.digest(both))
    }

    @Test func `a signature is taken in both forms, and DER of 64 octets is never written`() throws {
        let device = try TestDevice()
        for _ in 0..<50 {
            let raw = try device.sign([1])
            let made = ECDSASignature.encodeDER(raw.span)
            let der = try #require(made)
            #expect(try DeviceSignature(raw) == DeviceSignature(der))
            #expect(try DeviceSignature(raw).v1 == TestDevice.base64(der))
            #expect(try DeviceSignature(raw).v2 == "v2." + TestDevice.base64URL(raw))
        }
        // r of 26 octets and s of 32: their DER has 64, which every reader takes for r then s.
        let short = [UInt8](repeating: 0, count: 6) + [UInt8](repeating: 0x11, count: 58)
        let made = ECDSASignature.encodeDER(short.span)
        let der = try #require(made)
        #expect(der.count == 64)
        #expect(try DeviceSignature(short).v1 == TestDevice.base64(short))
    }

    @Test func `what is no signature is told`() throws {
        let device = try TestDevice()
        let der = try device.key.signDER(digest: SHA256.digest([1]).span)
        for count in der.indices where count != 64 {
            #expect(throws: HumanIDKeyError.malformedSignature) { try DeviceSignature(Array(der.prefix(count))) }
        }
        for octets in [[], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 64), der + [0]] {
            #expect(throws: HumanIDKeyError.malformedSignature) { try DeviceSignature(octets) }
        }
    }

    @Test func `base64url is read as an encoder writes it, and as nothing else`() {
        for count in 0..<70 {
            let octets = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let text = Primitives.base64URL(octets)
            #expect(text == TestDevice.base64URL(octets) && Primitives.decodeBase64URL(text) == octets)
        }
        for text in ["A", "AB", "AA==", "A+A", "A/A", "A A", "é", "AAAAA"] {
            #expect(Primitives.decodeBase64URL(text) == nil, "\(text)")
        }
    }

    private func json(_ evidence: HumanIDEvidence) throws -> JSONValue {
        let body = try ServerRequests.attestation(challenge, id: "c\"1", publicKey: [1, 2, 3], evidence: evidence)
        return try #require(JSONValue(String(decoding: body, as: UTF8.self)))
    }

    @Test func `evidence of each platform has the members of the protocol`() throws {
        let common: Set<String> = ["type", "challenge_id", "app_id", "device_id", "platform"]
        let android = try json(.android(chain: [[0xFB, 0xFF], [0]]))
        #expect(android.names == common.union(["certificate_chain"]) && android["platform"].text == "android")
        #expect(android["certificate_chain"].elements == [.string("+/8="), .string("AA==")])
        #expect(android["challenge_id"].text == "c\"1" && android["type"].text == "attestation")
        let ios = try json(.ios(keyID: "k+/=", attestationObject: [0xA3]))
        #expect(ios.names == common.union(["key_id", "attestation_object", "public_key"]))
        #expect(ios["platform"].text == "ios" && ios["attestation_object"].text == "ow==")
        #expect(ios["key_id"].text == "k+/=" && ios["public_key"].text == "AQID")
        let signature = try TestDevice().sign([1])
        let test = try json(.test(claims: ["level": .text("tee")], signature: signature))
        #expect(
            test.names == common.union(["public_key", "claims", "signature"]) && test["claims"]["level"].text == "tee")
    }
}
