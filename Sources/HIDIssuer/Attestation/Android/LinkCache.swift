// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto
internal import Synchronization

/// Links that verified once, by SHA-256 of the child and of the key of its parent.
///
/// Only a signature is remembered: dates, constraints and revocation are judged anew each time. Bounded by two
/// generations, of which the older is dropped when the younger is full.
package final class LinkCache: Sendable {
    private struct Generations: Sendable {
        var young: Set<[UInt8]> = []
        var old: Set<[UInt8]> = []
    }

    private let capacity: Int
    private let generations = Mutex(Generations())

    /// Keeps between `capacity` and twice as many links of 64 octets; with 0 none.
    package init(capacity: Int) {
        self.capacity = max(capacity, 0)
    }

    /// How many links are remembered.
    package var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    /// The name of a link.
    package static func key(child: Certificate, parent fingerprint: [UInt8]) -> [UInt8] {
        SHA256.digest(child.der.span) + fingerprint
    }

    /// Whether the link is known to verify.
    package func contains(_ key: [UInt8]) -> Bool {
        generations.withLock { sets in
            if sets.young.contains(key) { return true }
            guard sets.old.remove(key) != nil else { return false }
            insert(key, into: &sets)
            return true
        }
    }

    /// Remembers a link that verified below a trusted anchor.
    package func insert(_ key: [UInt8]) {
        generations.withLock { sets in insert(key, into: &sets) }
    }

    private func insert(_ key: [UInt8], into sets: inout Generations) {
        guard capacity > 0 else { return }
        if sets.young.count >= capacity {
            sets.old = sets.young
            sets.young = []
        }
        sets.young.insert(key)
    }
}
