// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDService

/// How requests are spread over servers, queued, repeated and kept away from what is ill.
extension ConfigurationDecoder {
    private enum ProxyHeaderVersion: String, CaseIterable {
        case off
        case v2
    }

    func upstreamPolicy(_ map: MappingReader) -> UpstreamPolicy {
        var policy = UpstreamPolicy()
        policy.maximumConnections =
            map.value("max_connections")?.integer(in: 1...65535) ?? policy.maximumConnections
        map.value("queue")?.mapping { queue in
            policy.queueSize = queue.value("size")?.integer(in: 0...65535) ?? policy.queueSize
            policy.queueTimeout =
                queue.value("timeout")?.duration(in: .milliseconds(1) ... .seconds(60)) ?? policy.queueTimeout
        }
        map.value("retries")?.mapping { retries in
            policy.retryPercent = retries.value("budget_percent")?.integer(in: 0...100) ?? policy.retryPercent
            policy.retriesPerSecond =
                retries.value("min_per_second")?.integer(in: 0...1000) ?? policy.retriesPerSecond
        }
        if let value = map.value("ejection") { policy.ejection = ejection(value) }
        policy.health = map.value("health")?.mapping(healthPolicy) ?? nil
        policy.sendsProxyHeader = map.value("proxy_protocol")?.word(ProxyHeaderVersion.self) == .v2
        return policy
    }

    /// `off`, or a mapping.
    private func ejection(_ value: ConfigurationValue) -> EjectionPolicy? {
        if case .scalar(let text, _) = value.node.content, !value.node.isNull {
            if text != "off" { value.mustBe("a mapping or off") }
            return nil
        }
        return value.mapping { map in
            var policy = EjectionPolicy()
            policy.failures = map.value("failures")?.integer(in: 1...1000) ?? policy.failures
            policy.within = map.value("within")?.duration(in: Self.moments) ?? policy.within
            policy.time = map.value("for")?.duration(in: Self.moments) ?? policy.time
            policy.longest = map.value("max_for")?.duration(in: Self.moments) ?? max(policy.longest, policy.time)
            policy.maximumPercent = map.value("max_percent")?.integer(in: 1...100) ?? policy.maximumPercent
            policy.countsStatuses = map.value("statuses")?.bool() ?? policy.countsStatuses
            if policy.longest < policy.time, let mark = map.keyMark("max_for") {
                reporter.error("'max_for' must not be shorter than 'for'", at: mark)
            }
            return policy
        }
    }

    private static let moments: ClosedRange<Duration> = .milliseconds(100) ... .seconds(86400)

    private func healthPolicy(_ map: MappingReader) -> HealthPolicy? {
        let interval = map.value("interval")?.duration(in: .milliseconds(100) ... .seconds(3600))
        let timeout = map.value("timeout")?.duration(in: .milliseconds(10) ... .seconds(60))
        let statuses = map.value("status").flatMap(healthStatuses)
        let rise = map.value("rise")?.integer(in: 1...100)
        let fall = map.value("fall")?.integer(in: 1...100)
        let host = map.value("host").flatMap(healthHost)
        guard let path = map.required("path").flatMap(healthPath) else { return nil }
        var policy = HealthPolicy(path: path)
        policy.interval = interval ?? policy.interval
        policy.timeout = timeout ?? policy.timeout
        policy.statuses = statuses ?? policy.statuses
        policy.rise = rise ?? policy.rise
        policy.fall = fall ?? policy.fall
        policy.host = host
        return policy
    }

    private func healthPath(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        let isTarget =
            text.utf8.first == 0x2F && text.utf8.count <= 1024
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 && $0 != 0x5C }
        guard isTarget else {
            value.mustBe("a path that starts with '/', in printable ASCII")
            return nil
        }
        return text
    }

    private func healthHost(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        do throws(AddressText.Fault) {
            _ = try AddressText.hostAndPort(text, defaultPort: 80)
            return text
        } catch {
            value.mustBe("a host name or address, with or without a port")
            return nil
        }
    }

    /// `204`, `200-399`, or a list of them.
    private func healthStatuses(_ value: ConfigurationValue) -> [ClosedRange<Int>]? {
        if case .sequence = value.node.content {
            guard let entries = value.nonEmptyList() else { return nil }
            let ranges = entries.compactMap(healthStatus)
            return ranges.count == entries.count ? ranges : nil
        }
        return healthStatus(value).map { [$0] }
    }

    private func healthStatus(_ value: ConfigurationValue) -> ClosedRange<Int>? {
        let what = "a status like 204 or a range like 200-399"
        guard let text = value.scalar(what) else { return nil }
        let bounds = text.utf8.split(separator: 0x2D, omittingEmptySubsequences: false).map(ScalarText.integer)
        let isGood = (1...2).contains(bounds.count) && bounds.allSatisfy { (200...599).contains($0 ?? 0) }
        guard isGood, let low = bounds.first ?? nil, let high = bounds.last ?? nil, low <= high else {
            value.mustBe(what)
            return nil
        }
        return low...high
    }

    // MARK: - Resolver

    func decodeResolver(_ map: MappingReader) {
        var settings = ResolverSettings()
        if let entries = map.value("nameservers")?.nonEmptyList() {
            settings.nameservers = entries.compactMap(nameserver)
        }
        settings.minimumLife = map.value("min_ttl")?.duration(in: Self.moments) ?? settings.minimumLife
        settings.maximumLife = map.value("max_ttl")?.duration(in: Self.moments) ?? settings.maximumLife
        settings.timeout =
            map.value("timeout")?.duration(in: .milliseconds(100) ... .seconds(60)) ?? settings.timeout
        if settings.maximumLife < settings.minimumLife, let mark = map.keyMark("max_ttl") ?? map.keyMark("min_ttl") {
            reporter.error("'max_ttl' must not be shorter than 'min_ttl'", at: mark)
        }
        configuration.resolver = settings
    }

    private func nameserver(_ value: ConfigurationValue) -> String? {
        let what = "an IP address with or without a port, as in 127.0.0.1:53"
        guard let text = value.scalar(what) else { return nil }
        do throws(AddressText.Fault) {
            let isBare = IPAddressText.octets(text) != nil
            let (host, port) = isBare ? (text, 53) : try AddressText.hostAndPort(text, defaultPort: 53)
            guard port > 0, IPAddressText.octets(host) != nil else {
                value.mustBe(what)
                return nil
            }
            return "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        } catch {
            value.mustBe(what)
            return nil
        }
    }
}
