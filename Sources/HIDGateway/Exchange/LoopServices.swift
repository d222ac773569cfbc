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

    private let limit: Int
    private let when: LimitsConfiguration.FailedVerifications
    private let state = Mutex(State())
    /// Addresses remembered in one second; beyond it the first ones keep being limited.
    private static let capacity = 65_536
    /// A loop whose last turn worked for longer is overloaded: its clients wait that long.
    private static let overloadedTurn: UInt64 = 10_000_000

    package init(limits: LimitsConfiguration) {
        limit = limits.failedVerificationsPerClient
        when = limits.failedVerifications
    }

    /// Whether the client has used up its failures of this second.
    func isExhausted(_ client: PeerAddress, loop: EventLoop) -> Bool {
        switch when {
        case .off: return false
        case .overloaded: guard loop.lastTurn > Self.overloadedTurn else { return false }
        case .always: break
        }
        let second = loop.now / 1_000_000_000
        return state.withLock { $0.second == second && $0.counts[client, default: 0] >= limit }
    }

    /// Counts a failure.
    func note(_ client: PeerAddress, loop: EventLoop) {
        guard when != .off else { return }
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
    private let budgets: UpstreamBudgets
    private var pools: [UpstreamPool] = []
    private var poolsPlan: GatewayPlan?

    package init?(
        loop: EventLoop, shared: SharedServices, listeners: [(name: String, trusted: AddressSet)],
        budgets: UpstreamBudgets
    ) {
        guard let signatures = SignatureVerifier() else { return nil }
        self.loop = loop
        self.shared = shared
        self.signatures = signatures
        self.listeners = listeners
        self.budgets = budgets
    }

    package func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler {
        ExchangeDriver(services: self, listener: listeners[listener].name, trusted: listeners[listener].trusted)
    }

    /// The connections to an upstream of the plan.
    ///
    /// A pool lives on across reloads that leave its target alone.
    func pool(_ index: Int, of plan: GatewayPlan) -> UpstreamPool {
        if poolsPlan === plan { return pools[index] }
        guard plan === shared.plans.current else { return pool(outside: plan, index) }
        adopt(plan)
        return pools[index]
    }

    /// A pool for an exchange that began before a reload: what it needs is not kept for others.
    private func pool(outside plan: GatewayPlan, _ index: Int) -> UpstreamPool {
        let target = UpstreamTarget(plan.upstreams[index])
        if let known = pools.first(where: { $0.target == target }) { return known }
        let pool = UpstreamPool(loop: loop, target: target, budget: budgets.budget(for: target))
        pool.retire()
        return pool
    }

    private func adopt(_ plan: GatewayPlan) {
        let known = Dictionary(pools.map { ($0.target, $0) }, uniquingKeysWith: { first, _ in first })
        pools = plan.upstreams.map { upstream in
            let target = UpstreamTarget(upstream)
            return known[target] ?? UpstreamPool(loop: loop, target: target, budget: budgets.budget(for: target))
        }
        let kept = Set(pools.map { ObjectIdentifier($0) })
        for pool in known.values where !kept.contains(ObjectIdentifier(pool)) { pool.retire() }
        poolsPlan = plan
    }

    /// Closes connections to upstreams that nobody uses; for the end of a drain.
    package func closeIdleUpstreams() {
        for pool in pools { pool.retire() }
    }
}

/// The connection counts to each upstream, shared by the loops.
package final class UpstreamBudgets: Sendable {
    private let budgets = Mutex<[UpstreamTarget: UpstreamBudget]>([:])

    package init() {}

    func budget(for target: UpstreamTarget) -> UpstreamBudget {
        budgets.withLock { budgets in
            if let known = budgets[target] { return known }
            let budget = UpstreamBudget()
            budgets[target] = budget
            return budget
        }
    }

    /// Connections open to all upstreams together.
    package var open: Int { budgets.withLock { $0.values.reduce(0) { $0 + $1.open.load(ordering: .relaxed) } } }
}

extension UpstreamTarget {
    init(_ upstream: UpstreamConfiguration) {
        self.init(
            isTLS: upstream.url.isTLS, host: upstream.url.host, port: upstream.url.port,
            unixPath: upstream.url.unixPath)
        certificateAuthorities = upstream.tls.certificateAuthorities
        verifiesCertificate = upstream.tls.verify
        serverName = upstream.tls.serverName
        connectTimeout = upstream.connectTimeout
        responseTimeout = upstream.responseTimeout
        idleTimeout = upstream.idleTimeout
        maximumConnections = upstream.maximumConnections
    }

    /// What Host says when the client sent none.
    var authority: [UInt8] {
        guard unixPath == nil else { return Array("localhost".utf8) }
        let name = host.contains(":") ? "[\(host)]" : host
        let isDefault = port == (isTLS ? 443 : 80)
        return Array((isDefault ? name : "\(name):\(port)").utf8)
    }
}
