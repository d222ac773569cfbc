// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
internal import HIDService

extension DaemonKind where Configuration == GatewayConfiguration {
    /// The gateway daemon.
    package static var gateway: DaemonKind {
        DaemonKind(
            name: "hidgated", summary: "lets only genuine phones do critical things with an API",
            load: { GatewayConfiguration.load(path: $0) },
            start: { configuration, path, log, standardError throws(StartError) in
                try Gateway(configuration: configuration, path: path, log: log, standardError: standardError)
            },
            readyFields: { ("routes", $0.routes.count) },
            remarks: { configuration, log in
                DescriptorPlan(configuration).remark(log)
                for route in configuration.routes {
                    let mode = route.mode ?? configuration.defaults.mode
                    guard route.isCritical, mode != .block else { continue }
                    log.warning(
                        "route.not_enforced", ["route": .string(route.name), "mode": .string(mode.rawValue)])
                }
            },
            drainLimit: { $0.timeouts.drain })
    }
}

extension DescriptorPlan {
    /// For the limit of this process.
    init(_ configuration: GatewayConfiguration) {
        let upstreams = configuration.upstreams.values.reduce(0) { $0 + $1.maximumConnections }
        self.init(
            limit: DescriptorLimit.current, connections: configuration.limits.connections,
            upstreamConnections: upstreams)
    }
}
