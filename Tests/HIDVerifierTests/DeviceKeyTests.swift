// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Row T90 of data/tokens/cases.md and what follows from it.
@Suite struct DeviceKeyTests {
    private let harness: TokenHarness

    init() throws {
        harness = try TokenHarness()
    }

    private func check(jwk: TestClaims) throws -> Reason? {
        try harness.check("cnf", "{\"jwk\":\(jwk.json)}").reason
    }

    private func coordinate(_ bytes: some Sequence<UInt8>) -> String {
        "\"\(TestDevice.base64URL(Array(bytes)))\""
    }

    @Test func `T90 a missing or misshapen cnf is refused`() throws {
        #expect(try harness.check("cnf", nil).reason == .deviceKey)
        for json in [
            "null", "{}", "[]", "1", "\"x\"", "{\"jwk\":null}", "{\"jwk\":[]}", "{\"jwk\":{}}", "{\"jkt\":\"x\"}",
        ] {
            #expect(try harness.check("cnf", json).reason == .deviceKey)
        }
    }

    @Test func `T90 a key that is no public P-256 key is refused`() throws {
        let jwk = harness.device.jwk
        let key = harness.device.key.publicKey
        #expect(try check(jwk: jwk) == nil)
        let zero = [UInt8](repeating: 0, count: 32)
        let bad = [
            jwk.with("d", "\"AAAA\""), jwk.with("k", "\"AAAA\""), jwk.with("crv", "\"P-384\""), jwk.with("crv", nil),
            jwk.with("crv", "\"secp256k1\""), jwk.with("crv", "\"p-256\""), jwk.with("kty", "\"RSA\""),
            jwk.with("kty", nil),
            jwk.with("kty", "[\"EC\"]"), jwk.with("use", "\"enc\""), jwk.with("alg", "\"ES384\""),
            jwk.with("x", coordinate(key.x.dropFirst())), jwk.with("x", coordinate([0] + key.x)),
            jwk.with("y", nil), jwk.with("x", nil), jwk.with("x", "1"),
            jwk.with("y", coordinate(key.y.dropLast())), jwk.with("y", coordinate(key.x)),
            jwk.with("x", coordinate(zero)).with("y", coordinate(zero)), jwk.with("x", coordinate(zero.map { ~$0 })),
        ]
        for jwk in bad {
            #expect(try check(jwk: jwk) == .deviceKey, "\(jwk.json)")
        }
        let padded = "\"\(TestDevice.base64(key.x))\""
        #expect(try check(jwk: jwk.with("x", padded)) == .deviceKey)
    }

    @Test func `T90 jkt must agree with jwk`() throws {
        let jwk = harness.device.jwk.json
        let right = String(decoding: harness.device.key.publicKey.thumbprint, as: UTF8.self)
        let wrong = String(decoding: try P256PrivateKey().publicKey.thumbprint, as: UTF8.self)
        #expect(try harness.check("cnf", "{\"jwk\":\(jwk),\"jkt\":\"\(right)\"}").reason == nil)
        for jkt in ["\"\(wrong)\"", "\"\"", "null", "1", "\"\(right)=\""] {
            #expect(try harness.check("cnf", "{\"jwk\":\(jwk),\"jkt\":\(jkt)}").reason == .deviceKey)
        }
    }

    @Test func `a blocked token needs no device key`() throws {
        let bare = harness.claims.with("cnf", nil)
        for claims in [bare.with("blocked", "true"), bare.with("verdict", "\"blocked\"")] {
            let check = try harness.check(claims)
            #expect(check.reason == nil)
            #expect(check.token?.deviceKey == nil)
            #expect(check.token?.refusesDevice == true)
            #expect(check.blockReason == .verdictBlock)
        }
        #expect(try harness.check(bare.with("verdict", "\"bot\"")).reason == .deviceKey)
        #expect(try harness.check(bare.with("blocked", "false")).reason == .deviceKey)
    }

    @Test func `members of the key that do no harm are ignored`() throws {
        let jwk = harness.device.jwk.with("kid", "\"x\"").with("alg", "\"ES256\"").with("use", "\"sig\"").with(
            "ext", "true")
        #expect(try check(jwk: jwk) == nil)
    }
}
