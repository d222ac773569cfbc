// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Keeps addresses and fitness of all upstreams up to date: resolver and health checks, on a loop of their own.
///
/// The calls come from any thread and are carried to the loop.
package final class UpstreamControl: @unchecked Sendable {
    /// One name and the servers that it leads to.
    private final class Watch {
        let name: String
        let addresses: UpstreamAddresses
        var state: ResolutionState
        var timer: LoopTimer?
        var isStopped = false

        init(_ addresses: UpstreamAddresses, _ settings: ResolverSettings) {
            self.addresses = addresses
            name = addresses.target.host
            state = ResolutionState(settings)
        }

        deinit { timer?.cancel() }
    }

    private let loop: EventLoop
    private let settings: ResolverSettings
    // Confined to the loop.
    private let resolver: NameResolver
    private var clusters: [UpstreamCluster] = []
    private var watches: [ObjectIdentifier: Watch] = [:]
    private var checkers: [ObjectIdentifier: HealthChecker] = [:]
    private var isStopped = false

    /// Makes the loop; nothing is asked before `start`.
    package init(_ settings: ResolverSettings) throws(SystemCallError) {
        self.settings = settings
        loop = try EventLoop(index: 0, label: "hidgate.upstreams")
        resolver = NameResolver(settings, loop: loop)
    }

    package func start() { loop.start() }

    /// Takes care of these upstreams and of no others.
    package func adopt(_ clusters: [UpstreamCluster]) {
        loop.enqueue { [self] in
            guard !isStopped else { return }
            self.clusters = clusters
            reconcileNames()
            reconcileChecks()
        }
    }

    package func stop() {
        loop.enqueue { [self] in
            isStopped = true
            clusters = []
            reconcileNames()
            reconcileChecks()
            resolver.close()
        }
        loop.stop()
    }

    // MARK: - Names

    private func reconcileNames() {
        var kept: Set<ObjectIdentifier> = []
        for addresses in clusters.flatMap({ $0.servers.map(\.addresses) }) where addresses.target.needsResolver {
            let key = ObjectIdentifier(addresses)
            kept.insert(key)
            guard watches[key] == nil else { continue }
            let watch = Watch(addresses, settings)
            watches[key] = watch
            watch.timer = LoopTimer { [weak self, unowned watch] in self?.ask(watch) }
            ask(watch)
        }
        for (key, watch) in watches where !kept.contains(key) {
            watch.isStopped = true
            watch.timer?.cancel()
            watches[key] = nil
        }
    }

    private func ask(_ watch: Watch) {
        guard !watch.isStopped else { return }
        resolver.resolve(watch.name) { [weak self] answer in self?.answered(watch, answer) }
    }

    private func answered(_ watch: Watch, _ answer: NameResolver.Answer) {
        guard !watch.isStopped, let timer = watch.timer else { return }
        switch answer {
        case .success(let found):
            let (note, delay) = watch.state.answered(life: found.life)
            if watch.addresses.replace(by: found.addresses) {
                changed(watch, .addresses(name: watch.name, found.addresses.map(\.description)))
                reconcileChecks()
            }
            if note == .recovered { tell(watch, .recovered(name: watch.name)) }
            loop.set(timer, after: Delay(.nanoseconds(Int64(clamping: delay))))
        case .failure(let fault):
            let (note, delay) = watch.state.failed()
            switch note {
            case .stale: tell(watch, .stale(name: watch.name, cause: fault.description))
            case .unresolved: tell(watch, .unresolved(name: watch.name, cause: fault.description))
            case .recovered, nil: break
            }
            if watch.addresses.noteUnresolved() { changed(watch, nil) }
            if settings.nameservers.isEmpty { resolver.forget() }
            loop.set(timer, after: Delay(.nanoseconds(Int64(clamping: delay))))
        }
    }

    private func tell(_ watch: Watch, _ event: UpstreamEvent) {
        for cluster in clusters where cluster.servers.contains(where: { $0.addresses === watch.addresses }) {
            cluster.report(event)
        }
    }

    private func changed(_ watch: Watch, _ event: UpstreamEvent?) {
        for cluster in clusters where cluster.servers.contains(where: { $0.addresses === watch.addresses }) {
            cluster.changed()
            if let event { cluster.report(event) }
        }
    }

    // MARK: - Health

    private func reconcileChecks() {
        var kept: Set<ObjectIdentifier> = []
        for cluster in clusters {
            guard let policy = cluster.policy.health else { continue }
            for server in cluster.servers {
                for endpoint in server.addresses.endpoints {
                    let key = ObjectIdentifier(endpoint)
                    kept.insert(key)
                    if let known = checkers[key] {
                        known.move(to: cluster, as: server, policy)
                        continue
                    }
                    let checker = HealthChecker(endpoint, of: server, in: cluster, policy, loop: loop)
                    checkers[key] = checker
                    checker.start()
                }
            }
        }
        for (key, checker) in checkers where !kept.contains(key) {
            checker.stop()
            checkers[key] = nil
        }
    }
}
