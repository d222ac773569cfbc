// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
package import HIDHTTP
package import HIDService
internal import Synchronization

/// The upstreams of the configuration in force: what loops, resolver and health checks share of each.
///
/// Any thread.
package final class UpstreamDirectory: Sendable {
    private struct Entry {
        var configuration: UpstreamConfiguration
        var cluster: UpstreamCluster
    }

    private let control: UpstreamControl
    private let log: Log
    private let entries = Mutex<[String: Entry]>([:])

    /// Starts resolving and checking.
    package init(_ configuration: GatewayConfiguration, log: Log) throws(StartError) {
        self.log = log
        do throws(SystemCallError) {
            control = try UpstreamControl(configuration.resolver)
        } catch {
            throw .startup("\(error)")
        }
        control.start()
        adopt(configuration)
    }

    package func stop() { control.stop() }

    /// Takes over another configuration: what did not change keeps its state.
    package func adopt(_ configuration: GatewayConfiguration) {
        let clusters = entries.withLock { entries in
            let old = entries
            entries = configuration.upstreams.mapValues { upstream in
                if let known = old[upstream.name], known.configuration == upstream { return known }
                return Entry(configuration: upstream, cluster: make(upstream, replacing: old[upstream.name]?.cluster))
            }
            return entries.values.map(\.cluster)
        }
        control.adopt(clusters)
    }

    private func make(_ upstream: UpstreamConfiguration, replacing older: UpstreamCluster?) -> UpstreamCluster {
        let servers = upstream.servers.map { server in
            let target = UpstreamTarget(upstream, server.url)
            let known = older?.servers.first { $0.addresses.target == target }?.addresses
            return UpstreamServer(
                addresses: known ?? UpstreamAddresses(target), label: server.url.text, weight: server.weight,
                maximumConnections: server.maximumConnections)
        }
        let (name, log) = (upstream.name, log)
        return UpstreamCluster(name: name, policy: upstream.policy, servers: servers, replacing: older) { event in
            Self.tell(event, of: name, log)
        }
    }

    /// What the loops share of an upstream.
    package func cluster(for upstream: UpstreamConfiguration) -> UpstreamCluster {
        entries.withLock { entries in
            if let known = entries[upstream.name] { return known.cluster }
            let cluster = make(upstream, replacing: nil)
            entries[upstream.name] = Entry(configuration: upstream, cluster: cluster)
            return cluster
        }
    }

    // MARK: - Log

    private static func tell(_ event: UpstreamEvent, of name: String, _ log: Log) {
        let upstream = Log.Value.string(name)
        switch event {
        case .down(let server, let cause):
            log.warning(
                "upstream.down", ["upstream": upstream, "server": .string(server), "cause": .string(cause)])
        case .up(let server): log.info("upstream.up", ["upstream": upstream, "server": .string(server)])
        case .ejected(let server, let seconds):
            log.warning(
                "upstream.ejected", ["upstream": upstream, "server": .string(server), "for_s": .integer(seconds)])
        case .panic: log.error("upstream.panic", ["upstream": upstream])
        case .panicOver: log.info("upstream.panic_over", ["upstream": upstream])
        case .stale(let host, let cause):
            log.warning("dns.stale", ["upstream": upstream, "name": .string(host), "cause": .string(cause)])
        case .unresolved(let host, let cause):
            log.error("dns.unresolved", ["upstream": upstream, "name": .string(host), "cause": .string(cause)])
        case .recovered(let host): log.info("dns.recovered", ["upstream": upstream, "name": .string(host)])
        case .addresses(let host, let addresses):
            log.info(
                "dns.addresses",
                [
                    "upstream": upstream, "name": .string(host),
                    "addresses": .string(addresses.joined(separator: " ")),
                ])
        }
    }

    // MARK: - Metrics

    private func current(_ name: String) -> UpstreamCluster? { entries.withLock { $0[name]?.cluster } }

    /// Registers the readings of every upstream there is now; those of one that a reload took away read 0.
    package func registerMetrics(_ registry: MetricsRegistry) {
        let clusters = entries.withLock { $0.values.map(\.cluster) }
        registry.gauge("hidgate_upstream_connections", help: "Upstream connections open now.") { [self] in
            entries.withLock { $0.values.reduce(0) { $0 + Double($1.cluster.open) } }
        }
        for cluster in clusters {
            let name = cluster.name
            let labels = [(name: "upstream", value: name)]
            registry.gauge("hidgate_upstream_queue", help: "Requests that wait for a connection.", labels: labels) {
                [self] in Double(current(name)?.waiting.load(ordering: .relaxed) ?? 0)
            }
            registry.gauge("hidgate_upstream_panic", help: "1 while no server is fit and all are used.", labels: labels)
            { [self] in current(name)?.isPanicking.load(ordering: .relaxed) == true ? 1 : 0 }
            registry.counter(
                "hidgate_upstream_panics_total", help: "Times that no server was fit any more.", labels: labels
            ) { [self] in Double(current(name)?.panics.load(ordering: .relaxed) ?? 0) }
            for server in cluster.servers { register(server.label, of: name, registry) }
        }
    }

    private func register(_ label: String, of name: String, _ registry: MetricsRegistry) {
        let labels = [(name: "upstream", value: name), (name: "server", value: label)]
        let read: @Sendable (@escaping @Sendable (UpstreamServer) -> Double) -> @Sendable () -> Double = { body in
            { [self] in current(name)?.servers.first { $0.label == label }.map(body) ?? 0 }
        }
        registry.gauge(
            "hidgate_upstream_up", help: "1 while an address of the server is fit for requests.", labels: labels,
            read: read { $0.isUp(MonotonicClock.now()) ? 1 : 0 })
        registry.gauge(
            "hidgate_upstream_server_connections", help: "Connections open to the server now.", labels: labels,
            read: read { Double($0.addresses.open.load(ordering: .relaxed)) })
        registry.gauge(
            "hidgate_upstream_server_active", help: "Exchanges under way with the server.", labels: labels,
            read: read { Double($0.active) })
        registry.counter(
            "hidgate_upstream_ejections_total", help: "Times that failures ejected an address of the server.",
            labels: labels, read: read { Double($0.addresses.ejections.load(ordering: .relaxed)) })
        registry.counter(
            "hidgate_upstream_checks_total", help: "Health checks by result.", labels: labels + [("result", "good")],
            read: read { Double($0.addresses.checksPassed.load(ordering: .relaxed)) })
        registry.counter(
            "hidgate_upstream_checks_total", help: "Health checks by result.", labels: labels + [("result", "bad")],
            read: read { Double($0.addresses.checksFailed.load(ordering: .relaxed)) })
    }
}

extension UpstreamTarget {
    init(_ upstream: UpstreamConfiguration, _ url: UpstreamURL) {
        self.init(isTLS: url.isTLS, host: url.host, port: url.port, unixPath: url.unixPath)
        certificateAuthorities = upstream.tls.certificateAuthorities
        verifiesCertificate = upstream.tls.verify
        serverName = upstream.tls.serverName
        connectTimeout = upstream.connectTimeout
        responseTimeout = upstream.responseTimeout
        idleTimeout = upstream.idleTimeout
    }
}
