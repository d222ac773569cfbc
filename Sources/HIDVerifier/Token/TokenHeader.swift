// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The JOSE header of a token, checked: ES256, hid+jwt, a kid, and nothing that asks for more.
struct TokenHeader {
    private let json: StrictJSON
    private let kid: Range<Int>

    private static let keyMaterial: [StaticString] = ["jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256"]
    private static let forbidden: [StaticString] = ["zip", "cty", "enc"]

    /// Checks a header; only tests of the JWS layer let any `typ` pass.
    init(_ bytes: consuming [UInt8], acceptsAnyType: Bool = false) throws(Reason) {
        do {
            json = try StrictJSON(bytes)
        } catch {
            throw error == .duplicateMember ? .headerDuplicate : .headerJSON
        }
        guard json.kind(json.root) == .object else { throw .headerJSON }
        try Self.checkAlgorithm(json)
        try Self.checkMembers(json)
        if !acceptsAnyType { try Self.checkType(json) }
        kid = try Self.keyID(json)
    }

    /// Runs `body` on the octets of the kid.
    func withKeyID<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(json.bytes.span.extracting(kid))
    }

    /// The algorithm is pinned (RFC 8725 section 3.1): the key never decides, and the header only agrees.
    private static func checkAlgorithm(_ json: StrictJSON) throws(Reason) {
        guard let node = json.member("alg", of: json.root) else { throw .algorithmMissing }
        if json.isText(node, "ES256") { return }
        guard let range = json.text(node), TokenAlphabet.isFolded(json.bytes.span.extracting(range), "none") else {
            throw .algorithmNotAllowed
        }
        throw .algorithmNone
    }

    /// No extension is understood, so `crit` and `b64` are always refused (RFC 7515 4.1.11, RFC 7797 section 6).
    private static func checkMembers(_ json: StrictJSON) throws(Reason) {
        let root = json.root
        guard json.member("crit", of: root) == nil, json.member("b64", of: root) == nil else { throw .critical }
        for name in keyMaterial where json.member(name, of: root) != nil { throw .headerKeyMaterial }
        for name in forbidden where json.member(name, of: root) != nil { throw .headerMember }
    }

    /// RFC 7515 section 4.1.9: letter case does not count, and `application/` may be left out.
    private static func checkType(_ json: StrictJSON) throws(Reason) {
        guard let node = json.member("typ", of: json.root) else { throw .tokenType }
        guard let range = json.text(node) else { throw .headerType }
        let text = json.bytes.span.extracting(range)
        guard TokenAlphabet.isFolded(text, "hid+jwt") || TokenAlphabet.isFolded(text, "application/hid+jwt") else {
            throw .tokenType
        }
    }

    private static func keyID(_ json: StrictJSON) throws(Reason) -> Range<Int> {
        guard let node = json.member("kid", of: json.root) else { throw .keyIDMissing }
        guard let range = json.text(node) else { throw .headerType }
        guard TokenAlphabet.isName(json.bytes.span.extracting(range), 1...128) else { throw .keyIDBad }
        return range
    }
}
