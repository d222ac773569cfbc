// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import HIDVerifier

/// One issuer with key k1 and another key k2, one device, and a verifier that knows them.
struct TokenHarness {
    static let now = TestIssuer.now

    let issuer: TestIssuer
    let other: TestIssuer
    let device: TestDevice
    let verifier: TokenVerifier

    init() throws {
        issuer = try TestIssuer()
        other = try TestIssuer(kid: "k2")
        device = try TestDevice()
        let keys = try KeySet(jwks: TestIssuer.jwks([issuer.jwk.json, other.jwk.json]))
        verifier = TokenVerifier(issuers: [
            IssuerPolicy(issuer: issuer.issuer, audience: ["app-1", "app-3"], keys: keys)
        ])
    }

    /// The claims of base token B.
    var claims: TestClaims { issuer.claims(for: device) }

    /// The header of base token B.
    var header: TestClaims { issuer.header }

    func check(_ token: [UInt8], now: Int64 = Self.now) -> TokenCheck {
        verifier.check(token.span, now: now)
    }

    func check(_ token: String) -> TokenCheck {
        check(Array(token.utf8))
    }

    /// Base token B with other claims.
    func check(_ claims: TestClaims) throws -> TokenCheck {
        check(try issuer.mint(claims))
    }

    /// Base token B with one claim changed or removed.
    func check(_ name: String, _ json: String?) throws -> TokenCheck {
        try check(claims.with(name, json))
    }

    /// Base token B with another header.
    func check(header: TestClaims) throws -> TokenCheck {
        check(try issuer.mint(header: header.json, payload: claims.json))
    }

    /// Base token B with one header member changed or removed.
    func check(header name: String, _ json: String?) throws -> TokenCheck {
        try check(header: header.with(name, json))
    }

    /// Base token B in its three parts.
    func parts() throws -> [String] {
        String(decoding: try issuer.mint(claims), as: UTF8.self).split(separator: ".").map(String.init)
    }
}

extension TokenCheck {
    /// The reason of the checks, or else that of the verdict: what a route in mode `block` would say.
    var blockReason: Reason? { reason ?? token?.verdictReason() }
}

/// base64url of a text.
func base64URL(_ text: String) -> String {
    TestDevice.base64URL(Array(text.utf8))
}

// A Span cannot pass through the macros of Swift Testing, so tests call these forms with arrays.

extension TokenVerifier {
    func check(_ token: [UInt8], now: Int64) -> TokenCheck { check(token.span, now: now) }
}

extension KeySet {
    func contains(kid: String) -> Bool {
        let bytes = Array(kid.utf8)
        return contains(kid: bytes.span)
    }
}

extension SignatureHeader {
    static func parse(_ value: [UInt8], accepting: SignatureProfiles) -> Result<SignatureHeader, Reason> {
        parse(value.span, accepting: accepting)
    }
}

extension SignatureVerifier {
    func verify(
        _ signature: SignatureHeader, bodyDigest: [UInt8], request: SignedRequest, token: [UInt8], deviceKey: [UInt8]
    ) -> Reason? {
        verify(
            signature, bodyDigest: bodyDigest.span, request: request, tokenText: token.span, deviceKey: deviceKey.span)
    }
}

extension SignatureBase {
    static func v2(_ request: SignedRequest, token: [UInt8], bodyDigest: [UInt8]) -> [UInt8] {
        v2(
            method: request.method.span, authority: request.authority.span, target: request.target.span,
            tokenText: token.span, bodyDigest: bodyDigest.span)
    }
}

extension ReplayKey {
    init(_ kid: String, _ hid: String, _ tokenID: String) {
        let (kid, hid, tokenID) = (Array(kid.utf8), Array(hid.utf8), Array(tokenID.utf8))
        self.init(kid: kid.span, hid: hid.span, tokenID: tokenID.span)
    }
}
