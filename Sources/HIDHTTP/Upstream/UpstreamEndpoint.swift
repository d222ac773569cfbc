// SPDX-License-Identifier: Apache-2.0

package import Synchronization

/// One address of a server, as all loops see it: what is under way there and whether it is fit to get more.
///
/// Any thread.
package final class UpstreamEndpoint: Sendable {
    /// What is dialled instead of the host of the target; nil: the target as it stands.
    package let address: PeerAddress?
    /// `10.0.0.1:9000`, `unix:/path`: for logs.
    package let label: String
    /// Exchanges under way.
    package let active = Atomic<Int>(0)
    /// The active health check holds it down.
    package let isDown = Atomic<Bool>(false)
    /// Its name no longer stands for it.
    let isGone = Atomic<Bool>(false)
    /// Monotonic nanoseconds; 0 when it never was.
    let ejectedUntil = Atomic<UInt64>(0)
    /// Touched by failures only.
    private let history = Mutex(EjectionHistory())

    init(_ target: UpstreamTarget, address: PeerAddress?) {
        self.address = address
        label = target.label(address)
    }

    /// Whether nothing speaks against sending it requests.
    func isFit(_ now: UInt64) -> Bool {
        !isDown.load(ordering: .relaxed) && !isEjected(now)
    }

    package func isEjected(_ now: UInt64) -> Bool { ejectedUntil.load(ordering: .relaxed) > now }

    func noteFailure(_ policy: EjectionPolicy, now: UInt64) -> Bool {
        history.withLock { $0.note(policy, now: now) }
    }

    func eject(_ policy: EjectionPolicy, now: UInt64) -> UInt64 {
        let end = history.withLock { $0.eject(policy, now: now) }
        ejectedUntil.store(end, ordering: .relaxed)
        return end
    }
}

/// The addresses of one server; they outlive a reload that leaves the server's target alone.
///
/// Any thread.
package final class UpstreamAddresses: Sendable {
    package enum State: Sendable {
        /// The first answer of the resolver is still to come.
        case pending
        /// There never was one.
        case unresolved
        case known([UpstreamEndpoint])
    }

    package let target: UpstreamTarget
    /// Connections of all loops.
    package let open = Atomic<Int>(0)
    package let checksPassed = Atomic<Int>(0)
    package let checksFailed = Atomic<Int>(0)
    package let ejections = Atomic<Int>(0)
    private let stored: Mutex<State>

    /// `isResolved`: somebody asks for the addresses of a name; else libcurl does when it dials.
    package init(_ target: UpstreamTarget, isResolved: Bool = true) {
        self.target = target
        let isPending = isResolved && target.needsResolver
        stored = Mutex(isPending ? .pending : .known([UpstreamEndpoint(target, address: nil)]))
    }

    package var state: State { stored.withLock { $0 } }

    package var endpoints: [UpstreamEndpoint] {
        if case .known(let endpoints) = state { return endpoints }
        return []
    }

    /// Takes over a good answer of the resolver: what is still there stays as it is.
    ///
    /// Returns whether anything changed.
    func replace(by addresses: [PeerAddress]) -> Bool {
        stored.withLock { state in
            var old: [UpstreamEndpoint] = []
            if case .known(let endpoints) = state { old = endpoints }
            let known = Set(old.compactMap(\.address))
            guard known != Set(addresses) else { return false }
            let new = addresses.map { address in
                old.first { $0.address == address } ?? UpstreamEndpoint(target, address: address)
            }
            for endpoint in old where !new.contains(where: { $0 === endpoint }) {
                endpoint.isGone.store(true, ordering: .relaxed)
            }
            state = .known(new)
            return true
        }
    }

    /// Notes that the first resolution failed; later failures change nothing.
    ///
    /// Returns whether anything changed.
    func noteUnresolved() -> Bool {
        stored.withLock { state in
            guard case .pending = state else { return false }
            state = .unresolved
            return true
        }
    }
}

/// One entry of `servers`.
package struct UpstreamServer: Sendable {
    package let addresses: UpstreamAddresses
    /// As the configuration names it.
    package let label: String
    /// 0...256; 0 gets nothing new.
    package let weight: Int
    /// Connections of all loops to all its addresses together.
    package let maximumConnections: Int

    package init(addresses: UpstreamAddresses, label: String, weight: Int = 1, maximumConnections: Int? = nil) {
        self.addresses = addresses
        self.label = label
        self.weight = weight
        self.maximumConnections = maximumConnections ?? .max
    }

    /// Whether one of its addresses is fit for requests.
    package func isUp(_ now: UInt64) -> Bool { addresses.endpoints.contains { $0.isFit(now) } }

    /// Exchanges under way with all its addresses.
    package var active: Int { addresses.endpoints.reduce(0) { $0 + $1.active.load(ordering: .relaxed) } }
}
