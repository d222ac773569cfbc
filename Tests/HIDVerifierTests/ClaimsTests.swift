// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 4 of data/tokens/cases.md.
@Suite struct ClaimsTests {
    private let harness: TokenHarness
    private static let now = TokenHarness.now

    init() throws {
        harness = try TokenHarness()
    }

    private func check(issuedAt: Int64, expiresAt: Int64) throws -> TokenCheck {
        try harness.check(harness.claims.with("iat", "\(issuedAt)").with("exp", "\(expiresAt)"))
    }

    @Test func `T66 a token lives until its expiry and the leeway`() throws {
        let now = Self.now
        #expect(try check(issuedAt: now - 34, expiresAt: now - 4).reason == nil)
        #expect(try check(issuedAt: now - 35, expiresAt: now - 5).reason == .expired)
        let late = try check(issuedAt: now - 36, expiresAt: now - 6)
        #expect(late.reason == .expired)
        #expect(late.token?.hid == Array(harness.device.hid.utf8))
    }

    @Test(arguments: ["exp", "iat", "jti"])
    func `T67 T75 T86 a missing claim is refused`(_ name: String) throws {
        #expect(try harness.check(name, nil).reason == .claimsMissing)
    }

    @Test(arguments: [
        "\"1700000000\"", "true", "null", "[]", "{}", "1e300", "1e19", "9223372036854775808", "18446744073709551616",
        "-1", "-9223372036854775808", "-9223372036854775809", "-0", "1800000030.5", "1.8e9", "1800000030.0", "0e0",
    ])
    func `T68 T69 T71 a time that is no plain integer is refused`(_ json: String) throws {
        for name in ["exp", "iat", "nbf"] { #expect(try harness.check(name, json).reason == .claimsType) }
    }

    @Test func `a number beyond every Double is no JSON here`() throws {
        #expect(try harness.check("exp", "1e999").reason == .claimsJSON)
        #expect(try harness.check("x", "-1e999").reason == .claimsJSON)
    }

    @Test func `extreme times do not trap`() throws {
        let extreme = "9223372036854775807"
        #expect(try harness.check("exp", extreme).reason == .lifetime)
        #expect(try harness.check("iat", extreme).reason == .issuedInFuture)
        #expect(try harness.check("nbf", extreme).reason == .notYet)
        #expect(try check(issuedAt: .max - 1, expiresAt: .max).reason == .issuedInFuture)
        #expect(try check(issuedAt: 0, expiresAt: 0).reason == .expired)
        let token = try harness.issuer.mint(harness.claims.with("iat", extreme).with("exp", extreme))
        for now in [Int64.min, -1, 0, .max] { #expect(harness.check(token, now: now).reason != .claimsType) }
    }

    @Test func `T72 T73 a life over 60 seconds or below zero is refused`() throws {
        let now = Self.now
        #expect(try check(issuedAt: now, expiresAt: now + 60).reason == nil)
        #expect(try check(issuedAt: now, expiresAt: now + 61).reason == .lifetime)
        #expect(try check(issuedAt: now, expiresAt: now + 3600).reason == .lifetime)
        #expect(try check(issuedAt: now, expiresAt: now - 1).reason == .lifetime)
        #expect(try check(issuedAt: now, expiresAt: now - 100).reason == .lifetime)
    }

    @Test func `T74 a token from the future is refused`() throws {
        let now = Self.now
        #expect(try harness.check("iat", "\(now + 60)").reason == .issuedInFuture)
        #expect(try check(issuedAt: now + 6, expiresAt: now + 36).reason == .issuedInFuture)
        #expect(try check(issuedAt: now + 5, expiresAt: now + 35).reason == nil)
    }

    @Test func `T76 nbf is checked when present`() throws {
        #expect(try harness.check("nbf", "\(Self.now + 60)").reason == .notYet)
        #expect(try harness.check("nbf", "\(Self.now + 5)").reason == nil)
        #expect(try harness.check("nbf", "\"soon\"").reason == .claimsType)
    }

    @Test func `T77 T78 a claim named twice is refused`() throws {
        let claims = harness.claims
        let now = Self.now
        let twice = [
            claims.appending("exp", "\(now - 100)"), claims.appending("exp", "\(now + 30)"),
            TestClaims([("exp", "\(now - 100)")] + claims.members), claims.appending("verdict", "\"blocked\""),
            TestClaims([("verdict", "\"blocked\"")] + claims.members), claims.appending("\\u0076erdict", "\"human\""),
            claims.with("x", "{\"a\":1,\"a\":1}"),
        ]
        for claims in twice { #expect(try harness.check(claims).reason == .claimsDuplicate) }
    }

    @Test(arguments: [
        nil, "\"Allow\"", "\"allow \"", "\"allow\"", "1", "[\"allow\"]", "[\"human\"]", "\"unknown\"", "\"Human\"",
        "\"human \"",
        "\"\"", "null", "true", "\"humаn\"",
    ])
    func `T80 only the exact word human allows`(_ json: String?) throws {
        let check = try harness.check("verdict", json)
        #expect(check.reason == nil)
        #expect(check.token?.verdict == .unknown)
        #expect(check.token?.verdictReason() == .verdictUnknown)
    }

    @Test(arguments: [("\"bot\"", Verdict.bot), ("\"blocked\"", .blocked), ("\"suspicious\"", .suspicious)])
    func `a verdict against the device is told`(_ json: String, _ verdict: Verdict) throws {
        let check = try harness.check("verdict", json)
        #expect(check.reason == nil)
        #expect(check.token?.verdict == verdict)
        #expect(check.token?.verdictReason() == .verdictBlock)
    }

    @Test func `T81 blocked wins over the verdict`() throws {
        let check = try harness.check("blocked", "true")
        #expect(check.token?.verdict == .human)
        #expect(check.blockReason == .verdictBlock)
        #expect(try harness.check("blocked", "false").blockReason == nil)
        #expect(
            try harness.check(harness.claims.with("blocked", "true").with("verdict", "\"x\"")).blockReason
                == .verdictBlock)
    }

    @Test(arguments: [
        "\"https://other.test\"", "\"https://his.test/\"", "[\"https://his.test\"]", "\"HTTPS://HIS.TEST\"", "null",
        "1", "{}",
        "\"\"", "\"https://his.test\\u0000\"", "\" https://his.test\"", nil,
    ])
    func `T82 another issuer is refused`(_ json: String?) throws {
        #expect(try harness.check("iss", json).reason == .issuer)
    }

    @Test(arguments: [
        "\"app-2\"", nil, "[\"app-2\",\"app-4\"]", "[]", "null", "1", "{\"app-1\":1}", "\"App-1\"", "\"app-1 \"",
        "\"\"",
        "[\"app-1\",1]", "[[\"app-1\"]]", "[null,\"app-1\"]",
    ])
    func `T83 another audience is refused`(_ json: String?) throws {
        #expect(try harness.check("aud", json).reason == .audience)
    }

    @Test(arguments: ["\"app-1\"", "\"app-3\"", "[\"app-1\"]", "[\"app-2\",\"app-1\"]", "[\"app-1\",\"app-2\"]"])
    func `T83 our audience is found`(_ json: String) throws {
        #expect(try harness.check("aud", json).reason == nil)
    }

    /// Texts that are no identifier: T84, T85, T86.
    static let badIdentifiers = [
        "\"\"", "\"\(String(repeating: "d", count: 2000))\"", "\"\(String(repeating: "d", count: 65))\"",
        "\"d-0123456789abcde\\u0000\"", "\"d-0123456789abcde\\r\\n\"", "\"<script>alert(1)</script>\"", "1", "null",
        "[]",
        "[\"d-0123456789abcdef\"]", "{}", "true", "\"short\"", "\"d-0123456789abcd\u{E9}\"",
        "\"d-0123456789abcd e\u{301}\"",
        "\"d-0123456789abcdef=\"", "\"d-0123456789abcd+/\"", "\"d.0123456789abcdef\"", "\"\u{212A}-0123456789abcdef\"",
    ]

    @Test(arguments: badIdentifiers)
    func `T84 T85 T86 an identifier of another form is refused`(_ json: String) throws {
        #expect(try harness.check("hid", json).reason == .claimsType)
        #expect(try harness.check("jti", json).reason == .claimsType)
    }

    @Test func `T84 a missing hid is refused`() throws {
        #expect(try harness.check("hid", nil).reason == .claimsType)
    }

    @Test func `T85 an escaped hid is the same hid`() throws {
        let check = try harness.check("hid", "\"\\u0064-0123456789abcdef\"")
        #expect(check.reason == nil)
        #expect(check.token?.hid == Array("d-0123456789abcdef".utf8))
    }

    @Test(arguments: [16, 22, 43, 64])
    func `identifiers have 16 to 64 characters, canonical or not`(_ count: Int) throws {
        let text = "\"\(String(repeating: "_", count: count - 1))B\""
        #expect(try harness.check("jti", text).reason == nil)
        #expect(try harness.check("hid", text).reason == nil)
    }

    @Test func `T88 a payload that is no strict JSON object is refused`() throws {
        let bad: [[UInt8]] = [
            Array(harness.claims.with("x", "\"\\ud800\"").json.utf8),
            Array(harness.claims.with("x", "\"\u{1}\"").json.utf8),
            Array(harness.claims.json.utf8.dropLast()) + Array(",\"x\":\"".utf8) + [0xFF] + Array("\"}".utf8),
            Array(harness.claims.json.utf8.dropLast()) + Array(",\"x\":\"".utf8) + [0xC0, 0xAF] + Array("\"}".utf8),
            Array("\u{FEFF}\(harness.claims.json)".utf8), Array("\(harness.claims.json)x".utf8), Array("[]".utf8),
            Array("null".utf8), Array("\"x\"".utf8), Array("1".utf8), Array("{}{}".utf8), Array("{".utf8),
            Array(
                harness.claims.json.utf16.flatMap {
                    [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
                }),
        ]
        for payload in bad {
            let token = try harness.issuer.mint(header: Array(harness.header.json.utf8), payload: payload)
            #expect(harness.check(token).reason == .claimsJSON)
        }
    }

    @Test func `T88 depth and members are limited`() throws {
        let nested = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(try harness.check("x", nested(15)).reason == nil)
        #expect(try harness.check("x", nested(16)).reason == .claimsJSON)
        var claims = harness.claims
        for index in 0..<56 { claims["m\(index)"] = "0" }
        #expect(try harness.check(claims).reason == nil)
        #expect(try harness.check(claims.with("m56", "0")).reason == .claimsJSON)
    }

    @Test(arguments: ["blocked", "monitoring"])
    func `a flag of another type is refused`(_ name: String) throws {
        for json in ["\"true\"", "1", "0", "null", "[true]", "\"false\""] {
            #expect(try harness.check(name, json).reason == .claimsType)
        }
    }

    @Test(arguments: ["plt", "lvl", "env"])
    func `a word that could not stand in a header field is refused`(_ name: String) throws {
        for json in [
            "1", "null", "[\"tee\"]", "\"\"", "\"tee\\r\\nX-Evil: 1\"", "\"t e\"",
            "\"\(String(repeating: "a", count: 33))\"",
        ] {
            #expect(try harness.check(name, json).reason == .claimsType)
        }
        #expect(try harness.check(name, "\"secure_enclave\"").reason == nil)
    }

    @Test func `a score is a number`() throws {
        #expect(try harness.check("score", "0").token?.score == [0x30])
        #expect(try harness.check("score", "-1.5e2").reason == nil)
        for json in ["\"0\"", "true", "null", "[]"] { #expect(try harness.check("score", json).reason == .claimsType) }
    }
}
