// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// Reading single JSON Web Keys (RFC 7517, RFC 7518 section 6.2).
enum JWK {
    /// Why a key of a set is not used.
    enum Fault: String, Error {
        case bad = "jwks.key_bad"
        case unsupported = "jwks.key_unsupported"
    }

    /// The members that only private and symmetric keys have (RFC 7518 sections 6.2.2, 6.3.2, 6.4.1; AKP's priv).
    private static let secretMembers: [StaticString] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]

    /// Whether a key must never have been published.
    static func isSecret(_ key: StrictJSON.Node, in json: StrictJSON) -> Bool {
        if let type = json.member("kty", of: key), json.isText(type, "oct") { return true }
        return secretMembers.contains { json.member($0, of: key) != nil }
    }

    /// The key of a set for ES256, if it is one.
    static func signatureKey(
        _ key: StrictJSON.Node, in json: StrictJSON, precomputing: Bool
    ) -> Result<KeySet.Key, Fault> {
        guard json.kind(key) == .object, let type = json.member("kty", of: key), json.text(type) != nil else {
            return .failure(.bad)
        }
        guard json.isText(type, "EC") else {
            // Another type with a curve it cannot have is a confused key, not a foreign one; OKP has curves.
            let isConfused = json.member("crv", of: key) != nil && !json.isText(type, "OKP")
            return .failure(isConfused ? .bad : .unsupported)
        }
        guard isForVerifying(key, in: json), let kid = keyID(key, in: json),
            let point = point(key, in: json),
            let publicKey = try? P256PublicKey(point: point, precomputing: precomputing)
        else { return .failure(.bad) }
        return .success(KeySet.Key(kid: kid, publicKey: publicKey))
    }

    /// The uncompressed point of a P-256 public key; whether it lies on the curve is not checked here.
    static func point(_ key: StrictJSON.Node, in json: StrictJSON) -> [UInt8]? {
        guard json.kind(key) == .object, let type = json.member("kty", of: key), json.isText(type, "EC"),
            let curve = json.member("crv", of: key), json.isText(curve, "P-256"),
            let x = json.member("x", of: key), let y = json.member("y", of: key)
        else { return nil }
        var point: [UInt8] = []
        point.reserveCapacity(65)
        point.append(0x04)
        guard append(x, in: json, to: &point), append(y, in: json, to: &point) else { return nil }
        return point
    }

    /// A coordinate is exactly 32 octets, so 43 characters (RFC 7518 section 6.2.1.2).
    private static func append(_ node: StrictJSON.Node, in json: StrictJSON, to point: inout [UInt8]) -> Bool {
        guard let range = json.text(node), range.count == 43 else { return false }
        return Base64URL.decode(json.bytes.span.extracting(range), appendingTo: &point) == nil
    }

    private static func keyID(_ key: StrictJSON.Node, in json: StrictJSON) -> [UInt8]? {
        guard let node = json.member("kid", of: key), let kid = json.textBytes(node),
            TokenAlphabet.isName(kid.span, 1...128)
        else { return nil }
        return kid
    }

    /// `use`, `key_ops` and `alg` may be absent; what is there must agree with ES256 verification.
    static func isForVerifying(_ key: StrictJSON.Node, in json: StrictJSON) -> Bool {
        if let use = json.member("use", of: key), !json.isText(use, "sig") { return false }
        if let algorithm = json.member("alg", of: key), !json.isText(algorithm, "ES256") { return false }
        guard let operations = json.member("key_ops", of: key) else { return true }
        return json.elements(of: operations).contains { json.isText($0, "verify") }
    }
}
