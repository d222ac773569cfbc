// SPDX-License-Identifier: Apache-2.0

package import HIDCrypto
internal import HIDService

/// What a token says.
package struct TokenClaims: Sendable, Equatable {
    package var appID: String
    package var hid: String
    /// Whether the verdict is `blocked` instead of `human`; the reason is not told.
    package var isBlocked: Bool
    package var platform: String
    package var level: String
    package var environment: String
    /// Uncompressed point, 65 octets.
    package var deviceKey: [UInt8]

    package init(
        appID: String, hid: String, isBlocked: Bool, platform: String, level: String, environment: String,
        deviceKey: [UInt8]
    ) {
        self.appID = appID
        self.hid = hid
        self.isBlocked = isBlocked
        self.platform = platform
        self.level = level
        self.environment = environment
        self.deviceKey = deviceKey
    }
}

/// Signs tokens (PROTOCOL.md section 3).
///
/// Safe from any thread.
package struct TokenIssuer: Sendable {
    package let issuer: String
    /// Seconds.
    package let life: Int64
    private let keys: SigningKeys

    package init(issuer: String, life: Int64, keys: SigningKeys) {
        self.issuer = issuer
        self.life = life
        self.keys = keys
    }

    /// The compact form; `now` is the wall clock in seconds.
    package func sign(_ claims: TokenClaims, now: Int64) throws(CryptoError) -> [UInt8] {
        guard let key = keys.current(at: now) else {
            throw .operationFailed("sign token", openSSL: "no signing key is active")
        }
        var text: [UInt8] = []
        text.reserveCapacity(768)
        text += key.tokenHeader
        let payload = try payload(claims, now: now)
        // Without the line break at its end.
        Base64URL.encode(payload.span.extracting(droppingLast: 1), appendingTo: &text)
        let digest = SHA256.hash(text.span)
        let signature = try key.key.sign(digest: digest.span)
        text.append(UInt8(ascii: "."))
        Base64URL.encode(signature.span, appendingTo: &text)
        return text
    }

    private func payload(_ claims: TokenClaims, now: Int64) throws(CryptoError) -> [UInt8] {
        let random = try SecureRandom.bytes(16)
        let point = claims.deviceKey
        guard point.count == 65 else { throw .malformedKey(openSSL: "the device key is no uncompressed point") }
        var line = JSONLineWriter()
        line.begin()
        line.string("iss", issuer)
        line.string("aud", claims.appID)
        line.integer("iat", now)
        line.integer("exp", now &+ life)
        line.string("jti", Base64URL.encode(random.span))
        line.string("hid", claims.hid)
        line.constant("verdict", claims.isBlocked ? "blocked" : "human")
        line.bool("blocked", claims.isBlocked)
        line.string("plt", claims.platform)
        line.string("lvl", claims.level)
        line.string("env", claims.environment)
        line.beginObject("cnf")
        line.beginObject("jwk")
        line.constant("kty", "EC")
        line.constant("crv", "P-256")
        line.string("x", Base64URL.encode(point.span.extracting(1..<33)))
        line.string("y", Base64URL.encode(point.span.extracting(33..<65)))
        line.endObject()
        line.endObject()
        line.end()
        return line.bytes
    }
}

/// The identifier of a device key for one app.
package enum DeviceIdentifier {
    /// 32 base64url characters: half of a digest over app_id and key, so that the same key keeps its name, different
    /// apps see different ones, and nobody needs to remember.
    package static func hid(appID: String, publicKey point: [UInt8]) -> String {
        var input = Array("hid-device-v1\n\(appID)\n".utf8)
        input += point
        let digest = Array(SHA256.digest(input.span).prefix(24))
        return String(decoding: Base64URL.encode(digest.span), as: UTF8.self)
    }
}
