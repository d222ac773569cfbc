// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDVerifier

/// Where a simulated device gets its token from.
enum TokenSource {
    /// A key of the issuer is at hand: no server is asked.
    case localIssuer(LocalIssuer)
    /// The device sends none.
    case none

    /// The token for a device, nil for none.
    func token(for device: SoftwareDevice, at now: Int64) throws(CryptoError) -> [UInt8]? {
        switch self {
        case .localIssuer(let issuer): try issuer.token(for: device, at: now)
        case .none: nil
        }
    }
}

/// Makes tokens as the Human Identification Server does, with what it would have found out given by hand.
struct LocalIssuer {
    var key: P256PrivateKey
    var issuer: [UInt8]
    /// The claim `aud`: the app_id.
    var audience: [UInt8]
    var verdict: Verdict
    var level: [UInt8]
    /// Seconds.
    var life: Int64

    /// The JWK Set with the public half, `kid` being its RFC 7638 thumbprint.
    var keySet: [UInt8] {
        let point = Self.point(key.publicKey)
        let jwk = ControlJSON.object(
            point + [("kid", .text(key.publicKey.thumbprint)), ("use", "sig"), ("alg", "ES256")].map(Self.member))
        return Array((["keys": .array([jwk])] as ControlJSON).line.utf8) + [0x0A]
    }

    func token(for device: SoftwareDevice, at now: Int64) throws(CryptoError) -> [UInt8] {
        let header: ControlJSON = ["alg": "ES256", "typ": "hid+jwt", "kid": .text(key.publicKey.thumbprint)]
        let random = try SecureRandom.bytes(16)
        let jwk = ControlJSON.object(Self.point(device.key.publicKey))
        let claims: ControlJSON = [
            "iss": .text(issuer), "aud": .text(audience), "iat": .integer(now), "exp": .integer(now + life),
            "jti": .text(Base64URL.encode(random.span)), "hid": .text(device.hid(for: audience)),
            "verdict": ControlJSON(verdict.rawValue), "blocked": .bool(verdict == .blocked),
            "plt": "test", "lvl": .text(level), "env": "test", "cnf": ["jwk": jwk],
        ]
        return try sign(Array(header.line.utf8), Array(claims.line.utf8))
    }

    private func sign(_ header: [UInt8], _ claims: [UInt8]) throws(CryptoError) -> [UInt8] {
        var token = Base64URL.encode(header.span)
        token.append(Octet.dot)
        Base64URL.encode(claims.span, appendingTo: &token)
        let digest = SHA256.hash(token.span)
        let signature = try key.sign(digest: digest.span)
        token.append(Octet.dot)
        Base64URL.encode(signature.span, appendingTo: &token)
        return token
    }

    private static func point(_ key: P256PublicKey) -> [(name: [UInt8], value: ControlJSON)] {
        let (x, y) = (key.x, key.y)
        return [
            ("kty", "EC"), ("crv", "P-256"), ("x", .text(Base64URL.encode(x.span))),
            ("y", .text(Base64URL.encode(y.span))),
        ].map(member)
    }

    private static func member(_ name: String, _ value: ControlJSON) -> (name: [UInt8], value: ControlJSON) {
        (Array(name.utf8), value)
    }
}
