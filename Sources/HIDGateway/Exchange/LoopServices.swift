// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
package import HIDHTTP
package import HIDService
package import HIDStore
internal import HIDVerifier
internal import Synchronization

/// The snapshot every loop judges by.
///
/// Any thread.
package final class PlanSource: Sendable {
    private let plan: Mutex<GatewayPlan>

    package init(_ plan: GatewayPlan) {
        self.plan = Mutex(plan)
    }

    package var current: GatewayPlan { plan.withLock { $0 } }

    /// Replaces the snapshot; `change` gets the present one and must be quick.
    package func update(_ change: (GatewayPlan) -> GatewayPlan) {
        plan.withLock { $0 = change($0) }
    }
}

/// What all loops share.
package final class SharedServices: Sendable {
    package let plans: PlanSource
    package let replay: any ReplayStore
    package let sessions: any SessionStore
    package let metrics: GatewayMetrics
    package let failures: FailureBudget
    /// nil: the access log is off.
    package let accessLog: LineSink?
    /// Tokens issued before this second are refused; nil when the replay marks of the last run were loaded.
    package let startSecond: Int64?
    /// Called when a token names a key that no set holds.
    ///
    /// Any thread; must not block.
    package let onUnknownKey: @Sendable () -> Void

    package init(
        plans: PlanSource, replay: any ReplayStore, sessions: any SessionStore, metrics: GatewayMetrics,
        failures: FailureBudget, accessLog: LineSink?, startSecond: Int64?,
        onUnknownKey: @escaping @Sendable () -> Void
    ) {
        self.plans = plans
        self.replay = replay
        self.sessions = sessions
        self.metrics = metrics
        self.failures = failures
        self.accessLog = accessLog
        self.startSecond = startSecond
        self.onUnknownKey = onUnknownKey
    }
}

/// Counts failed verifications by client address and second, so that a flood of bad signatures buys no curve work.
package final class FailureBudget: Sendable {
    private struct State {
        var second: UInt64 = 0
        var counts: [PeerAddress: Int] = [:]
    }

    /// Failures a second from which on a client is not served: `Int.max` is never.
    private let limit: Atomic<Int>
    private let onlyOverloaded: Atomic<Bool>
    private let state = Mutex(State())
    /// Addresses remembered in one second; beyond it the first ones keep being limited.
    private static let capacity = 65_536
    /// A loop whose last turn worked for longer is overloaded: its clients wait that long.
    private static let overloadedTurn: UInt64 = 10_000_000

    package init(limits: LimitsConfiguration) {
        limit = Atomic(Self.limit(limits))
        onlyOverloaded = Atomic(limits.failedVerifications == .overloaded)
    }

    /// Holds to other limits from now on.
    package func adopt(_ limits: LimitsConfiguration) {
        limit.store(Self.limit(limits), ordering: .relaxed)
        onlyOverloaded.store(limits.failedVerifications == .overloaded, ordering: .relaxed)
    }

    private static func limit(_ limits: LimitsConfiguration) -> Int {
        limits.failedVerifications == .off ? .max : limits.failedVerificationsPerClient
    }

    /// Whether the client has used up its failures of this second.
    func isExhausted(_ client: PeerAddress, loop: EventLoop) -> Bool {
        let limit = limit.load(ordering: .relaxed)
        guard limit < .max else { return false }
        if onlyOverloaded.load(ordering: .relaxed), loop.lastTurn <= Self.overloadedTurn { return false }
        let second = loop.now / 1_000_000_000
        return state.withLock { $0.second == second && $0.counts[client, default: 0] >= limit }
    }

    /// Counts a failure.
    func note(_ client: PeerAddress, loop: EventLoop) {
        guard limit.load(ordering: .relaxed) < .max else { return }
        let second = loop.now / 1_000_000_000
        state.withLock { state in
            if state.second != second {
                state.second = second
                state.counts.removeAll(keepingCapacity: true)
            }
            guard state.counts.count < Self.capacity || state.counts[client] != nil else { return }
            state.counts[client, default: 0] += 1
        }
    }
}

/// What the exchanges of one loop share.
///
/// Confined to the loop.
package final class LoopServices: ServerHandlerFactory {
    let loop: EventLoop
    let shared: SharedServices
    let signatures: SignatureVerifier
    var identity = RequestIdentity()
    var line = JSONLineWriter()
    var slow = SlowExchanges()
    private let listeners: [(name: String, trusted: AddressSet)]
    private let upstreams: UpstreamDirectory
    private var pools: [UpstreamPool] = []
    /// Of the plan before, for exchanges that began under it; retired.
    private var formerPools: [UpstreamPool] = []
    private var poolsPlan: GatewayPlan?
    private var relief: LoopTimer?
    /// How often clients that wait for an upstream connection are compared with those that hold one.
    private static let reliefTime = Delay(.milliseconds(20))

    package init?(
        loop: EventLoop, shared: SharedServices, listeners: [(name: String, trusted: AddressSet)],
        upstreams: UpstreamDirectory
    ) {
        guard let signatures = SignatureVerifier() else { return nil }
        self.loop = loop
        self.shared = shared
        self.signatures = signatures
        self.listeners = listeners
        self.upstreams = upstreams
        relief = LoopTimer { [unowned self] in cutSlow() }
    }

    /// Somebody waits for an upstream connection: those that hold one and stand still may have to go.
    func relieve() {
        guard !slow.isEmpty, let relief, !relief.isSet else { return }
        loop.set(relief, after: Self.reliefTime)
    }

    private func cutSlow() {
        var someoneWaits = false
        for pool in pools {
            let waiting = pool.cluster.waiting.load(ordering: .relaxed)
            someoneWaits = someoneWaits || waiting > 0
            for _ in 0..<max(0, waiting) {
                guard let slowest = slow.slowest(at: pool.cluster.name, now: loop.now) else { break }
                slowest.cutForOthers()
            }
        }
        if someoneWaits { relieve() }
    }

    package func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler {
        ExchangeDriver(services: self, listener: listeners[listener].name, trusted: listeners[listener].trusted)
    }

    /// The connections to an upstream of the plan; nil when a reload took it away long ago.
    ///
    /// A pool lives on across reloads that leave its upstream alone.
    func pool(_ index: Int, of plan: GatewayPlan) -> UpstreamPool? {
        if poolsPlan === plan { return pools[index] }
        guard plan === shared.plans.current else {
            // The exchange began before a reload: the upstream of that name as it is now, or as it was.
            let name = plan.upstreams[index].name
            return (pools + formerPools).first { $0.cluster.name == name }
        }
        adopt(plan)
        return pools[index]
    }

    private func adopt(_ plan: GatewayPlan) {
        let known = Dictionary(pools.map { ($0.cluster.name, $0) }, uniquingKeysWith: { first, _ in first })
        var gone = known
        pools = plan.upstreams.map { upstream in
            let cluster = upstreams.cluster(for: upstream)
            let former = gone.removeValue(forKey: upstream.name)
            if let former, former.cluster === cluster { return former }
            return UpstreamPool(loop: loop, cluster: cluster, replacing: former)
        }
        poolsPlan = plan
        if !gone.isEmpty { formerPools = Array(gone.values) }
        // Last: who is refused may come back with the next request.
        for pool in gone.values { pool.close() }
    }

    /// Closes connections to upstreams that nobody uses; for the end of a drain.
    package func closeIdleUpstreams() {
        relief?.cancel()
        for pool in pools { pool.retire() }
    }
}
