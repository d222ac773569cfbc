// SPDX-License-Identifier: Apache-2.0

package import HIDCrypto

/// A key that signs tokens, and when it does.
package struct SigningKey: Sendable {
    /// RFC 7638 thumbprint.
    package let kid: String
    package let key: P256PrivateKey
    /// The first part of its tokens, with the dot behind it.
    package let tokenHeader: [UInt8]
    /// Wall clock, seconds since 1970: when it was first published.
    package var published: Int64
    /// From when it signs; nil: it stands by.
    package var activates: Int64?
    /// From when it is no longer published; nil: not yet known.
    package var retires: Int64?

    package init(key: P256PrivateKey, published: Int64, activates: Int64?) {
        kid = String(decoding: key.publicKey.thumbprint, as: UTF8.self)
        self.key = key
        var header = Base64URL.encode("{\"alg\":\"ES256\",\"typ\":\"hid+jwt\",\"kid\":\"\(kid)\"}".utf8.span)
        header.append(UInt8(ascii: "."))
        tokenHeader = header
        self.published = published
        self.activates = activates
    }
}

/// All keys of an issuer at one moment: a value, judged by a clock that is passed in.
package struct SigningKeyRing: Sendable {
    package var keys: [SigningKey]

    package init(keys: [SigningKey] = []) {
        self.keys = keys
    }

    /// The key that signs: of those that are active the one that became so last.
    ///
    /// A clock that was set back may leave none active; then the one whose turn came first signs on.
    package func current(at now: Int64) -> SigningKey? {
        let usable = keys.filter { $0.activates != nil && ($0.retires ?? .max) > now }
        // Of two that became active in one second the one that stays.
        return usable.filter { ($0.activates ?? .max) <= now }
            .max { ($0.activates ?? 0, $0.retires ?? .max) < ($1.activates ?? 0, $1.retires ?? .max) }
            ?? usable.min { ($0.activates ?? 0) < ($1.activates ?? 0) }
    }

    /// A key that is published and whose turn is not set.
    package var standby: SigningKey? {
        keys.filter { $0.activates == nil }.min { $0.published < $1.published }
    }

    /// The key that will sign next: one that stands by, or is about to become active.
    package func next(at now: Int64) -> SigningKey? {
        let current = current(at: now)?.kid
        let waiting = keys.filter { ($0.activates ?? .max) > now && $0.kid != current }
        return waiting.min { ($0.activates ?? .max, $0.published) < ($1.activates ?? .max, $1.published) }
    }

    /// What the key set holds now, the signing key first.
    package func published(at now: Int64) -> [SigningKey] {
        let current = current(at: now)?.kid
        return keys.filter { ($0.retires ?? .max) > now }
            .sorted { ($0.kid == current ? 0 : 1, $0.published) < ($1.kid == current ? 0 : 1, $1.published) }
    }

    /// Makes the next key sign as soon as it has been published for `overlap`, and has the present one retire `linger`
    /// later, when the last token it signed has expired everywhere.
    ///
    /// Returns when that is; nil when no key stands by. A rotation that is under way is hastened at most.
    package mutating func rotate(overlap: Int64, linger: Int64, at now: Int64) -> Int64? {
        guard let next = next(at: now) else { return nil }
        let moment = min(next.activates ?? .max, max(now, next.published &+ overlap))
        for index in keys.indices {
            if keys[index].kid == next.kid {
                keys[index].activates = moment
            } else if keys[index].retires == nil, keys[index].activates != nil {
                keys[index].retires = moment &+ linger
            }
        }
        return moment
    }

    /// Has the key that stands by longest sign at once; false when there is none.
    mutating func promote(at now: Int64) -> Bool {
        guard let kid = standby?.kid, let index = keys.firstIndex(where: { $0.kid == kid }) else { return false }
        keys[index].activates = now
        return true
    }

    /// Forgets what has retired; tells the names of those.
    package mutating func sweep(at now: Int64) -> [String] {
        let gone = keys.filter { ($0.retires ?? .max) <= now }.map(\.kid)
        keys.removeAll { gone.contains($0.kid) }
        return gone
    }
}
