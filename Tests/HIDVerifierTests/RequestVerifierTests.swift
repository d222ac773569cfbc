// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

@Suite struct RequestVerifierTests {
    private let harness: TokenHarness
    private let body = Array("{\"u\":\"a\",\"p\":\"b\"}".utf8)
    private let request = SignedRequest(
        method: Array("POST".utf8), authority: Array("api.test".utf8), target: Array("/api/v1/login".utf8))

    init() throws {
        harness = try TokenHarness()
    }

    private func check(
        _ claims: TestClaims, signature: String?, accepting: SignatureProfiles = [.v1, .v2], isRequired: Bool = true
    ) throws -> TokenCheck {
        let verifier = try #require(
            RequestVerifier(tokens: harness.verifier, accepting: accepting, isSignatureRequired: isRequired))
        let token = try harness.issuer.mint(claims)
        return verifier.check(
            request, token: token, signature: signature.map { Array($0.utf8) }, body: body, now: TestIssuer.now)
    }

    @Test func `a right request passes, and passes again, for replay is the caller's part`() throws {
        let signature = try harness.device.signDER(body)
        let claims = harness.claims
        let first = try check(claims, signature: signature)
        let second = try check(claims, signature: signature)
        #expect(first.reason == nil && second.reason == nil)
        #expect(first.token?.replayKey == second.token?.replayKey)
    }

    @Test func `a signature is demanded as configured, and a wrong one never passes`() throws {
        #expect(try check(harness.claims, signature: nil).reason == .signatureMissing)
        #expect(try check(harness.claims, signature: "").reason == .signatureMissing)
        #expect(try check(harness.claims, signature: nil, isRequired: false).reason == nil)
        #expect(try check(harness.claims, signature: "", isRequired: false).reason == nil)
        let wrong = try harness.device.signDER([])
        #expect(try check(harness.claims, signature: wrong, isRequired: false).reason == .signatureInvalid)
        #expect(try check(harness.claims, signature: wrong, accepting: [.v2]).reason == .signatureProfile)
    }

    @Test func `the verdict comes before the signature`() throws {
        #expect(try check(harness.claims.with("verdict", "\"bot\""), signature: nil).reason == .verdictBlock)
        #expect(try check(harness.claims.with("verdict", "\"x\""), signature: nil).reason == .verdictUnknown)
    }

    @Test func `a monitoring token is never refused for its verdict`() throws {
        let signature = try harness.device.signDER(body)
        let claims = harness.claims.with("monitoring", "true")
        for verdict in ["bot", "blocked", "suspicious", "x"] {
            #expect(try check(claims.with("verdict", "\"\(verdict)\""), signature: signature).reason == nil)
        }
        #expect(try check(claims.with("blocked", "true").with("cnf", nil), signature: signature).reason == nil)
        #expect(try check(claims, signature: try TestDevice().signDER(body)).reason == .signatureInvalid)
    }

    @Test func `a missing or late token is refused with its reason`() throws {
        let verifier = try #require(RequestVerifier(tokens: harness.verifier))
        let check = verifier.check(request, token: nil, signature: nil, body: body, now: 0)
        #expect(check.reason == .tokenMissing && check.token == nil)
        let token = try harness.issuer.mint(harness.claims)
        let late = verifier.check(request, token: token, signature: nil, body: body, now: TestIssuer.now + 100)
        #expect(late.reason == .expired && late.token != nil)
    }

    // MARK: - Replay keys and reasons

    @Test func `a replay key changes with each of its parts and with where they are cut`() {
        let keys: Set<ReplayKey> = [
            ReplayKey("a", "b", "c"), ReplayKey("ab", "", "c"), ReplayKey("a", "bc", ""), ReplayKey("", "ab", "c"),
            ReplayKey("a", "b", "d"),
            ReplayKey("a", "", "bc"), ReplayKey("b", "b", "c"),
        ]
        #expect(keys.count == 7)
        #expect(ReplayKey("a", "b", "c") == ReplayKey("a", "b", "c"))
        let expected = SHA256.digest([0, 0, 0, 1, 0x61, 0, 0, 0, 1, 0x62, 0, 0, 0, 1, 0x63]).prefix(16)
        #expect(ReplayKey("a", "b", "c").bytes == Array(expected))
    }

    @Test func `reason codes are stable and explained in one sentence`() {
        #expect(Set(Reason.allCases.map(\.rawValue)).count == Reason.allCases.count)
        for reason in Reason.allCases {
            let text = reason.explanation
            #expect(text != reason.rawValue && text.hasSuffix(".") && text.first?.isUppercase == true, "\(reason)")
            #expect(reason.rawValue.wholeMatch(of: /(hid|sig|jwks)\.[a-z0-9_]+/) != nil)
        }
        let expected = """
            hid.token_missing hid.token_multiple hid.token_too_long hid.token_charset hid.token_parts hid.b64 \
            hid.b64_noncanonical hid.header_json hid.header_dup hid.header_type hid.header_member \
            hid.header_key_material hid.crit hid.alg_missing hid.alg_none hid.alg_not_allowed hid.typ hid.kid_missing \
            hid.kid_bad hid.kid_unknown jwks.unavailable hid.sig_length hid.sig_range hid.sig_invalid hid.claims_json \
            hid.claims_dup hid.claims_type hid.claims_missing hid.iss hid.aud hid.iat_future hid.lifetime hid.expired \
            hid.not_yet hid.before_start hid.cnf hid.verdict_block hid.verdict_unknown hid.denied hid.replay \
            hid.replay_full hid.replay_store sig.missing sig.multiple sig.too_long sig.profile sig.b64 sig.format \
            sig.length sig.der sig.range sig.invalid sig.binding sig.body_too_large
            """
        #expect(Reason.allCases.map(\.rawValue).joined(separator: " ") == expected)
    }

    @Test func `only what is absent, late or undecidable is not proven`() {
        let open: Set<Reason> = [
            .tokenMissing, .expired, .notYet, .issuedInFuture, .beforeStart, .keyIDUnknown, .keysUnavailable,
            .verdictUnknown, .replayFull, .replayStore, .signatureMissing, .signatureProfile, .bodyTooLarge,
        ]
        for reason in Reason.allCases { #expect(reason.isProven != open.contains(reason)) }
    }
}
