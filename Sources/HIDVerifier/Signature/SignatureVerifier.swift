// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The parts of a request besides its body that a v2 signature covers.
public struct SignedRequest: Sendable {
    /// The method as sent.
    public var method: [UInt8]
    /// The Host field or `:authority` as sent.
    public var authority: [UInt8]
    /// The request-target in origin-form, as sent.
    public var target: [UInt8]

    /// Makes the parts of a request.
    public init(method: [UInt8], authority: [UInt8], target: [UInt8]) {
        self.method = method
        self.authority = authority
        self.target = target
    }
}

/// Verifies request signatures with objects that are made once.
///
/// One per event loop or thread: it is not Sendable, since every call writes the device's key into a shared object.
public final class SignatureVerifier {
    private let verifier: P256Verifier

    /// Makes a verifier; nil only when the crypto library cannot allocate.
    public init?() {
        guard let verifier = try? P256Verifier() else { return nil }
        self.verifier = verifier
    }

    /// Verifies a signature over a request.
    ///
    /// - Parameters:
    ///   - signature: The parsed X-HID-Signature.
    ///   - bodyDigest: SHA-256 of the body after de-chunking and before content decoding; 32 octets.
    ///   - method: The method as sent.
    ///   - authority: The Host field or `:authority` as sent.
    ///   - target: The request-target in origin-form, as sent.
    ///   - tokenText: The value of X-HID-Token.
    ///   - deviceKey: The point of `VerifiedToken.deviceKey`.
    /// - Returns: nil when it verifies, else `signatureInvalid` (v1), `signatureBinding` (v2: it covers everything,
    ///   so a failure cannot say which part was exchanged) or `deviceKey`.
    public func verify(
        _ signature: SignatureHeader, bodyDigest: Span<UInt8>, method: Span<UInt8>, authority: Span<UInt8>,
        target: Span<UInt8>, tokenText: Span<UInt8>, deviceKey: Span<UInt8>
    ) -> Reason? {
        switch signature.profile {
        case .v1:
            return verify(bodyDigest, signature, deviceKey, otherwise: .signatureInvalid)
        case .v2:
            let base = SignatureBase.v2(
                method: method, authority: authority, target: target, tokenText: tokenText, bodyDigest: bodyDigest)
            let digest = SHA256.hash(base.span)
            return verify(digest.span, signature, deviceKey, otherwise: .signatureBinding)
        }
    }

    /// Verifies a signature over a request whose parts are arrays.
    ///
    /// - Returns: As the form with spans.
    public func verify(
        _ signature: SignatureHeader, bodyDigest: Span<UInt8>, request: SignedRequest, tokenText: Span<UInt8>,
        deviceKey: Span<UInt8>
    ) -> Reason? {
        verify(
            signature, bodyDigest: bodyDigest, method: request.method.span, authority: request.authority.span,
            target: request.target.span, tokenText: tokenText, deviceKey: deviceKey)
    }

    private func verify(
        _ digest: Span<UInt8>, _ signature: SignatureHeader, _ point: Span<UInt8>, otherwise reason: Reason
    ) -> Reason? {
        switch verifier.verify(digest: digest, signature: signature.octets.span, point: point) {
        case .valid: nil
        case .invalid: reason
        case .malformedSignature: .signatureRange
        case .malformedKey: .deviceKey
        }
    }
}
