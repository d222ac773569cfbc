// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 6 of data/tokens/cases.md, and the time when keys are not there.
@Suite struct KeySetTests {
    private let harness: TokenHarness
    private let jwk: TestClaims

    init() throws {
        harness = try TokenHarness()
        jwk = harness.issuer.jwk
    }

    private func load(_ keys: [TestClaims]) throws(KeySetFault) -> KeySet {
        try KeySet(jwks: TestIssuer.jwks(keys.map(\.json)))
    }

    private func code(_ jwks: [UInt8]) -> String? {
        do throws(KeySetFault) {
            _ = try KeySet(jwks: jwks)
            return nil
        } catch {
            return error.code
        }
    }

    private func code(_ keys: [TestClaims]) -> String? {
        code(TestIssuer.jwks(keys.map(\.json)))
    }

    @Test func `K04 tokens of the old and the new key verify while both are published`() throws {
        #expect(harness.check(try harness.issuer.mint(harness.claims)).reason == nil)
        #expect(harness.check(try harness.other.mint(harness.other.claims(for: harness.device))).reason == nil)
    }

    @Test func `K07 a kid twice refuses the whole set`() throws {
        let other = try TestIssuer().jwk
        #expect(code([jwk, other]) == "jwks.dup_kid")
        #expect(code([jwk, jwk]) == "jwks.dup_kid")
        #expect(code([jwk, other.with("kid", "\"\\u006b1\"")]) == "jwks.dup_kid")
        #expect(code([jwk, other.with("use", "\"enc\"")]) == "jwks.dup_kid")
    }

    @Test func `K08 a private or symmetric key refuses the whole set`() throws {
        let other = try TestIssuer(kid: "k2").jwk
        for name in ["d", "k", "p", "q", "dp", "dq", "qi", "oth"] {
            #expect(code([jwk, other.with(name, "\"AAAA\"")]) == "jwks.private")
        }
        let symmetric = TestClaims([("kty", "\"oct\""), ("k", "\"AAAA\""), ("kid", "\"s\""), ("alg", "\"HS256\"")])
        #expect(code([jwk, symmetric]) == "jwks.private")
        #expect(code([jwk, symmetric.with("k", nil)]) == "jwks.private")
    }

    @Test func `K09 K11 a faulty key is skipped and the others are used`() throws {
        let key = try P256PrivateKey().publicKey
        let good = TestIssuer(key: try P256PrivateKey(), kid: "bad").jwk
        let zeros = "\"\(TestDevice.base64URL([UInt8](repeating: 0, count: 32)))\""
        let text = { (bytes: [UInt8]) in "\"\(TestDevice.base64URL(bytes))\"" }
        let bad = [
            good.with("use", "\"enc\""), good.with("use", "1"), good.with("key_ops", "[\"sign\"]"),
            good.with("key_ops", "[]"),
            good.with("key_ops", "\"verify\""), good.with("key_ops", "[\"encrypt\"]"), good.with("alg", "\"ES512\""),
            good.with("alg", "\"ES224\""), good.with("alg", "\"ES521\""), good.with("alg", "null"),
            good.with("kty", "\"RSA\""),
            good.with("crv", "\"P-384\""), good.with("crv", nil), good.with("kty", nil), good.with("kty", "1"),
            good.with("y", text(key.y)), good.with("x", zeros).with("y", zeros), good.with("x", nil),
            good.with("y", "1"),
            good.with("x", text(Array(key.x.dropLast()))), good.with("x", text([0] + key.x)),
            good.with("y", text(Array(key.y.dropFirst()))), good.with("x", "\"\(TestDevice.base64(key.x))\""),
            good.with("kid", "\"a b\""),
        ]
        for faulty in bad {
            let set = try load([faulty, jwk])
            #expect(set.keyIDs == ["k1"])
            #expect(set.skipped.map(\.code) == ["jwks.key_bad"], "\(faulty.json)")
            #expect(throws: KeySetFault.empty(skipped: set.skipped)) { try load([faulty]) }
        }
        let nameless = try #require(try load([good.with("kid", nil), jwk]).skipped.first)
        #expect(nameless.kid == nil && nameless.code == "jwks.key_bad")
        let odd = try KeySet(jwks: TestIssuer.jwks(["1", "null", "[]", jwk.json]))
        #expect(odd.skipped.count == 3 && odd.count == 1)
    }

    @Test func `K10 a key of an unknown type is ignored`() throws {
        let unknown = TestClaims([("kty", "\"XYZ\""), ("kid", "\"future\""), ("v", "\"AAAA\"")])
        let edwards = TestClaims([("kty", "\"OKP\""), ("crv", "\"Ed25519\""), ("x", "\"AAAA\""), ("kid", "\"ed\"")])
        let rsa = TestClaims([("kty", "\"RSA\""), ("n", "\"AAAA\""), ("e", "\"AQAB\""), ("kid", "\"r\"")])
        let set = try load([unknown, edwards, jwk, rsa])
        #expect(set.keyIDs == ["k1"])
        #expect(set.skipped.map(\.kid) == ["future", "ed", "r"])
        #expect(Set(set.skipped.map(\.code)) == ["jwks.key_unsupported"])
    }

    @Test func `K12 an empty set is refused`() {
        #expect(code(TestIssuer.jwks([])) == "jwks.empty")
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{\"keys\":{}}", "{\"keys\":null}", "{\"keys\":[]", "{\"keys\":[],\"keys\":[]}",
        "<html>",
        "\u{FEFF}{\"keys\":[]}", "{\"keys\":[{\"kty\":\"EC\",\"kty\":\"EC\"}]}", "{\"keys\":[]}x",
    ])
    func `a set that is no strict JSON is refused`(_ text: String) {
        #expect(code(Array(text.utf8)) == "jwks.json")
    }

    @Test func `size and number are limited`() throws {
        let set = TestIssuer.jwks([jwk.json])
        #expect(code(set + Array(repeating: 0x20, count: 65_536 - set.count)) == nil)
        #expect(code(set + Array(repeating: 0x20, count: 65_537 - set.count)) == "jwks.too_large")
        let keys = (0..<33).map { TestIssuer(key: harness.issuer.key, kid: "k\($0)").jwk }
        #expect(try load(Array(keys.prefix(32))).count == 32)
        #expect(code(keys) == "jwks.too_many")
    }

    @Test func `a set with tables verifies the same tokens`() throws {
        let set = try KeySet(jwks: TestIssuer.jwks([jwk.json, harness.other.jwk.json]), precomputing: true)
        #expect(set.count == 2 && set.precomputedCount == 2)
        let policy = IssuerPolicy(issuer: "https://his.test", audience: ["app-1"], keys: set)
        let token = try harness.issuer.mint(harness.claims)
        #expect(verifier(policy).check(token, now: TestIssuer.now).reason == nil)
        let wrong = try harness.issuer.mint(
            header: harness.header.with("kid", "\"k2\"").json, payload: harness.claims.json)
        #expect(verifier(policy).check(wrong, now: TestIssuer.now).reason == .tokenSignatureInvalid)
    }

    @Test func `members that do no harm are accepted`() throws {
        let rich = jwk.with("key_ops", "[\"verify\"]").with("x5c", "[]").with("exp", "1").with("use", nil).with(
            "alg", nil)
        let set = try load([rich])
        #expect(set.count == 1 && set.skipped.isEmpty)
        #expect(set.contains(kid: "k1") && !set.contains(kid: "k"))
    }

    // MARK: - Several issuers

    private func verifier(_ policies: IssuerPolicy...) -> TokenVerifier {
        TokenVerifier(issuers: policies)
    }

    @Test func `without keys an unknown kid cannot be decided`() throws {
        let token = try harness.issuer.mint(harness.claims)
        let missing = IssuerPolicy(issuer: "https://his.test", audience: ["app-1"], keys: nil)
        let other = IssuerPolicy(
            issuer: "https://other.test", audience: ["app-1"], keys: try load([harness.other.jwk]))
        #expect(verifier(missing).check(token, now: TestIssuer.now).reason == .keysUnavailable)
        #expect(verifier(other, missing).check(token, now: TestIssuer.now).reason == .keysUnavailable)
        #expect(verifier(other).check(token, now: TestIssuer.now).reason == .keyIDUnknown)
        #expect(verifier().check(token, now: TestIssuer.now).reason == .keyIDUnknown)
    }

    @Test func `an issuer cannot speak for another`() throws {
        let first = IssuerPolicy(issuer: "https://his.test", audience: ["app-1"], keys: try load([jwk]))
        let second = IssuerPolicy(issuer: "https://b.test", audience: ["app-1"], keys: try load([harness.other.jwk]))
        let both = verifier(first, second)
        #expect(both.check(try harness.issuer.mint(harness.claims), now: TestIssuer.now).reason == nil)
        let forged = try harness.other.mint(harness.claims)
        let check = both.check(forged, now: TestIssuer.now)
        #expect(check.reason == .issuer)
        #expect(check.token != nil)
        let own = try harness.other.mint(harness.claims.with("iss", "\"https://b.test\""))
        #expect(both.check(own, now: TestIssuer.now).reason == nil)
    }

    @Test func `two issuers may use the same kid and even the same key`() throws {
        let twin = try TestIssuer(issuer: "https://b.test")
        let first = IssuerPolicy(issuer: "https://his.test", audience: ["app-1"], keys: try load([jwk]))
        let second = IssuerPolicy(issuer: "https://b.test", audience: ["app-2"], keys: try load([twin.jwk]))
        let third = IssuerPolicy(issuer: "https://c.test", audience: ["app-1"], keys: try load([jwk]))
        let all = verifier(first, second, third)
        let device = harness.device
        let tokens: [([UInt8], Reason?)] = [
            (try harness.issuer.mint(harness.claims), nil),
            (try twin.mint(twin.claims(for: device)), .audience),
            (try twin.mint(twin.claims(for: device).with("aud", "\"app-2\"")), nil),
            (try harness.issuer.mint(harness.claims.with("iss", "\"https://c.test\"")), nil),
            (try harness.issuer.mint(harness.claims.with("iss", "\"https://b.test\"")), .issuer),
            (try TestIssuer().mint(harness.claims), .tokenSignatureInvalid),
        ]
        for (token, reason) in tokens { #expect(all.check(token, now: TestIssuer.now).reason == reason) }
    }

    @Test func `leeway and life are those of the policy`() throws {
        let policy = IssuerPolicy(
            issuer: "https://his.test", audience: ["app-1"], leeway: 0, maximumLife: 30, keys: try load([jwk]))
        let now = TestIssuer.now
        let token = try harness.issuer.mint(harness.claims)
        #expect(verifier(policy).check(token, now: now - 1).reason == .issuedInFuture)
        #expect(verifier(policy).check(token, now: now + 29).reason == nil)
        #expect(verifier(policy).check(token, now: now + 30).reason == .expired)
        let long = try harness.issuer.mint(harness.claims.with("exp", "\(now + 31)"))
        #expect(verifier(policy).check(long, now: now).reason == .lifetime)
    }
}
