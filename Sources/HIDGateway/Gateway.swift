// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
internal import HIDHTTP
package import HIDService
internal import HIDStore
internal import HIDVerifier
internal import Synchronization

/// The gateway as a whole: owns loops, stores, key sets and listeners; starts, reloads and drains them.
package final class Gateway: RunningDaemon {
    private enum Phase { case starting, ready, draining, stopped }

    private let configurationPath: String?
    private let log: Log
    private let metrics: GatewayMetrics
    private let shared: SharedServices
    private let keepers: [KeySetKeeper]
    private let tls: ListenerTLSSources
    private let lanes: [Lane]
    private let adminLane: Lane?
    private let budget: ConnectionBudget
    private let buffers: BufferBudget
    private let trim: MemoryTrim
    private let upstreams: UpstreamDirectory
    private let accessLog: LineSink?
    private let phase = Mutex(Phase.starting)
    package let addresses: [String]
    package let adminAddress: String?
    private let replay: MemoryReplayStore
    private let replayPath: String?

    /// Starts everything; when this returns, connections are accepted.
    package init(
        configuration: GatewayConfiguration, path: String?, log: Log, standardError: LineSink? = nil,
        sockets: ServiceSockets = ServiceSockets()
    ) throws(StartError) {
        configurationPath = path
        self.log = log
        let loopCount = configuration.loops > 0 ? configuration.loops : max(1, SystemFacts.cores)
        metrics = GatewayMetrics(registry: MetricsRegistry(shards: loopCount))
        accessLog = try Self.openAccessLog(configuration.accessLog, standardError)
        budget = ConnectionBudget(
            limit: configuration.limits.connections, limitPerClient: configuration.limits.connectionsPerClient)
        buffers = BufferBudget(limit: configuration.limits.buffered)
        trim = MemoryTrim(budget)

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

        let bound = try BoundListeners(configuration.listeners.map(\.address), loops: loopCount, sockets: sockets)
        addresses = bound.names
        upstreams = try UpstreamDirectory(configuration, log: log)
        tls = try ListenerTLSSources(
            configuration.listeners, names: bound.names, log: log, registry: metrics.registry,
            metric: "hidgate_tls_certificate_expiry_seconds")
        lanes = try Self.openLanes(
            configuration, count: loopCount, shared: shared, budget: budget, bound: bound, tls: tls,
            upstreams: upstreams, log: log)
        for lane in lanes { lane.loop.buffers.join(buffers) }
        let resources = GatewayResources(sessions: shared.sessions, plans: plans) { [keepers = keepers.list] in
            Self.readiness(keepers, plan: plans.current)
        }
        let registry = metrics.registry
        let admin = try configuration.admin.map { admin throws(StartError) in
            try AdminSite.open(
                admin, metrics: registry, resources: resources, settings: ServerSettings(configuration),
                sockets: sockets)
        }
        (adminLane, adminAddress) = (admin?.lane, admin?.address)
        registerGauges()
        phase.withLock { $0 = .ready }
    }

    /// The daemon's own log and an access log on standard error go through one sink: two writers could cut each other's
    /// lines.
    private static func openAccessLog(
        _ destination: AccessLogDestination, _ standardError: LineSink?
    ) throws(StartError) -> LineSink? {
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
        bound: BoundListeners, tls: ListenerTLSSources, upstreams: UpstreamDirectory,
        log: Log
    ) throws(StartError) -> [Lane] {
        let listeners = zip(bound.names, configuration.listeners).map { name, listener in
            (name: name, trusted: AddressSet(listener.trustedProxies))
        }
        var lanes: [Lane] = []
        for index in 0..<count {
            let loop: EventLoop
            do throws(SystemCallError) { loop = try EventLoop(index: index) } catch { throw .startup("\(error)") }
            guard
                let services = LoopServices(loop: loop, shared: shared, listeners: listeners, upstreams: upstreams)
            else { throw .startup("OpenSSL has no P-256; check the crypto policy of this machine") }
            let settings = ServerSettings(configuration)
            let group = ConnectionGroup(loop: loop, settings: settings, budget: budget, factory: services)
            lanes.append(Lane(group: group) { services.closeIdleUpstreams() })
        }
        let settings = zip(configuration.listeners, tls.list).map { listener, tls in
            var settings = ListenerSettings(listener, tls: tls)
            settings.acceptsHTTP2 = true
            return settings
        }
        for lane in lanes { lane.logCuts(to: log, listeners: bound.names) }
        for (index, lane) in lanes.enumerated() { lane.open(bound.sockets[index], settings: settings) }
        return lanes
    }

    private static func readiness(_ keepers: [KeySetKeeper], plan: GatewayPlan) -> Readiness {
        guard plan.routes.contains(where: { $0.isCritical && $0.mode != .off }) else {
            return .init(isReady: true, detail: "no critical route is on")
        }
        let missing = keepers.filter { $0.status.keys == nil }
        guard let first = missing.first else { return .init(isReady: true, detail: "all key sets are loaded") }
        return .init(
            isReady: false, detail: "no usable keys of \(first.issuer): \(first.status.fault ?? "not loaded yet")")
    }

    private func registerGauges() {
        let registry = metrics.registry
        upstreams.registerMetrics(registry)
        let (budget, shared) = (budget, shared)
        registry.gauge("hidgate_connections", help: "Client connections open now.") { Double(budget.count) }
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
        registerRefusals()
    }

    private func registerRefusals() {
        let (lanes, buffers) = (lanes, buffers)
        ConnectionFaults.register(metrics.registry, Self.faultNames, lanes: lanes)
        metrics.registry.gauge("hidgate_buffered_bytes", help: "Octets kept for peers that take them slowly.") {
            Double(buffers.count)
        }
        for cause in RefusalCause.allCases {
            metrics.registry.counter(
                "hidgate_connections_refused_total", help: "Connections refused because a limit was reached.",
                labels: [(name: "cause", value: cause.rawValue)]
            ) { Double(lanes.reduce(0) { $0 + $1.refused.count(of: cause) }) }
        }
    }

    /// What the metrics of connections that fail are called.
    private static let faultNames = ConnectionFaults.Names(
        http2: "hidgate_http2_faults_total", openings: "hidgate_openings_failed_total",
        handshakes: "hidgate_tls_handshakes_failed_total")

    // MARK: - Life

    package func reload() {
        for keeper in keepers { keeper.reload() }
        guard let configurationPath else { return }
        let (loaded, diagnostics) = GatewayConfiguration.load(path: configurationPath)
        guard let loaded else {
            log.error(
                "reload.failed", ["errors": .integer(diagnostics.errorCount), "first": .string(diagnostics.first)])
            return
        }
        let current = shared.plans.current.configuration
        if let section = current.fixedSection(differingFrom: loaded) {
            log.error("reload.needs_restart", ["section": .string(section)])
            return
        }
        tls.reload(loaded.listeners)
        let keepers = keepers
        // First, so that every loop that sees the new plan finds its upstreams.
        upstreams.adopt(loaded)
        upstreams.registerMetrics(metrics.registry)
        shared.plans.update { _ in GatewayPlan(configuration: loaded, keys: keepers.map(\.status.keys)) }
        adopt(loaded.limits, ServerSettings(loaded))
        log.info("reload.done", ["routes": .integer(loaded.routes.count)])
    }

    /// Holds to the limits that are in no plan.
    private func adopt(_ limits: LimitsConfiguration, _ settings: ServerSettings) {
        budget.adopt(limit: limits.connections, limitPerClient: limits.connectionsPerClient)
        buffers.adopt(limit: limits.buffered)
        shared.failures.adopt(limits)
        for lane in lanes { lane.adopt(settings) }
    }

    package func reopenLogs() {
        accessLog?.reopen()
    }

    package func drain(within limit: Duration, done: @escaping @Sendable (_ cut: Int) -> Void) {
        let isFirst = phase.withLock { phase in
            guard phase == .ready else { return false }
            phase = .draining
            return true
        }
        guard isFirst else { return }
        Lane.drain(lanes, within: limit) { [self] cut in
            stop()
            done(cut)
        }
    }

    /// Ends loops and timers and keeps what must survive.
    private func stop() {
        phase.withLock { $0 = .stopped }
        for keeper in keepers { keeper.stop() }
        trim.cancel()
        upstreams.stop()
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

extension GatewayConfiguration {
    /// The first section that a running gateway cannot take over; nil when only rules, upstreams, issuers' policies,
    /// limits and what the TLS of listeners is made of differ.
    func fixedSection(differingFrom other: GatewayConfiguration) -> String? {
        if !listeners.differsInTLSOnly(from: other.listeners) { return "listeners" }
        if loops != other.loops { return "loops" }
        if resolver != other.resolver { return "resolver" }
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
        let limits = configuration.limits
        self.init(
            timeouts: configuration.timeouts,
            limits: HeadLimits(
                headBytes: limits.headerBytes, fields: limits.headerFields,
                connection: ConnectionPolicy(prefixes: [FieldName("x-hid-")])))
        queueDelay = Delay(limits.queueDelay)
        descriptorCeiling = DescriptorPlan(configuration).ceiling
    }
}
