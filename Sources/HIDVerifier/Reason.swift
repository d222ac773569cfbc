// SPDX-License-Identifier: Apache-2.0

/// Why a request was refused; the raw values are stable codes for logs, metrics and documentation.
public enum Reason: String, CaseIterable, Error {
    // Carriage and compact form.
    case tokenMissing = "hid.token_missing"
    case tokenMultiple = "hid.token_multiple"
    case tokenTooLong = "hid.token_too_long"
    case tokenCharset = "hid.token_charset"
    case tokenParts = "hid.token_parts"
    case base64 = "hid.b64"
    case base64Noncanonical = "hid.b64_noncanonical"
    // JOSE header.
    case headerJSON = "hid.header_json"
    case headerDuplicate = "hid.header_dup"
    case headerType = "hid.header_type"
    case headerMember = "hid.header_member"
    case headerKeyMaterial = "hid.header_key_material"
    case critical = "hid.crit"
    case algorithmMissing = "hid.alg_missing"
    case algorithmNone = "hid.alg_none"
    case algorithmNotAllowed = "hid.alg_not_allowed"
    case tokenType = "hid.typ"
    case keyIDMissing = "hid.kid_missing"
    case keyIDBad = "hid.kid_bad"
    case keyIDUnknown = "hid.kid_unknown"
    case keysUnavailable = "jwks.unavailable"
    // JWS signature.
    case tokenSignatureLength = "hid.sig_length"
    case tokenSignatureRange = "hid.sig_range"
    case tokenSignatureInvalid = "hid.sig_invalid"
    // Claims.
    case claimsJSON = "hid.claims_json"
    case claimsDuplicate = "hid.claims_dup"
    case claimsType = "hid.claims_type"
    case claimsMissing = "hid.claims_missing"
    case issuer = "hid.iss"
    case audience = "hid.aud"
    case issuedInFuture = "hid.iat_future"
    case lifetime = "hid.lifetime"
    case expired = "hid.expired"
    case notYet = "hid.not_yet"
    case beforeStart = "hid.before_start"
    case deviceKey = "hid.cnf"
    case verdictBlock = "hid.verdict_block"
    case verdictUnknown = "hid.verdict_unknown"
    // Lists and replay.
    case denied = "hid.denied"
    case replay = "hid.replay"
    case replayFull = "hid.replay_full"
    case replayStore = "hid.replay_store"
    // Request signature.
    case signatureMissing = "sig.missing"
    case signatureMultiple = "sig.multiple"
    case signatureTooLong = "sig.too_long"
    case signatureProfile = "sig.profile"
    case signatureBase64 = "sig.b64"
    case signatureFormat = "sig.format"
    case signatureLength = "sig.length"
    case signatureDER = "sig.der"
    case signatureRange = "sig.range"
    case signatureInvalid = "sig.invalid"
    case signatureBinding = "sig.binding"
    case bodyTooLarge = "sig.body_too_large"

    /// The stable code, for instance `hid.expired`.
    public var code: String { rawValue }

    /// Whether the request is proven wrong, so that `safe_blocking` refuses it.
    ///
    /// False for what is absent, late, early, or cannot be decided here and now: the same request may come from a
    /// genuine device with a slow network, an old client or a gateway that has lost its issuer.
    public var isProven: Bool {
        switch self {
        case .tokenMissing, .expired, .notYet, .issuedInFuture, .beforeStart, .keyIDUnknown, .keysUnavailable,
            .verdictUnknown, .replayFull, .replayStore, .signatureMissing, .signatureProfile, .bodyTooLarge:
            false
        default:
            true
        }
    }
}
