// SPDX-License-Identifier: Apache-2.0

package import HIDCrypto

/// A key that signs tokens, and when it does.
package struct SigningKey: Sendable {
    /// RFC 7638 thumbprint.
    package let kid: String
    package let key: P256PrivateKey
    /// Wall clock, seconds since 1970: when it was first published.
    package var published: Int64
    /// From when it signs; nil: it stands by.
    package var activates: Int64?
    /// From when it is no longer published; nil: not yet known.
    package var retires: Int64?

    package init(key: P256PrivateKey, published: Int64, activates: Int64?) {
        kid = String(decoding: key.publicKey.thumbprint, as: UTF8.self)
        self.key = key
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
    package func current(at now: Int64) -> SigningKey? {
        keys.filter { ($0.activates ?? .max) <= now && ($0.retires ?? .max) > now }
            .max { ($0.activates ?? 0) < ($1.activates ?? 0) }
    }

    /// The key that will sign next: one that stands by, or is about to become active.
    package func next(at now: Int64) -> SigningKey? {
        let waiting = keys.filter { ($0.activates ?? .max) > now }
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
    /// Returns when that is; nil when no key stands by.
    package mutating func rotate(overlap: Int64, linger: Int64, at now: Int64) -> Int64? {
        guard let next = next(at: now) else { return nil }
        // After any other key, so that there is never a doubt which one became active last.
        let last = keys.filter { $0.kid != next.kid }.compactMap(\.activates).max() ?? now
        let moment = max(min(next.activates ?? .max, max(now, next.published &+ overlap)), last &+ 1)
        for index in keys.indices {
            if keys[index].kid == next.kid {
                keys[index].activates = moment
            } else if keys[index].retires == nil, keys[index].activates != nil {
                keys[index].retires = moment &+ linger
            }
        }
        return moment
    }

    /// Forgets what has retired; tells the names of those.
    package mutating func sweep(at now: Int64) -> [String] {
        let gone = keys.filter { ($0.retires ?? .max) <= now }.map(\.kid)
        keys.removeAll { gone.contains($0.kid) }
        return gone
    }
}
