// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
package import HIDService
internal import Synchronization

/// Admits so many events in so long for each key: a bucket that holds `count` and fills evenly.
///
/// Safe from any thread. Bounded: with `capacity` keys under way a new key is admitted uncounted, because the limit of
/// the client's address stands before it and a full table must not lock everybody out.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private struct Table {
        /// By key, when its bucket is full again (the theoretical arrival time of a generic cell rate algorithm).
        var full: [Key: UInt64] = [:]
        var swept: UInt64 = 0
    }

    /// Nanoseconds that one event costs.
    private let cost: UInt64
    /// Nanoseconds of a whole bucket.
    private let burst: UInt64
    private let capacity: Int
    private let table = Mutex(Table())

    package init(rate: Rate, capacity: Int = 100_000) {
        cost = max(1, rate.per.nanoseconds / UInt64(max(1, rate.count)))
        burst = cost &* UInt64(max(1, rate.count))
        self.capacity = capacity
    }

    /// Counts an event at a monotonic moment; nanoseconds to wait when it is one too many, else nil.
    package func excess(_ key: Key, now: UInt64) -> UInt64? {
        table.withLock { table in
            let full = max(table.full[key] ?? now, now)
            let next = full &+ cost
            guard next &- now <= burst else { return next &- now &- burst }
            if table.full[key] == nil, table.full.count >= capacity {
                sweep(&table, now: now)
                guard table.full.count < capacity else { return nil }
            }
            table.full[key] = next
            return nil
        }
    }

    /// Keys remembered now.
    package var count: Int { table.withLock { $0.full.count } }

    /// Forgets keys whose bucket is full; at most once in a tenth of a second.
    private func sweep(_ table: inout Table, now: UInt64) {
        guard now &- table.swept > 100_000_000 else { return }
        table.swept = now
        table.full = table.full.filter { $0.value > now }
    }
}

/// Who asks, as the limit of one device counts it.
struct DeviceKey: Hashable, Sendable {
    var appID: String
    var deviceID: String

    init(_ client: ClientIdentity) {
        appID = client.appID
        deviceID = client.deviceID
    }
}

/// The limits that stand before any cryptography.
final class IssuerLimits: Sendable {
    private let clients: RateLimiter<PeerAddress>
    private let challenges: RateLimiter<DeviceKey>
    private let verifications: RateLimiter<DeviceKey>
    private let attestations: RateLimiter<DeviceKey>

    init(_ configuration: RateLimitConfiguration) {
        clients = RateLimiter(rate: configuration.perClient)
        challenges = RateLimiter(rate: configuration.perDevice)
        verifications = RateLimiter(rate: configuration.perDevice)
        attestations = RateLimiter(rate: configuration.attestations)
    }

    /// What a limit counts.
    enum Scope: String, CaseIterable {
        case client
        case device
        case attestation
    }

    /// A peer on a unix socket is a proxy with all its clients, and is not counted.
    func client(_ address: PeerAddress, now: UInt64) -> IssuerFailure? {
        guard !address.isLocal else { return nil }
        return failure(.client, clients.excess(address.network, now: now))
    }

    func challenge(_ client: ClientIdentity, now: UInt64) -> IssuerFailure? {
        failure(.device, challenges.excess(DeviceKey(client), now: now))
    }

    func verification(_ client: ClientIdentity, now: UInt64) -> IssuerFailure? {
        failure(.device, verifications.excess(DeviceKey(client), now: now))
    }

    func attestation(_ client: ClientIdentity, now: UInt64) -> IssuerFailure? {
        failure(.attestation, attestations.excess(DeviceKey(client), now: now))
    }

    private func failure(_ scope: Scope, _ wait: UInt64?) -> IssuerFailure? {
        wait.map { wait in
            IssuerFailure(.rateLimited, detail: scope.rawValue, retryAfter: Int(wait / 1_000_000_000) + 1)
        }
    }
}

extension PeerAddress {
    /// What one client can change at will is left out: the lower half of an IPv6 address.
    var network: PeerAddress { isIPv4 || isLocal ? self : PeerAddress(high: high, low: 0, isLocal: false) }
}
