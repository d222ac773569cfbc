// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 2 of data/tokens/cases.md.
@Suite struct TokenHeaderTests {
    private let harness: TokenHarness

    init() throws {
        harness = try TokenHarness()
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE"])
    func `T27 alg none is refused, with and without a signature`(_ algorithm: String) throws {
        let header = harness.header.with("alg", "\"\(algorithm)\"")
        #expect(try harness.check(header: header).reason == .algorithmNone)
        let bare = "\(base64URL(header.json)).\(base64URL(harness.claims.json))."
        #expect(harness.check(bare).reason == .algorithmNone)
    }

    @Test(arguments: [
        "\"HS256\"", "\"RS256\"", "\"PS256\"", "\"ES384\"", "\"ES512\"", "\"EdDSA\"", "\"ES256K\"", "\"es256\"",
        "\"ES256 \"",
        "\"ES256\\u0000\"", "\"\"", "[\"ES256\"]", "null", "256", "{}", "true", "\"none \"",
    ])
    func `T28 T29 every other algorithm is refused`(_ json: String) throws {
        #expect(try harness.check(header: "alg", json).reason == .algorithmNotAllowed)
    }

    @Test func `T31 a missing alg is refused`() throws {
        #expect(try harness.check(header: "alg", nil).reason == .algorithmMissing)
    }

    @Test(arguments: ["jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256"])
    func `T32 T33 T34 key material in the header is refused`(_ name: String) throws {
        let attacker = try TestIssuer(key: P256PrivateKey())
        let values = [attacker.jwk.json, "\"http://169.254.169.254/\"", "\"file:///etc/passwd\"", "[]", "null"]
        for value in values {
            let header = harness.header.with(name, value)
            #expect(try harness.check(header: header).reason == .headerKeyMaterial)
            let token = try attacker.mint(header: header.json, payload: harness.claims.json)
            #expect(harness.check(token).reason == .headerKeyMaterial)
        }
    }

    @Test func `T35 a missing kid is refused`() throws {
        #expect(try harness.check(header: "kid", nil).reason == .keyIDMissing)
    }

    @Test func `T37 the kid of another key does not verify`() throws {
        #expect(try harness.check(header: "kid", "\"k2\"").reason == .tokenSignatureInvalid)
    }

    @Test(arguments: ["k3", "K1", "k1.", "kk1", "k", "..", "key-of-yesterday"])
    func `T38 T64 an unknown kid is refused without a fallback`(_ kid: String) throws {
        #expect(try harness.check(header: "kid", "\"\(kid)\"").reason == .keyIDUnknown)
    }

    @Test(arguments: ["1", "[\"k1\"]", "null", "true", "{}"])
    func `T39 a kid of another type is refused`(_ json: String) throws {
        #expect(try harness.check(header: "kid", json).reason == .headerType)
    }

    @Test(arguments: [
        "", "../../etc/passwd", "k1\\u0000", "k1' OR '1'='1", "k1 ", " k1", "k1\\n", "\u{212A}1", "http://x/",
        "k1/../k1",
        String(repeating: "k", count: 129),
    ])
    func `a kid that is no plain name is refused`(_ kid: String) throws {
        #expect(try harness.check(header: "kid", "\"\(kid)\"").reason == .keyIDBad)
    }

    @Test(arguments: [
        "[]", "\"exp\"", "[\"alg\"]", "[\"exp\"]", "[\"exp\",\"exp\"]", "null", "{}", "[\"b64\"]", "[1]",
    ])
    func `T41 crit is refused whatever it says`(_ json: String) throws {
        #expect(try harness.check(header: "crit", json).reason == .critical)
    }

    @Test func `T42 an unencoded or detached payload is refused`() throws {
        #expect(try harness.check(header: "b64", "false").reason == .critical)
        #expect(try harness.check(header: "b64", "true").reason == .critical)
        let header = harness.header.with("b64", "false").with("crit", "[\"b64\"]")
        #expect(try harness.check(header: header).reason == .critical)
        let parts = String(decoding: try harness.issuer.mint(header: header.json, payload: "x"), as: UTF8.self)
            .split(separator: ".")
        #expect(harness.check("\(parts[0])..\(parts[2])").reason == .critical)
    }

    @Test(arguments: ["zip", "cty", "enc"])
    func `T43 compression, nesting and encryption are refused`(_ name: String) throws {
        #expect(try harness.check(header: name, "\"DEF\"").reason == .headerMember)
    }

    @Test(arguments: [
        nil, "\"JWT\"", "\"at+jwt\"", "\"dpop+jwt\"", "\"hid+jwt \"", "\"\"", "\"text/hid+jwt\"", "\"hid\"",
    ])
    func `T44 T89 a token of another type is refused`(_ json: String?) throws {
        #expect(try harness.check(header: "typ", json).reason == .tokenType)
    }

    @Test(arguments: ["hid+jwt", "HID+JWT", "application/hid+jwt", "Application/HID+jwt", "hid\\u002bjwt"])
    func `T45 the type may be written in full and in any case`(_ type: String) throws {
        #expect(try harness.check(header: "typ", "\"\(type)\"").reason == nil)
    }

    @Test func `a typ of another JSON type is refused`() throws {
        #expect(try harness.check(header: "typ", "[\"hid+jwt\"]").reason == .headerType)
    }

    @Test func `T47 T48 a member named twice is refused`() throws {
        let header = harness.header
        let twice = [
            header.appending("alg", "\"none\""), header.appending("\\u0061lg", "\"ES256\""),
            TestClaims([("alg", "\"none\"")] + header.members), header.appending("kid", "\"k2\""),
            header.appending("x", "1").appending("x", "1"), header.appending("typ", "\"JWT\""),
        ]
        for header in twice { #expect(try harness.check(header: header).reason == .headerDuplicate) }
    }

    @Test(arguments: [
        "[]", "\"x\"", "1", "null", "true", "{", "{}x", "{\"alg\":\"ES256\",}", "\u{FEFF}{}", "{\"a\":NaN}", "{a:1}",
        "{}{}",
        "{\"a\":\"\\ud800\"}", "{\"a\":\"\u{1}\"}", "/**/{}",
    ])
    func `T50 a header that is no strict JSON object is refused`(_ header: String) throws {
        let token = try harness.issuer.mint(header: header, payload: harness.claims.json)
        #expect(harness.check(token).reason == .headerJSON)
    }

    @Test(arguments: [16, 65, 500])
    func `T51 a header nested too deep is refused`(_ depth: Int) throws {
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(try harness.check(header: "x", nested).reason == .headerJSON)
    }

    @Test func `a header of more than 64 members is refused`() throws {
        var header = harness.header
        for index in 0..<61 { header["m\(index)"] = "0" }
        #expect(try harness.check(header: header).reason == nil)
        header["m61"] = "0"
        #expect(try harness.check(header: header).reason == .headerJSON)
    }

    @Test(arguments: [
        "{ \"alg\" : \"ES256\",\n  \"kid\" : \"k1\",\r\n\t\"typ\" : \"hid+jwt\" }",
        "\n{\"kid\":\"k1\",\"typ\":\"hid+jwt\",\"alg\":\"ES256\"} ",
        "{\"alg\":\"\\u0045S256\",\"kid\":\"k\\u0031\",\"typ\":\"hid+jwt\",\"unknown\":[{\"a\":null}]}",
    ])
    func `T53 white space, escapes and unknown members are fine when signed`(_ header: String) throws {
        let token = try harness.issuer.mint(header: header, payload: harness.claims.json)
        #expect(harness.check(token).reason == nil)
    }

    private struct RFCFile: Decodable {
        struct Vector: Decodable {
            let id: String
            let jws: String?
        }
        let vectors: [Vector]
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `T89 the tokens of the RFCs are none of ours`() throws {
        let file = try Vectors.json("crypto/rfc_vectors.json", as: RFCFile.self)
        let expected: [String: Reason] = ["rfc7515-a3": .tokenType, "rfc9449-fig2": .headerKeyMaterial]
        var seen = 0
        for vector in file.vectors {
            guard let jws = vector.jws else { continue }
            #expect(harness.check(jws).reason == expected[vector.id])
            seen += 1
        }
        #expect(seen == expected.count)
    }
}
