// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// Why a whole key set was refused; the set that was in use stays.
public enum KeySetFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Over 64 KiB.
    case tooLarge
    /// Not a strict JSON object with an array `keys`.
    case json
    /// More than 32 keys.
    case tooMany
    /// A private or symmetric key among them: the issuer has leaked it.
    case privateKey
    /// Two keys with one kid.
    case duplicateKeyID
    /// No key, or none that can be used; `skipped` says why.
    case empty(skipped: [KeySet.SkippedKey])

    /// The stable code, for instance `jwks.json`.
    public var code: String {
        switch self {
        case .tooLarge: "jwks.too_large"
        case .json: "jwks.json"
        case .tooMany: "jwks.too_many"
        case .privateKey: "jwks.private"
        case .duplicateKeyID: "jwks.dup_kid"
        case .empty: "jwks.empty"
        }
    }

    /// What is wrong with the set, for a log.
    public var description: String {
        switch self {
        case .tooLarge: "\(code): the key set is over \(KeySet.maximumSize) octets"
        case .json: "\(code): the key set is no strict JSON object with an array of keys"
        case .tooMany: "\(code): the key set has over \(KeySet.maximumKeys) keys"
        case .privateKey: "\(code): the key set holds a private or symmetric key"
        case .duplicateKeyID: "\(code): two keys of the set have the same kid"
        case .empty(let skipped): "\(code): the key set has no usable key (\(skipped.count) skipped)"
        }
    }
}

/// The public keys of one issuer, read from an RFC 7517 JWK Set; immutable and shared by all threads.
///
/// A key is used only if it is EC, P-256, on the curve, has a kid, and nothing in it speaks against ES256 signatures.
public final class KeySet: Sendable {
    /// A key of the set that is not used.
    public struct SkippedKey: Sendable, Equatable {
        /// Its kid, or nil when it has none that is a string.
        public let kid: String?
        /// `jwks.key_bad` for a faulty key, `jwks.key_unsupported` for an honest key of another type.
        public let code: String
    }

    /// The most octets a set may have.
    public static let maximumSize = 65_536
    /// The most keys a set may have.
    public static let maximumKeys = 32

    /// The keys that were left out, in document order.
    public let skipped: [SkippedKey]

    let keys: [Key]

    /// A usable key.
    struct Key: Sendable {
        let kid: [UInt8]
        let publicKey: P256PublicKey
    }

    /// Reads a set.
    ///
    /// Bad keys beside good ones are skipped (RFC 7517 section 5); a set that leaks a private key, repeats a kid
    /// or has no usable key is refused as a whole.
    ///
    /// - Parameters:
    ///   - jwks: The JSON text.
    ///   - precomputing: Whether to build a table for each key, which halves the cost of a token but takes 30 ms and
    ///     150 KiB a key here: for a daemon that loads keys beside its data path.
    /// - Throws: The first fault found.
    public init(jwks: [UInt8], precomputing: Bool = false) throws(KeySetFault) {
        guard jwks.count <= Self.maximumSize else { throw .tooLarge }
        guard let json = try? StrictJSON(jwks), json.kind(json.root) == .object,
            let list = json.member("keys", of: json.root), json.kind(list) == .array
        else { throw .json }
        let nodes = json.elements(of: list)
        guard nodes.count <= Self.maximumKeys else { throw .tooMany }
        guard !nodes.contains(where: { JWK.isSecret($0, in: json) }) else { throw .privateKey }
        let kids = nodes.compactMap { json.member("kid", of: $0).flatMap { json.textBytes($0) } }
        guard Set(kids).count == kids.count else { throw .duplicateKeyID }
        var keys: [Key] = []
        var skipped: [SkippedKey] = []
        for node in nodes {
            switch JWK.signatureKey(node, in: json, precomputing: precomputing) {
            case .success(let key): keys.append(key)
            case .failure(let fault):
                let kid = json.member("kid", of: node).flatMap { json.textBytes($0) }
                skipped.append(.init(kid: kid.map { String(decoding: $0, as: UTF8.self) }, code: fault.rawValue))
            }
        }
        guard !keys.isEmpty else { throw .empty(skipped: skipped) }
        self.keys = keys
        self.skipped = skipped
    }

    /// The number of usable keys.
    public var count: Int { keys.count }

    /// The number of keys whose table was built and agreed with plain verification.
    ///
    /// Less than `count` in a set made with `precomputing` is worth an alarm; such keys verify without a table.
    public var precomputedCount: Int { keys.count { $0.publicKey.isPrecomputed } }

    /// The kids of the usable keys.
    public var keyIDs: [String] { keys.map { String(decoding: $0.kid, as: UTF8.self) } }

    /// Whether the set has a usable key of this kid.
    public func contains(kid: Span<UInt8>) -> Bool { key(kid: kid) != nil }

    /// The key of a kid, without making a String.
    func key(kid: Span<UInt8>) -> Key? {
        for key in keys where Octets.equal(key.kid.span, kid) { return key }
        return nil
    }
}
