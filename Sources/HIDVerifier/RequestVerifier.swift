// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// Verifies whole requests in one call, for a backend that embeds this library.
///
/// It checks the token, the verdict and the signature. **It does not detect replay**: the same request verifies
/// again and again until its token expires. A backend that is not behind the gateway must mark
/// `RequestCheck.token?.replayKey` as used, atomically and after this check, and refuse a key that is marked already;
/// a mark may be dropped once `expiresAt` and the leeway have passed.
///
/// ```swift
/// let keys = try KeySet(jwks: jwksBytes)
/// let policy = IssuerPolicy(issuer: "https://his.example.com", audience: ["my-app"], keys: keys)
/// guard let verifier = RequestVerifier(tokens: TokenVerifier(issuers: [policy]), accepting: [.v1, .v2]) else { ... }
/// let check = verifier.check(request, token: tokenField, signature: signatureField, body: body, now: unixSeconds)
/// guard check.reason == nil else { return forbidden(check.reason) }
/// ```
///
/// One per thread: it is not Sendable. It never allows what it cannot decide.
public final class RequestVerifier {
    private let tokens: TokenVerifier
    private let accepted: SignatureProfiles
    private let isSignatureRequired: Bool
    private let signatures: SignatureVerifier

    /// Makes a verifier; nil only when the crypto library cannot allocate.
    ///
    /// - Parameters:
    ///   - tokens: The issuers and their keys.
    ///   - accepting: The signature profiles; prefer `[.v2]` where all clients can make it.
    ///   - isSignatureRequired: Whether a request without X-HID-Signature is refused; one that is there and wrong
    ///     always is.
    public init?(
        tokens: TokenVerifier, accepting: SignatureProfiles = [.v1, .v2], isSignatureRequired: Bool = true
    ) {
        guard let signatures = SignatureVerifier() else { return nil }
        self.tokens = tokens
        self.accepted = accepting
        self.isSignatureRequired = isSignatureRequired
        self.signatures = signatures
    }

    /// Checks one request; replay is the caller's part.
    ///
    /// - Parameters:
    ///   - request: Method, authority and target as sent.
    ///   - token: The value of X-HID-Token, nil without one. Refuse a request with two before you call.
    ///   - signature: The value of X-HID-Signature, nil without one. Refuse a request with two before you call.
    ///   - body: The exact body octets, after de-chunking and before content decoding.
    ///   - now: Unix seconds.
    /// - Returns: A check whose reason is nil only if everything verified.
    public func check(
        _ request: SignedRequest, token: [UInt8]?, signature: [UInt8]?, body: [UInt8], now: Int64
    ) -> TokenCheck {
        guard let token else { return TokenCheck(reason: .tokenMissing, token: nil) }
        let check = tokens.check(token.span, now: now)
        guard check.reason == nil, let claims = check.token else { return check }
        let verdict = claims.isMonitoring ? nil : claims.verdictReason()
        let reason = verdict ?? checkSignature(signature, of: request, token: token, body: body, claims: claims)
        return TokenCheck(reason: reason, token: claims)
    }

    private func checkSignature(
        _ value: [UInt8]?, of request: SignedRequest, token: [UInt8], body: [UInt8], claims: VerifiedToken
    ) -> Reason? {
        guard let value else { return isSignatureRequired ? .signatureMissing : nil }
        switch SignatureHeader.parse(value.span, accepting: accepted) {
        case .failure(.signatureMissing) where !isSignatureRequired: return nil
        case .failure(let reason): return reason
        case .success(let header):
            // Only a blocked token may lack the key, and only `monitoring` brings it this far.
            guard let deviceKey = claims.deviceKey else { return claims.refusesDevice ? nil : .deviceKey }
            let digest = SHA256.hash(body.span)
            return signatures.verify(
                header, bodyDigest: digest.span, request: request, tokenText: token.span, deviceKey: deviceKey.span)
        }
    }
}
