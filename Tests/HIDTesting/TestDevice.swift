// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// A phone in a value: a device key and the two signature profiles.
package struct TestDevice: Sendable {
    /// The device key.
    package let key: P256PrivateKey
    /// The identifier that an issuer gave it.
    package let hid: String

    /// Makes a device with a new key.
    package init(hid: String = "d-0123456789abcdef") throws {
        key = try P256PrivateKey()
        self.hid = hid
    }

    /// The public key as in `cnf.jwk`.
    package var jwk: TestClaims {
        TestClaims([
            ("kty", "\"EC\""), ("crv", "\"P-256\""),
            ("x", "\"\(Self.base64URL(key.publicKey.x))\""), ("y", "\"\(Self.base64URL(key.publicKey.y))\""),
        ])
    }

    /// The signature over a body: 64 octets r then s.
    package func sign(_ body: [UInt8]) throws -> [UInt8] {
        let digest = SHA256.digest(body)
        return try key.sign(digest: digest)
    }

    /// v1 as Keystore and SecKey make it: DER in standard base64.
    package func signDER(_ body: [UInt8]) throws -> String {
        let digest = SHA256.digest(body)
        return Self.base64(try key.signDER(digest: digest))
    }

    /// v2: bound to method, authority, target, token and body.
    ///
    /// The base is put together here from PROTOCOL.md section 4 and not with the verifier's own code.
    package func signBound(
        method: String, authority: String, target: String, token: [UInt8], body: [UInt8]
    ) throws -> String {
        let lines = [
            "hid-request-v2", method, authority, target, Self.base64URL(SHA256.digest(token)),
            Self.base64URL(SHA256.digest(body)),
        ]
        return "v2." + Self.base64URL(try sign(Array(lines.joined(separator: "\n").utf8)))
    }

    /// Standard base64 with padding.
    package static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes), as: UTF8.self)
    }

    /// base64url without padding.
    package static func base64URL(_ bytes: [UInt8]) -> String {
        String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }
}
