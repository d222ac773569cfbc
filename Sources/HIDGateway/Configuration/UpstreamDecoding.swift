// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDService

extension ConfigurationDecoder {
    func decodeUpstreams(_ map: MappingReader) {
        guard let section = map.required("upstreams") else {
            knowsUpstreams = false
            return
        }
        let decoded: Void? = section.mapping { upstreams in
            for (name, mark, value) in upstreams.allEntries() {
                requireName(name, of: "an upstream", at: mark)
                // Known even when it is faulty, so that its users are not reported as well.
                configuration.upstreams[name] = UpstreamConfiguration(
                    name: name, url: UpstreamURL(isTLS: false, host: "", port: 0))
                value.mapping { decodeUpstream(name, $0) }
            }
        }
        knowsUpstreams = decoded != nil
    }

    private func decodeUpstream(_ name: String, _ map: MappingReader) {
        let connectTimeout = map.value("connect_timeout")?.duration()
        let responseTimeout = map.value("response_timeout")?.duration()
        let idleTimeout = map.value("idle_timeout")?.duration()
        var tls = UpstreamTLSConfiguration()
        map.value("tls")?.mapping { decodeUpstreamTLS($0, &tls) }
        let policy = upstreamPolicy(map)
        let servers = upstreamServers(map)
        guard let first = servers.first else { return }
        if let mark = map.keyMark("tls"), !first.url.isTLS {
            reporter.error("'tls' needs an https URL", at: mark)
        }
        if let mark = map.keyMark("proxy_protocol"), policy.sendsProxyHeader, first.url.isTLS {
            reporter.error("'proxy_protocol' is not available with https", at: mark)
        }
        var upstream = UpstreamConfiguration(name: name, url: first.url)
        upstream.servers = servers
        upstream.tls = tls
        upstream.connectTimeout = connectTimeout ?? upstream.connectTimeout
        upstream.responseTimeout = responseTimeout ?? upstream.responseTimeout
        upstream.idleTimeout = idleTimeout ?? upstream.idleTimeout
        upstream.policy = policy
        configuration.upstreams[name] = upstream
    }

    /// The list of `servers`, or the one of `url`; empty after a fault.
    private func upstreamServers(_ map: MappingReader) -> [UpstreamServerConfiguration] {
        guard let list = map.value("servers") else {
            return map.required("url").flatMap(upstreamURL).map { [UpstreamServerConfiguration(url: $0)] } ?? []
        }
        if map.value("url") != nil, let mark = map.keyMark("url") {
            reporter.error("'url' and 'servers' exclude each other", at: mark)
        }
        guard let entries = list.nonEmptyList() else { return [] }
        guard entries.count <= 256 else {
            list.mustBe("a list of at most 256 servers")
            return []
        }
        let servers = entries.compactMap { entry in entry.mapping(upstreamServer) ?? nil }
        guard servers.count == entries.count else { return [] }
        for (index, server) in servers.enumerated() {
            if servers[..<index].contains(where: { $0.url == server.url }) {
                entries[index].error("server \(server.url.text.quoted) is listed twice")
            }
            if server.url.isTLS != servers[0].url.isTLS {
                entries[index].error("the servers of an upstream must all be https, or none of them")
            }
        }
        if servers.allSatisfy({ $0.weight == 0 }) {
            list.error("at least one server needs a weight above 0")
        }
        return servers
    }

    private func upstreamServer(_ map: MappingReader) -> UpstreamServerConfiguration? {
        let weight = map.value("weight")?.integer(in: 0...256)
        let maximumConnections = map.value("max_connections")?.integer(in: 1...65535)
        guard let url = map.required("url").flatMap(upstreamURL) else { return nil }
        var server = UpstreamServerConfiguration(url: url)
        server.weight = weight ?? 1
        server.maximumConnections = maximumConnections
        return server
    }

    private func decodeUpstreamTLS(_ map: MappingReader, _ tls: inout UpstreamTLSConfiguration) {
        tls.certificateAuthorities = map.value("ca").flatMap(paths.existingFile)
        tls.verify = map.value("verify")?.bool() ?? tls.verify
        if let value = map.value("server_name"), let name = value.string() {
            if !HostName.isValid(name) { value.mustBe("a host name") }
            tls.serverName = name
        }
        if !tls.verify {
            map.value("verify")?.warning("the certificate of this upstream is not verified")
        }
    }

    private func upstreamURL(_ value: ConfigurationValue) -> UpstreamURL? {
        if let text = value.scalar("a URL"), text.hasPrefix("unix:") {
            do throws(AddressText.Fault) {
                let path = try AddressText.unixPath(String(text.dropFirst(5)))
                return UpstreamURL(isTLS: false, host: "", port: 0, unixPath: path)
            } catch {
                value.error("URL \(text.quoted) \(error.message)")
                return nil
            }
        }
        guard !value.node.isNull, case .scalar = value.node.content, let url = value.url() else { return nil }
        guard url.target.isEmpty || url.target == "/" else {
            value.error("the URL of an upstream must not hold a path or a query: requests bring their own")
            return nil
        }
        return UpstreamURL(isTLS: url.isTLS, host: url.host, port: url.port)
    }

    /// A name that the author chose and that logs and metrics show.
    func requireName(_ name: String, of what: String, at mark: Mark) {
        let isGood = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isGood, (1...64).contains(name.utf8.count) else {
            reporter.error(
                "the name of \(what) must be 1 to 64 letters, digits, '-', '_' or '.', not \(name.quoted)", at: mark)
            return
        }
    }
}
