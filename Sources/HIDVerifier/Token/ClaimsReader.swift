// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// Reads the claims of a payload whose signature has verified; types and presence only, no policy.
struct ClaimsReader {
    private let json: StrictJSON

    init(_ bytes: consuming [UInt8]) throws(Reason) {
        do {
            json = try StrictJSON(bytes)
        } catch {
            throw error == .duplicateMember ? .claimsDuplicate : .claimsJSON
        }
        guard json.kind(json.root) == .object else { throw .claimsJSON }
    }

    func token(keyID: [UInt8]) throws(Reason) -> VerifiedToken {
        let hid = try identifier("hid", missing: .claimsType)
        let tokenID = try identifier("jti", missing: .claimsMissing)
        let device = deviceKey()
        return VerifiedToken(
            keyID: keyID,
            issuedAt: try time("iat"),
            expiresAt: try time("exp"),
            verdict: verdict(),
            isBlocked: try flag("blocked"),
            isMonitoring: try flag("monitoring"),
            deviceKey: device.point,
            json: json,
            hidRange: hid,
            tokenIDRange: tokenID,
            levelRange: try word("lvl"),
            platformRange: try word("plt"),
            environmentRange: try word("env"),
            scoreRange: try score(),
            notBefore: json.member("nbf", of: json.root) == nil ? nil : try time("nbf"),
            hasFaultyDeviceKey: device.isFaulty)
    }

    /// Seconds since 1970 as an integer that is not negative; RFC 7519 fractions are refused, our issuer has none.
    private func time(_ name: StaticString) throws(Reason) -> Int64 {
        guard let node = json.member(name, of: json.root) else { throw .claimsMissing }
        guard let value = json.integer(node), value >= 0 else { throw .claimsType }
        return value
    }

    /// An identifier of 16 to 64 base64url characters, compared and logged as octets.
    ///
    /// Only the alphabet and length count, not canonical base64: the value is never decoded.
    private func identifier(_ name: StaticString, missing: Reason) throws(Reason) -> Range<Int> {
        guard let node = json.member(name, of: json.root) else { throw missing }
        guard let range = json.text(node), TokenAlphabet.isBase64URL(json.bytes.span.extracting(range), 16...64) else {
            throw .claimsType
        }
        return range
    }

    private func flag(_ name: StaticString) throws(Reason) -> Bool {
        guard let node = json.member(name, of: json.root) else { return false }
        guard let value = json.boolean(node) else { throw .claimsType }
        return value
    }

    /// An optional word; it goes into logs and the upstream's header fields, so its alphabet is narrow.
    private func word(_ name: StaticString) throws(Reason) -> Range<Int>? {
        guard let node = json.member(name, of: json.root) else { return nil }
        guard let range = json.text(node), TokenAlphabet.isName(json.bytes.span.extracting(range), 1...32) else {
            throw .claimsType
        }
        return range
    }

    private func score() throws(Reason) -> Range<Int>? {
        guard let node = json.member("score", of: json.root) else { return nil }
        guard let range = json.numberText(node) else { throw .claimsType }
        return range
    }

    private func verdict() -> Verdict {
        guard let node = json.member("verdict", of: json.root) else { return .unknown }
        if json.isText(node, "human") { return .human }
        if json.isText(node, "suspicious") { return .suspicious }
        if json.isText(node, "bot") { return .bot }
        return json.isText(node, "blocked") ? .blocked : .unknown
    }

    /// The key of `cnf.jwk` (RFC 7800 section 3.2), on the curve and in agreement with `cnf.jkt` if that is there.
    private func deviceKey() -> (point: [UInt8]?, isFaulty: Bool) {
        guard let confirmation = json.member("cnf", of: json.root) else { return (nil, false) }
        guard json.kind(confirmation) == .object, let jwk = json.member("jwk", of: confirmation),
            let point = JWK.point(jwk, in: json), !JWK.isSecret(jwk, in: json),
            JWK.isForVerifying(jwk, in: json), P256Curve.isPoint(point.span)
        else { return (nil, true) }
        guard let thumbprint = json.member("jkt", of: confirmation) else { return (point, false) }
        guard let expected = P256Curve.thumbprint(ofPoint: point.span), json.isText(thumbprint, expected.span) else {
            return (nil, true)
        }
        return (point, false)
    }
}
