// SPDX-License-Identifier: Apache-2.0

/// What the checks of a token came to.
public struct TokenCheck: Sendable {
    /// Why the token is refused; nil when everything passed except what only the caller can judge.
    public let reason: Reason?
    /// The claims, as soon as the issuer's signature has verified and they could be read: also of an expired token.
    public let token: VerifiedToken?
}

/// Checks tokens against the key sets and policies of the configured issuers.
///
/// Cheap checks come first, nothing is fetched, nothing is remembered, and time is passed in. Not judged here: the
/// verdict (`VerifiedToken.verdictReason()`), the denylist, the request's signature, and replay.
public struct TokenVerifier: Sendable {
    /// The policies, in the order in which they are tried.
    public let issuers: [IssuerPolicy]

    /// Makes a verifier; with no issuers every token is refused.
    public init(issuers: [IssuerPolicy]) {
        self.issuers = issuers
    }

    /// Checks the value of X-HID-Token.
    ///
    /// - Parameters:
    ///   - token: The field's octets without surrounding white space.
    ///   - now: Unix seconds.
    /// - Returns: The reason, if any, and the claims, if they could be read.
    public func check(_ token: Span<UInt8>, now: Int64) -> TokenCheck {
        do throws(Reason) {
            return try verify(token, now: now)
        } catch {
            return TokenCheck(reason: error, token: nil)
        }
    }

    private func verify(_ token: Span<UInt8>, now: Int64) throws(Reason) -> TokenCheck {
        let jws = try CompactJWS(token)
        guard issuers.contains(where: { jws.key(in: $0.keys) != nil }) else {
            throw issuers.contains { $0.keys == nil } ? .keysUnavailable : .keyIDUnknown
        }
        let proof = try jws.proof(in: token)
        var genuine: VerifiedToken?
        // Two issuers may use one kid: the key that verifies decides, and `iss` must name its owner.
        for policy in issuers {
            guard let key = jws.key(in: policy.keys), proof.verifies(with: key) else { continue }
            let claims = try Self.claims(genuine, or: token.extracting(jws.form.payload), keyID: key.kid)
            if policy.isIssuer(of: claims) {
                return TokenCheck(reason: policy.judge(claims, now: now), token: claims)
            }
            genuine = claims
        }
        guard let genuine else { throw .tokenSignatureInvalid }
        return TokenCheck(reason: .issuer, token: genuine)
    }

    /// The claims read before, or those of the payload part.
    private static func claims(
        _ known: VerifiedToken?, or part: Span<UInt8>, keyID: [UInt8]
    ) throws(Reason) -> VerifiedToken {
        if let known { return known }
        return try ClaimsReader(CompactForm.decode(part)).token(keyID: keyID)
    }
}
