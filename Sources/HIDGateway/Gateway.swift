// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HIDHTTP
package import HIDService
internal import HIDStore
internal import HIDVerifier
internal import Synchronization

/// Why the gateway did not start.
package enum GatewayError: Error, CustomStringConvertible {
    /// Something a referenced file says: exit code 78.
    case configuration(String)
    /// Something the machine refuses: exit code 1.
    case startup(String)

    package var description: String {
        switch self {
        case .configuration(let message), .startup(let message): message
        }
    }
}

/// The gateway as a whole: owns loops, stores, key sets and listeners; starts, reloads and drains them.
package final class Gateway: Sendable {
    private enum Phase { case starting, ready, draining, stopped }

    private let configurationPath: String?
    private let log: Log
    private let metrics: GatewayMetrics
    private let shared: SharedServices
    private let keepers: [KeySetKeeper]
    private let lanes: [Lane]
    private let adminLane: Lane?
    private let budget: ConnectionBudget
    private let accessLog: LineSink?
    private let phase = Mutex(Phase.starting)
    /// The addresses in the order of the configuration, with the ports that were really bound.
    package let addresses: [String]
    /// Where the admin listener is, with the port that was really bound.
    package let adminAddress: String?
    private let replay: MemoryReplayStore
    private let replayPath: String?

    /// Starts everything; when this returns, connections are accepted.
    package init(
        configuration: GatewayConfiguration, path: String?, log: Log, standardError: LineSink? = nil,
        sockets: ServiceSockets = ServiceSockets()
    ) throws(GatewayError) {
        configurationPath = path
        self.log = log
        let loopCount = configuration.loops > 0 ? configuration.loops : max(1, SystemFacts.cores)
        metrics = GatewayMetrics(registry: MetricsRegistry(shards: loopCount))
        accessLog = try Self.openAccessLog(configuration.accessLog, standardError)
        budget = ConnectionBudget(
            limit: configuration.limits.connections, limitPerClient: configuration.limits.connectionsPerClient)

        let plans = PlanSource(
            GatewayPlan(configuration: configuration, keys: configuration.issuers.map { _ in nil }))
        let keepers = KeepersBox()
        keepers.list = configuration.issuers.map { issuer in
            KeySetKeeper(issuer: issuer.issuer, source: issuer.keys, log: log) {
                plans.update { GatewayPlan($0, keys: keepers.list.map(\.status.keys)) }
            }
        }
        self.keepers = keepers.list
        for keeper in keepers.list {
            if let fault = keeper.start() { throw .configuration(fault) }
        }

        replay = MemoryReplayStore()
        let directory = configuration.stateDirectory ?? ServiceEnvironment.stateDirectory
        replayPath = directory.map { $0 + "/replay.table" }
        let hasMarks = Self.loadReplay(into: replay, from: replayPath, log: log)
        shared = SharedServices(
            plans: plans, replay: replay,
            sessions: MemorySessionStore(
                idle: configuration.sessions.idle, retention: configuration.sessions.retention),
            metrics: metrics, failures: FailureBudget(limits: configuration.limits), accessLog: accessLog,
            startSecond: hasMarks ? nil : WallClock.now() / 1_000_000_000
        ) { for keeper in keepers.list { keeper.demand() } }

        let bound = try BoundListeners(configuration, loops: loopCount, sockets: sockets)
        addresses = bound.names
        let upstreams = UpstreamBudgets()
        lanes = try Self.openLanes(
            configuration, count: loopCount, shared: shared, budget: budget, bound: bound, upstreams: upstreams)
        (adminLane, adminAddress) = try Self.openAdmin(
            configuration, metrics: metrics, shared: shared, keepers: keepers.list, sockets: sockets)
        registerGauges(upstreams)
        phase.withLock { $0 = .ready }
    }

    /// The daemon's own log and an access log on standard error go through one sink: two writers could cut each other's
    /// lines.
    private static func openAccessLog(
        _ destination: AccessLogDestination, _ standardError: LineSink?
    ) throws(GatewayError) -> LineSink? {
        do throws(SystemFault) {
            switch destination {
            case .off: return nil
            case .stderr:
                if let standardError { return standardError }
                return try LineSink(.descriptor(2), label: "hidgate.access_log")
            case .stdout: return try LineSink(.descriptor(1), label: "hidgate.access_log")
            case .file(let path): return try LineSink(.file(path: path), label: "hidgate.access_log")
            }
        } catch {
            throw .startup("access_log: \(error)")
        }
    }

    /// Whether the marks of the run before are there, so that no token needs to be distrusted for its age.
    private static func loadReplay(into store: MemoryReplayStore, from path: String?, log: Log) -> Bool {
        guard let path else { return false }
        do throws(ReplayFileError) {
            guard let marks = try ReplayFile.take(from: path) else { return false }
            store.load(marks, now: MonotonicClock.now())
            log.info("replay.loaded", ["marks": .integer(marks.count)])
            return true
        } catch {
            log.warning("replay.not_loaded", ["fault": .string(error.description)])
            return false
        }
    }

    private static func openLanes(
        _ configuration: GatewayConfiguration, count: Int, shared: SharedServices, budget: ConnectionBudget,
        bound: BoundListeners, upstreams: UpstreamBudgets
    ) throws(GatewayError) -> [Lane] {
        let listeners = zip(bound.names, configuration.listeners).map { name, listener in
            (name: name, trusted: AddressSet(listener.trustedProxies))
        }
        var lanes: [Lane] = []
        for index in 0..<count {
            let loop: EventLoop
            do throws(SystemCallError) { loop = try EventLoop(index: index) } catch { throw .startup("\(error)") }
            guard
                let services = LoopServices(loop: loop, shared: shared, listeners: listeners, budgets: upstreams)
            else { throw .startup("OpenSSL has no P-256; check the crypto policy of this machine") }
            let settings = ServerSettings(configuration)
            let group = ConnectionGroup(loop: loop, settings: settings, budget: budget, factory: services)
            lanes.append(Lane(loop: loop, group: group, services: services))
        }
        for (index, lane) in lanes.enumerated() { lane.open(bound.sockets[index]) }
        return lanes
    }

    private static func openAdmin(
        _ configuration: GatewayConfiguration, metrics: GatewayMetrics, shared: SharedServices,
        keepers: [KeySetKeeper], sockets: ServiceSockets
    ) throws(GatewayError) -> (Lane?, String?) {
        guard let admin = configuration.admin else { return (nil, nil) }
        let token = try readToken(admin)
        let api = AdminAPI(
            metrics: metrics.registry, sessions: shared.sessions, plans: shared.plans, token: token
        ) { Self.readiness(keepers, plan: shared.plans.current) }
        let bound = try BoundListeners([admin.address], loops: 1, sockets: sockets)
        let loop: EventLoop
        do throws(SystemCallError) {
            loop = try EventLoop(index: 0, label: "hidgate.admin")
        } catch {
            throw .startup("\(error)")
        }
        let group = ConnectionGroup(
            loop: loop, settings: ServerSettings(configuration),
            budget: ConnectionBudget(limit: 256, limitPerClient: 256), factory: AdminHandlerFactory(api: api))
        let lane = Lane(loop: loop, group: group, services: nil)
        lane.open(bound.sockets[0])
        return (lane, bound.names.first)
    }

    private static func readToken(_ admin: AdminConfiguration) throws(GatewayError) -> [UInt8]? {
        guard let path = admin.tokenFile else { return nil }
        let bytes: [UInt8]
        do throws(SystemFault) {
            bytes = try FileSystem.contents(of: path, limit: 4096)
        } catch {
            throw .configuration("\(path): \(error)")
        }
        let token = Array(bytes.reversed().drop { $0 <= 0x20 }.reversed())
        guard token.count >= 16 else {
            throw .configuration("\(path): the admin token must have at least 16 octets")
        }
        return token
    }

    private static func readiness(_ keepers: [KeySetKeeper], plan: GatewayPlan) -> AdminAPI.Readiness {
        guard plan.routes.contains(where: { $0.isCritical && $0.mode != .off }) else {
            return .init(isReady: true, detail: "no critical route is on")
        }
        let missing = keepers.filter { $0.status.keys == nil }
        guard let first = missing.first else { return .init(isReady: true, detail: "all key sets are loaded") }
        return .init(
            isReady: false, detail: "no usable keys of \(first.issuer): \(first.status.fault ?? "not loaded yet")")
    }

    private func registerGauges(_ upstreams: UpstreamBudgets) {
        let registry = metrics.registry
        let (budget, shared) = (budget, shared)
        registry.gauge("hidgate_connections", help: "Client connections open now.") { Double(budget.count) }
        registry.gauge("hidgate_upstream_connections", help: "Upstream connections open now.") {
            Double(upstreams.open)
        }
        registry.gauge("hidgate_sessions", help: "Sessions kept.") { Double(shared.sessions.count) }
        let replay = replay
        registry.gauge("hidgate_replay_marks", help: "Tokens the replay guard remembers.") { Double(replay.count) }
        if let accessLog {
            registry.counter("hidgate_access_log_dropped_total", help: "Access-log lines that were not written.") {
                Double(accessLog.dropped)
            }
        }
        for keeper in keepers {
            let labels = [(name: "issuer", value: keeper.issuer)]
            registry.counter("hidgate_jwks_loads_total", help: "Good key set loads.", labels: labels) {
                Double(keeper.status.loads)
            }
            registry.counter("hidgate_jwks_failures_total", help: "Failed key set loads.", labels: labels) {
                Double(keeper.status.failures)
            }
            registry.gauge("hidgate_jwks_age_seconds", help: "Since the last good load; -1 before it.", labels: labels)
            {
                guard let loaded = keeper.status.loaded else { return -1 }
                return Double(MonotonicClock.now() &- loaded) / 1e9
            }
        }
        let lanes = lanes
        registry.counter("hidgate_connections_refused_total", help: "Connections over limits.connections.") {
            Double(lanes.reduce(0) { $0 + $1.refused })
        }
    }

    // MARK: - Life

    /// Reads configuration and keys again; on any fault the old ones stay.
    ///
    /// Returns whether they were replaced.
    @discardableResult
    package func reload() -> Bool {
        for keeper in keepers { keeper.reload() }
        guard let configurationPath else { return false }
        let (loaded, diagnostics) = GatewayConfiguration.load(path: configurationPath)
        guard let loaded else {
            log.error(
                "reload.failed", ["errors": .integer(diagnostics.errorCount), "first": .string(diagnostics.first)])
            return false
        }
        let current = shared.plans.current.configuration
        if let section = current.fixedSection(differingFrom: loaded) {
            log.error("reload.needs_restart", ["section": .string(section)])
            return false
        }
        let keepers = keepers
        shared.plans.update { _ in GatewayPlan(configuration: loaded, keys: keepers.map(\.status.keys)) }
        log.info("reload.done", ["routes": .integer(loaded.routes.count)])
        return true
    }

    /// Opens log files again, after they were rotated.
    package func reopenLogs() {
        accessLog?.reopen()
    }

    /// Stops accepting, lets what is under way finish, and calls `done` (with the number of exchanges that were cut)
    /// when nothing is left or the deadline has passed.
    package func drain(within limit: Duration, done: @escaping @Sendable (_ cut: Int) -> Void) {
        let isFirst = phase.withLock { phase in
            guard phase == .ready else { return false }
            phase = .draining
            return true
        }
        guard isFirst else { return }
        let finish = OnceFlag()
        let group = DispatchGroup()
        for lane in lanes {
            group.enter()
            lane.drain { group.leave() }
        }
        let queue = DispatchQueue(label: "hidgate.drain")
        group.notify(queue: queue) { [self] in
            guard finish.take() else { return }
            stop()
            done(0)
        }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) { [self] in
            guard finish.take() else { return }
            let cut = lanes.reduce(0) { $0 + $1.cut() }
            stop()
            done(cut)
        }
    }

    /// Ends loops and timers and keeps what must survive.
    private func stop() {
        phase.withLock { $0 = .stopped }
        for keeper in keepers { keeper.stop() }
        if let replayPath {
            do throws(ReplayFileError) {
                try ReplayFile.write(replay.save(now: MonotonicClock.now()), to: replayPath)
            } catch {
                log.error("replay.not_saved", ["fault": .string(error.description)])
            }
        }
        for lane in lanes { lane.loop.stop() }
        adminLane?.loop.stop()
        accessLog?.flush()
    }
}

/// The keepers and the closure that reads them know each other.
private final class KeepersBox: @unchecked Sendable {
    /// Set once before any keeper starts.
    var list: [KeySetKeeper] = []
}

/// True for the first who asks.
private final class OnceFlag: Sendable {
    private let taken = Mutex(false)

    func take() -> Bool {
        taken.withLock { taken in
            defer { taken = true }
            return !taken
        }
    }
}

extension GatewayConfiguration {
    /// The first section that a running gateway cannot take over; nil when only rules, upstreams, issuers' policies and
    /// limits of requests differ.
    func fixedSection(differingFrom other: GatewayConfiguration) -> String? {
        if listeners != other.listeners { return "listeners" }
        if loops != other.loops { return "loops" }
        if admin != other.admin { return "admin" }
        if store != other.store { return "store" }
        if sessions != other.sessions { return "sessions" }
        if accessLog != other.accessLog { return "access_log" }
        if timeouts != other.timeouts { return "timeouts" }
        if issuers.map(\.issuer) != other.issuers.map(\.issuer) || issuers.map(\.keys) != other.issuers.map(\.keys) {
            return "issuers"
        }
        return nil
    }
}

extension ServerSettings {
    init(_ configuration: GatewayConfiguration) {
        let (limits, timeouts) = (configuration.limits, configuration.timeouts)
        self.init(
            limits: HeadLimits(
                headBytes: limits.headerBytes, fields: limits.headerFields,
                connection: ConnectionPolicy(prefixes: [FieldName("x-hid-")])),
            headerTimeout: timeouts.header, bodyIdleTimeout: timeouts.bodyIdle, keepAliveTimeout: timeouts.keepAlive,
            writeTimeout: timeouts.write)
    }
}

extension Diagnostics {
    /// The first error in one line.
    var first: String {
        guard let first = sorted.first(where: { $0.severity == .error }) else { return "" }
        return "\(first.mark.file):\(first.mark.line):\(first.mark.column): \(first.message)"
    }
}
