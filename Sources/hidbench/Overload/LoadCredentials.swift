// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP
import HIDService

/// An issuer and a device that exist for one measurement: a key set for a gateway, and a request that it accepts.
enum LoadCredentials {
    /// Seconds that the token lives.
    private static let life: Int64 = 7200

    /// Writes `jwks.json` and `login.http` into a folder.
    static func write(into folder: String) throws(BenchError) {
        do {
            let (issuer, device) = (try P256PrivateKey(), try P256PrivateKey())
            let set = "{\"keys\":[{\(point(issuer)),\"kid\":\"bench\",\"use\":\"sig\",\"alg\":\"ES256\"}]}"
            try FileSystem.replace("\(folder)/jwks.json", with: Array(set.utf8), mode: 0o644)
            try FileSystem.replace("\(folder)/login.http", with: try request(issuer, device), mode: 0o600)
        } catch {
            throw .failure("\(folder.quoted): \(error)")
        }
    }

    private static func request(_ issuer: P256PrivateKey, _ device: P256PrivateKey) throws(CryptoError) -> [UInt8] {
        let body = Array("{\"user\":\"bench\"}".utf8)
        let digest = SHA256.hash(body.span)
        let signature = try device.signDER(digest: digest.span)
        var head = Array("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n".utf8)
        head += "X-HID-Token: ".utf8
        head += try token(issuer, device)
        head += "\r\nX-HID-Signature: ".utf8
        head += Base64.encode(signature.span)
        head += "\r\n\r\n".utf8
        return head + body
    }

    private static func token(_ issuer: P256PrivateKey, _ device: P256PrivateKey) throws(CryptoError) -> [UInt8] {
        let now = WallClock.now() / 1_000_000_000
        let header = Array("{\"alg\":\"ES256\",\"kid\":\"bench\",\"typ\":\"hid+jwt\"}".utf8)
        let claims = Array(
            """
            {"iss":"https://his.bench","aud":"app-1","hid":"d-bench-0123456789abcdef","verdict":"human",\
            "iat":\(now),"exp":\(now + life),"jti":"bench-0123456789abcdef","cnf":{"jwk":{\(point(device))}}}
            """.utf8)
        var token = Base64URL.encode(header.span)
        token.append(UInt8(ascii: "."))
        Base64URL.encode(claims.span, appendingTo: &token)
        let digest = SHA256.hash(token.span)
        let signature = try issuer.sign(digest: digest.span)
        token.append(UInt8(ascii: "."))
        Base64URL.encode(signature.span, appendingTo: &token)
        return token
    }

    private static func point(_ key: P256PrivateKey) -> String {
        let (x, y) = (key.publicKey.x, key.publicKey.y)
        let texts = [Base64URL.encode(x.span), Base64URL.encode(y.span)].map { String(decoding: $0, as: UTF8.self) }
        return "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(texts[0])\",\"y\":\"\(texts[1])\""
    }
}
