// SPDX-License-Identifier: Apache-2.0

package import Synchronization

/// How the requests to one upstream are spread, queued and repeated.
package struct UpstreamPolicy: Sendable, Hashable {
    /// Connections of all loops to all servers.
    package var maximumConnections = 512
    /// Requests of all loops that may wait for a connection; 0: none.
    package var queueSize = 128
    package var queueTimeout: Duration = .seconds(1)
    /// Share of requests that may be sent a second time.
    package var retryPercent = 10
    /// Retries that are allowed whatever the share is.
    package var retriesPerSecond = 3
    /// nil: failures eject nobody.
    package var ejection: EjectionPolicy? = EjectionPolicy()
    /// nil: servers are not checked.
    package var health: HealthPolicy?
    /// Whether each connection begins with the PROXY header of its client, and serves no other.
    package var sendsProxyHeader = false

    package init() {}
}

/// What an operator wants to know of an upstream.
package enum UpstreamEvent: Sendable, Equatable {
    case down(server: String, cause: String)
    case up(server: String)
    case ejected(server: String, seconds: Int)
    /// No server is fit: all get requests again.
    case panic
    case panicOver
    /// The last good addresses are kept.
    case stale(name: String, cause: String)
    /// There never was a good answer.
    case unresolved(name: String, cause: String)
    case recovered(name: String)
    case addresses(name: String, [String])
}

/// One upstream as all loops share it.
///
/// Any thread.
package final class UpstreamCluster: Sendable {
    package let name: String
    package let policy: UpstreamPolicy
    package let servers: [UpstreamServer]
    /// Called on whatever thread notices; must not block.
    let report: @Sendable (UpstreamEvent) -> Void

    /// Counts changes of addresses, so that a loop sees with one load whether what it knows still holds.
    let version = Atomic<Int>(0)
    /// Requests that wait, of all loops.
    package let waiting = Atomic<Int>(0)
    package let isPanicking = Atomic<Bool>(false)
    package let panics = Atomic<Int>(0)
    private let doors = Mutex<[PoolDoor]>([])
    private let ejecting = Mutex(())
    private let count: ConnectionCount

    /// Connections of all loops; an upstream keeps it across reloads.
    final class ConnectionCount: Sendable {
        let open = Atomic<Int>(0)
    }

    /// Makes an upstream; `older`: the one of the same name that it replaces.
    package init(
        name: String, policy: UpstreamPolicy, servers: [UpstreamServer], replacing older: UpstreamCluster? = nil,
        report: @escaping @Sendable (UpstreamEvent) -> Void = { _ in }
    ) {
        self.name = name
        self.policy = policy
        self.servers = servers
        self.report = report
        count = older?.count ?? ConnectionCount()
    }

    /// Makes an upstream of one server whose name libcurl resolves.
    package convenience init(_ target: UpstreamTarget, policy: UpstreamPolicy = UpstreamPolicy()) {
        let server = UpstreamServer(
            addresses: UpstreamAddresses(target, isResolved: false), label: target.label(nil))
        self.init(name: server.label, policy: policy, servers: [server])
    }

    /// Connections open now.
    package var open: Int { count.open.load(ordering: .relaxed) }

    // MARK: - Room

    var hasRoom: Bool { count.open.load(ordering: .sequentiallyConsistent) < policy.maximumConnections }

    /// Counts one more connection; false when that is one too many.
    func reserve(_ server: UpstreamServer) -> Bool {
        let all = count.open.add(1, ordering: .relaxed).newValue
        let its = server.addresses.open.add(1, ordering: .relaxed).newValue
        if all <= policy.maximumConnections, its <= server.maximumConnections { return true }
        release(server)
        return false
    }

    func release(_ server: UpstreamServer) {
        count.open.subtract(1, ordering: .sequentiallyConsistent)
        server.addresses.open.subtract(1, ordering: .sequentiallyConsistent)
    }

    // MARK: - Fitness

    /// Counts a failure, and ejects the address when that was one too many and enough others are left.
    func noteFailure(_ endpoint: UpstreamEndpoint, of server: UpstreamServer, now: UInt64) {
        guard let ejection = policy.ejection, endpoint.noteFailure(ejection, now: now) else { return }
        let end: UInt64? = ejecting.withLock { _ in
            guard !endpoint.isEjected(now) else { return nil }
            let all = servers.filter { $0.weight > 0 }.flatMap(\.addresses.endpoints)
            let others = all.filter { $0 !== endpoint && $0.isEjected(now) }.count
            guard others < ejection.maximumEjected(of: all.count) else { return nil }
            return endpoint.eject(ejection, now: now)
        }
        guard let end else { return }
        server.addresses.ejections.add(1, ordering: .relaxed)
        report(.ejected(server: endpoint.label, seconds: Int(clamping: (end - now + 500_000_000) / 1_000_000_000)))
    }

    /// Notes whether there is a fit server; tells when that changes.
    func note(isPanicking now: Bool) {
        guard isPanicking.load(ordering: .relaxed) != now else { return }
        guard isPanicking.exchange(now, ordering: .relaxed) != now else { return }
        if now { panics.add(1, ordering: .relaxed) }
        report(now ? .panic : .panicOver)
    }

    // MARK: - The loops

    func register(_ door: PoolDoor) { doors.withLock { $0.append(door) } }
    func deregister(_ door: PoolDoor) { doors.withLock { $0.removeAll { $0 === door } } }
    var doorCount: Int { doors.withLock { $0.count } }

    /// The loop whose first waiter has waited longest.
    func longestWaiting() -> PoolDoor? {
        let waiting = doors.withLock { $0 }.map { (door: $0, since: $0.oldest.load(ordering: .relaxed)) }
        return waiting.filter { $0.since != .max }.min { $0.since < $1.since }?.door
    }

    /// Tells every loop but one that connections may have to be given away.
    func askOthers(than door: PoolDoor) {
        for other in doors.withLock({ $0 }) where other !== door { other.ask() }
    }

    /// Addresses or their fitness changed: the loops look again, and who waits may go on.
    package func changed() {
        version.add(1, ordering: .releasing)
        for door in doors.withLock({ $0 }) { door.knock { $0.refresh() } }
    }
}

/// The way from any thread to the pool of one loop.
///
/// `pool` is confined to the loop.
final class PoolDoor: @unchecked Sendable {
    private let loop: EventLoop
    weak var pool: UpstreamPool?
    /// Since when the first one in its queue waits; `UInt64.max` when nobody does.
    let oldest = Atomic<UInt64>(.max)

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Whether it was asked to give connections away and has not answered yet.
    private let isAsked = Atomic<Bool>(false)

    /// Asks the loop to give connections away; many who ask at once are one.
    func ask() {
        guard !isAsked.exchange(true, ordering: .relaxed) else { return }
        knock { [self] pool in
            isAsked.store(false, ordering: .relaxed)
            pool.giveAway()
        }
    }

    func knock(_ body: @escaping @Sendable (UpstreamPool) -> Void) {
        loop.enqueue { [self] in
            if let pool { body(pool) }
        }
    }
}
