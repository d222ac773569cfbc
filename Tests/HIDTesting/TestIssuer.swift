// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// A Human Identification Server in a value: a key, its JWK Set, and tokens of any shape.
package struct TestIssuer: Sendable {
    /// The time at which base tokens are issued.
    package static let now: Int64 = 1_800_000_000

    /// The signing key.
    package let key: P256PrivateKey
    /// The name of the key.
    package let kid: String
    /// The value of `iss`.
    package let issuer: String

    /// Makes an issuer with a new key.
    package init(kid: String = "k1", issuer: String = "https://his.test") throws {
        self.init(key: try P256PrivateKey(), kid: kid, issuer: issuer)
    }

    /// Makes an issuer with a given key.
    package init(key: P256PrivateKey, kid: String = "k1", issuer: String = "https://his.test") {
        self.key = key
        self.kid = kid
        self.issuer = issuer
    }

    /// The public key as a member of a JWK Set.
    package var jwk: TestClaims {
        TestClaims([
            ("kty", "\"EC\""), ("crv", "\"P-256\""), ("x", quoted(key.publicKey.x)), ("y", quoted(key.publicKey.y)),
            ("kid", "\"\(kid)\""), ("use", "\"sig\""), ("alg", "\"ES256\""),
        ])
    }

    /// The JWK Set with this key alone.
    package var jwks: [UInt8] { Self.jwks([jwk.json]) }

    /// A JWK Set of raw JSON keys.
    package static func jwks(_ keys: [String]) -> [UInt8] {
        Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)
    }

    /// The header of base token B.
    package var header: TestClaims {
        TestClaims([("alg", "\"ES256\""), ("kid", "\"\(kid)\""), ("typ", "\"hid+jwt\"")])
    }

    /// The claims of base token B of data/tokens/cases.md, with a fresh jti.
    package func claims(for device: TestDevice, at now: Int64 = TestIssuer.now) -> TestClaims {
        TestClaims([
            ("iss", "\"\(issuer)\""), ("aud", "\"app-1\""), ("hid", "\"\(device.hid)\""), ("verdict", "\"human\""),
            ("iat", "\(now)"), ("exp", "\(now + 30)"), ("jti", quoted((try? SecureRandom.bytes(16)) ?? [])),
            ("cnf", "{\"jwk\":\(device.jwk.json)}"),
        ])
    }

    /// A token of these claims and the base header.
    package func mint(_ claims: TestClaims) throws -> [UInt8] {
        try mint(header: header.json, payload: claims.json)
    }

    /// A token of raw JSON texts, properly signed.
    package func mint(header: String, payload: String) throws -> [UInt8] {
        try mint(header: Array(header.utf8), payload: Array(payload.utf8))
    }

    /// A token of raw octets; `signature` sees the right signature and returns the one to use.
    package func mint(
        header: [UInt8], payload: [UInt8], signature: ([UInt8]) throws -> [UInt8] = { $0 }
    ) throws -> [UInt8] {
        var token = Base64URL.encode(header)
        token.append(UInt8(ascii: "."))
        Base64URL.encode(payload.span, appendingTo: &token)
        let digest = SHA256.digest(token)
        let octets = try signature(key.sign(digest: digest))
        token.append(UInt8(ascii: "."))
        Base64URL.encode(octets.span, appendingTo: &token)
        return token
    }

    private func quoted(_ bytes: [UInt8]) -> String {
        "\"" + String(decoding: Base64URL.encode(bytes), as: UTF8.self) + "\""
    }
}
