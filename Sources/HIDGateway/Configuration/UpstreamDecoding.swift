// SPDX-License-Identifier: Apache-2.0
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
        map.notAvailable("servers", "health")
        let connectTimeout = map.value("connect_timeout")?.duration()
        let responseTimeout = map.value("response_timeout")?.duration()
        let idleTimeout = map.value("idle_timeout")?.duration()
        let maximumConnections = map.value("max_connections")?.integer(in: 1...65535)
        var tls = UpstreamTLSConfiguration()
        map.value("tls")?.mapping { decodeUpstreamTLS($0, &tls) }
        // Who wrote `servers` has been told; a missing `url` would be a second fault for one cause.
        let value = map.keyMark("servers") == nil ? map.required("url") : map.value("url")
        guard let value, let url = upstreamURL(value) else { return }
        if let mark = map.keyMark("tls"), !url.isTLS {
            reporter.error("'tls' needs an https URL", at: mark)
        }
        var upstream = UpstreamConfiguration(name: name, url: url)
        upstream.tls = tls
        upstream.connectTimeout = connectTimeout ?? upstream.connectTimeout
        upstream.responseTimeout = responseTimeout ?? upstream.responseTimeout
        upstream.idleTimeout = idleTimeout ?? upstream.idleTimeout
        upstream.maximumConnections = maximumConnections ?? upstream.maximumConnections
        configuration.upstreams[name] = upstream
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
