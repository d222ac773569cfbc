// SPDX-License-Identifier: Apache-2.0

extension Reason {
    /// One sentence that tells an operator what happened and what to do.
    public var explanation: String {
        carriageExplanation ?? headerExplanation ?? claimsExplanation ?? stateExplanation ?? signatureExplanation
    }

    private var carriageExplanation: String? {
        switch self {
        case .tokenMissing:
            "The request carries no X-HID-Token; let the client call getToken() before this route."
        case .tokenMultiple:
            "The request carries X-HID-Token more than once; look for a proxy or client that adds the header twice."
        case .tokenTooLong:
            "The token is longer than 4,096 octets, which the issuer never writes; treat the sender as hostile."
        case .tokenCharset:
            "The token holds an octet outside base64url and dots; look for padding, quotes or a Bearer prefix."
        case .tokenParts:
            "The token is not three parts joined by dots with a header in front; it is no compact JWS."
        case .base64:
            "A part of the token has a length that base64url never has; it was cut or put together by hand."
        case .base64Noncanonical:
            "The last character of a token part has bits set that must be zero; the token was altered on its way."
        default: nil
        }
    }

    private var headerExplanation: String? {
        switch self {
        case .headerJSON: "The token's header is not a strict JSON object; it was not made by the issuer."
        case .headerDuplicate: "The token's header names a member twice; it was made to be read in two ways."
        case .headerType: "A member of the token's header has the wrong JSON type; it was not made by the issuer."
        case .headerMember: "The token's header asks for compression, encryption or nesting, which is never allowed."
        case .headerKeyMaterial:
            "The token's header brings or points to its own key, which is never used; treat the sender as hostile."
        case .critical: "The token's header has crit or b64, and no extension is understood here; refuse the client."
        case .algorithmMissing: "The token's header names no algorithm; it was not made by the issuer."
        case .algorithmNone: "The token claims to be unsigned (alg none); treat the sender as hostile."
        case .algorithmNotAllowed: "The token's algorithm is not ES256; only ES256 is accepted, whatever the key."
        case .tokenType: "The token's typ is not hid+jwt; a token of another kind was sent in its place."
        case .keyIDMissing: "The token's header names no key (kid); it was not made by the issuer."
        case .keyIDBad: "The token's kid is not 1 to 128 letters, digits or . _ ~ -; treat the sender as hostile."
        case .keyIDUnknown:
            "No cached key set has the token's kid; check that the issuer publishes a key before it signs with it."
        case .keysUnavailable:
            "The keys of an issuer could not be loaded, so the token cannot be judged; check the JWKS address."
        case .tokenSignatureLength: "The token's signature is not 64 octets; it was cut, or DER was used in a JWS."
        case .tokenSignatureRange: "The token's signature has r or s out of range; it is a forgery attempt."
        case .tokenSignatureInvalid: "The token's signature does not verify with its key; it is forged or altered."
        default: nil
        }
    }

    private var claimsExplanation: String? {
        switch self {
        case .claimsJSON: "The token's claims are not a strict JSON object; check the issuer's version."
        case .claimsDuplicate: "The token's claims name a member twice; check the issuer's version."
        case .claimsType: "A claim has the wrong type, length or alphabet; check the issuer's version."
        case .claimsMissing: "A required claim (iat, exp or jti) is missing; check the issuer's version."
        case .issuer: "The token's iss is not the issuer whose key signed it; check the configured issuer name."
        case .audience: "The token is for another application; check the configured audience against the app_id."
        case .issuedInFuture: "The token's iat lies in the future; check the clocks of gateway and issuer."
        case .lifetime: "The token lives longer than allowed or ends before it begins; check the issuer's lifetime."
        case .expired: "The token has expired; the client must fetch a fresh one, or its network is slow."
        case .notYet: "The token's nbf lies in the future; check the clocks of gateway and issuer."
        case .deviceKey: "The token's cnf holds no valid P-256 public key of the device; check the issuer's version."
        case .verdictBlock: "The issuer judged the device as blocked, bot or suspicious; look the device up there."
        case .verdictUnknown: "The token's verdict is missing or a word this version does not know; update it."
        default: nil
        }
    }

    private var stateExplanation: String? {
        switch self {
        case .beforeStart:
            "The token was issued before the gateway's unclean start, so a replay cannot be ruled out; fetch a new one."
        case .denied: "The device is on the operator's denylist; remove its entry to let it in again."
        case .replay: "The token was used before; every request needs a token of its own."
        case .replayFull: "The replay table is full and nothing live is evicted; raise its size."
        case .replayStore: "The replay store did not answer, so a replay cannot be ruled out; check the store."
        default: nil
        }
    }

    private var signatureExplanation: String {
        switch self {
        case .signatureMissing: "The route wants X-HID-Signature and there is none; update the client."
        case .signatureMultiple: "The request carries X-HID-Signature more than once; look for a doubling proxy."
        case .signatureTooLong: "X-HID-Signature is longer than 160 characters; no profile makes such a value."
        case .signatureProfile: "The signature's profile is not accepted on this route; update client or route."
        case .signatureBase64: "X-HID-Signature is neither padded base64 nor bare base64url; check the client."
        case .signatureFormat: "X-HID-Signature decodes to something that is no signature; check the client's encoding."
        case .signatureLength: "The decoded signature is not 64 octets; check that the client does not cut zeros."
        case .signatureDER: "The decoded signature is not strict DER; check the client's encoding."
        case .signatureRange: "The signature has r or s out of range; it is a forgery attempt."
        case .signatureInvalid: "The device's key did not sign these body octets; body, key or signature was exchanged."
        case .signatureBinding: "The signature is not for this token, method, host, target and body; it was re-aimed."
        case .bodyTooLarge: "The body is over the limit of a signed route, so it was not read; raise signed_body."
        default: rawValue
        }
    }
}
