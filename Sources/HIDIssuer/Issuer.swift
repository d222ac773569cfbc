// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HIDCrypto
package import HIDDaemon
internal import HIDHTTP
package import HIDService
package import HIDStore
internal import Synchronization

/// The Human Identification Server as a whole: owns loops, store, keys and listeners; starts, reloads and drains them.
package final class Issuer: RunningDaemon {
    private let configurationPath: String?
    private let log: Log
    private let context: IssuerContext
    private let store: any IssuerStore
    private let keys: SigningKeys
    private let revocations: RevocationKeeper?
    private let tls: ListenerTLSSources
    private let lanes: [Lane]
    private let adminLane: Lane?
    private let maintenance: Maintenance
    private let health: StoreHealth
    private let isStopping = Atomic<Bool>(false)
    package let addresses: [String]
    package let adminAddress: String?

    /// Clients served at once.
    private static let connections = 10_000
    /// How often keys, lists and the store are looked after.
    private static let tick = DispatchTimeInterval.seconds(1)

    /// Starts everything; when this returns, connections are accepted.
    package init(
        configuration: IssuerConfiguration, path: String?, log: Log, clock: IssuerClock = .system,
        sockets: ServiceSockets = ServiceSockets()
    ) throws(StartError) {
        configurationPath = path
        self.log = log
        let loops = configuration.loops > 0 ? configuration.loops : max(1, SystemFacts.cores)
        let metrics = IssuerMetrics(registry: MetricsRegistry(shards: 1))
        store = try Self.openStore(configuration.store)
        keys = try Self.openKeys(configuration, log: log, clock: clock)
        let store = store
        revocations = configuration.attestation.revocationList.map {
            RevocationKeeper($0, store: store, log: log, metrics: metrics, clock: clock)
        }
        revocations?.start()
        health = StoreHealth()
        let workers: WorkerPool
        do throws(CryptoError) {
            workers = try WorkerPool(count: max(1, SystemFacts.cores))
        } catch {
            throw .startup("OpenSSL has no P-256; check the crypto policy of this machine")
        }
        let tokens = TokenIssuer(
            issuer: configuration.issuer, life: configuration.tokenLife.components.seconds, keys: keys)
        context = IssuerContext(
            plan: IssuerPlan(configuration), store: store, keys: keys, tokens: tokens, workers: workers,
            revocations: revocations, metrics: metrics, log: log, clock: clock)

        var settings = ServerSettings(
            timeouts: configuration.timeouts, limits: HeadLimits(headBytes: 16 << 10, fields: 64))
        let descriptors = DescriptorPlan(
            limit: DescriptorLimit.current, connections: Self.connections, upstreamConnections: 0)
        descriptors.remark(log)
        settings.descriptorCeiling = descriptors.ceiling
        let bound = try BoundListeners(configuration.listeners.map(\.address), loops: loops, sockets: sockets)
        addresses = bound.names
        tls = try ListenerTLSSources(
            configuration.listeners, names: bound.names, log: log, registry: metrics.registry,
            metric: "hisd_tls_certificate_expiry_seconds")
        let budget = ConnectionBudget(limit: Self.connections, limitPerClient: 1_000)
        let listeners = zip(configuration.listeners, tls.list).map { ListenerSettings($0, tls: $1) }
        lanes = try Self.openLanes(loops, IssuerService(context: context), settings, budget, bound, listeners, log)
        let resources = IssuerResources(context: context, health: health)
        let registry = metrics.registry
        let admin = try configuration.admin.map { admin throws(StartError) in
            try AdminSite.open(admin, metrics: registry, resources: resources, settings: settings, sockets: sockets)
        }
        (adminLane, adminAddress) = (admin?.lane, admin?.address)
        maintenance = Maintenance(every: Self.tick)
        Self.registerGauges(registry, budget: budget, workers: workers, keys: keys, clock: clock, health: health)
        ConnectionFaults.register(
            registry,
            ConnectionFaults.Names(
                http2: "hisd_http2_faults_total", openings: "hisd_openings_failed_total",
                handshakes: "hisd_tls_handshakes_failed_total"), lanes: lanes)
        revocations?.registerGauges()
        startMaintenance(clock)
    }

    private static func openStore(_ configuration: IssuerConfiguration.Store) throws(StartError) -> any IssuerStore {
        switch configuration {
        case .memory: return MemoryIssuerStore()
        case .sqlite(let path):
            do throws(StoreFault) {
                return try SQLiteIssuerStore(path: path)
            } catch {
                throw .startup("store: \(error)")
            }
        }
    }

    private static func openKeys(
        _ configuration: IssuerConfiguration, log: Log, clock: IssuerClock
    ) throws(StartError) -> SigningKeys {
        do throws(KeyDirectoryFault) {
            return try SigningKeys(
                directory: KeyDirectory(path: configuration.keyDirectory), log: log, now: clock.wall())
        } catch {
            throw .startup("signing_keys: \(error)")
        }
    }

    private static func openLanes(
        _ count: Int, _ service: IssuerService, _ settings: ServerSettings, _ budget: ConnectionBudget,
        _ bound: BoundListeners, _ listeners: [ListenerSettings], _ log: Log
    ) throws(StartError) -> [Lane] {
        var lanes: [Lane] = []
        for index in 0..<count {
            let loop: EventLoop
            do throws(SystemCallError) { loop = try EventLoop(index: index) } catch { throw .startup("\(error)") }
            let group = ConnectionGroup(
                loop: loop, settings: settings, budget: budget, factory: WholeRequestHandlerFactory(service: service))
            lanes.append(Lane(group: group))
        }
        for lane in lanes { lane.logCuts(to: log, listeners: bound.names) }
        for (index, lane) in lanes.enumerated() { lane.open(bound.sockets[index], settings: listeners) }
        return lanes
    }

    private static func registerGauges(
        _ registry: MetricsRegistry, budget: ConnectionBudget, workers: WorkerPool, keys: SigningKeys,
        clock: IssuerClock, health: StoreHealth
    ) {
        registry.gauge("hisd_connections", help: "Client connections open now.") { Double(budget.count) }
        registry.gauge("hisd_worker_jobs", help: "Requests that wait for or are in curve work.") {
            Double(workers.depth)
        }
        registry.gauge("hisd_signing_keys", help: "Keys in the published set.") {
            Double(keys.published(at: clock.wall()).count)
        }
        registry.gauge("hisd_store_writable", help: "1 while the store takes writes.") { health.fault == nil ? 1 : 0 }
    }

    // MARK: - Life

    private func startMaintenance(_ clock: IssuerClock) {
        maintenance.start { [keys, revocations, store, health] in
            keys.maintain(now: clock.wall())
            revocations?.tick()
            store.probe { health.note($0) }
        }
    }

    package func reload() {
        keys.reload(now: context.clock.wall())
        revocations?.reload()
        guard let configurationPath else { return }
        let (loaded, diagnostics) = IssuerConfiguration.load(path: configurationPath)
        guard let loaded else {
            log.error(
                "reload.failed", ["errors": .integer(diagnostics.errorCount), "first": .string(diagnostics.first)])
            return
        }
        if let section = context.current.configuration.fixedSection(differingFrom: loaded) {
            log.error("reload.needs_restart", ["section": .string(section)])
            return
        }
        tls.reload(loaded.listeners)
        context.replace(IssuerPlan(loaded))
        log.info("reload.done", ["apps": .integer(loaded.apps.count)])
    }

    /// Nothing but standard error is written.
    package func reopenLogs() {}

    package func drain(within limit: Duration, done: @escaping @Sendable (_ cut: Int) -> Void) {
        guard !isStopping.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Lane.drain(lanes, within: limit) { [self] cut in
            maintenance.stop()
            revocations?.stop()
            store.close()
            for lane in lanes { lane.loop.stop() }
            adminLane?.loop.stop()
            done(cut)
        }
    }
}

/// What the last probe of the store said.
package final class StoreHealth: Sendable {
    private let last = Mutex<StoreFault?>(nil)

    package init() {}

    package var fault: StoreFault? { last.withLock { $0 } }

    package func note(_ result: Result<Void, StoreFault>) {
        last.withLock { last in
            switch result {
            case .success: last = nil
            case .failure(let fault): last = fault
            }
        }
    }
}

extension IssuerConfiguration {
    /// The first section that a running issuer cannot take over.
    func fixedSection(differingFrom other: IssuerConfiguration) -> String? {
        if !listeners.differsInTLSOnly(from: other.listeners) { return "listeners" }
        if issuer != other.issuer { return "issuer" }
        if keyDirectory != other.keyDirectory { return "signing_keys" }
        if store != other.store { return "store" }
        if tokenLife != other.tokenLife { return "token" }
        if attestation.revocationList != other.attestation.revocationList { return "revocation_list" }
        if admin != other.admin { return "admin" }
        if timeouts != other.timeouts { return "timeouts" }
        if loops != other.loops { return "loops" }
        return nil
    }
}
