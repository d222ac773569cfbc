// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDGateway
import HIDHTTP
import HIDService
import HIDTesting
import Testing

/// Every key with a value that is not its default.
@Suite struct ConfigurationDecodingTests {
    @Test func `reads every key of gateway.yaml`() throws {
        let folder = try ConfigurationFolder(["gateway.yaml": Self.gateway, "ca.pem": "x"])
        let (loaded, faults) = folder.load()
        #expect(faults == "")
        let configuration = try #require(loaded)
        #expect(
            configuration.listeners.map(\.address) == [
                .tcp(host: "0.0.0.0", port: 8080), .tcp(host: "::1", port: 8081),
                .unix(path: "/run/hidgate/in.sock"), .descriptor(name: "http"),
            ])
        #expect(configuration.upstreams["plain"]?.url == UpstreamURL(isTLS: false, host: "api.internal", port: 80))
        #expect(
            configuration.upstreams["local"]?.url
                == UpstreamURL(isTLS: false, host: "", port: 0, unixPath: "/run/api.sock"))
        try expectSecure(try #require(configuration.upstreams["secure"]), folder)
        let issuer = try #require(configuration.issuers.first)
        #expect(issuer.issuer == "https://his.example.com")
        #expect(issuer.audience == ["one", "two"])
        #expect(issuer.leeway == .zero)
        #expect(issuer.maximumLife == .seconds(30))
        #expect(
            issuer.keys
                == .url("https://his.example.com/jwks?a=1", maximumStale: .seconds(7200), cooldown: .seconds(5)))
        #expect(configuration.defaults.upstream == "secure")
        #expect(configuration.defaults.mode == .safeBlocking)
        #expect(configuration.defaults.pathPolicy == .guarded)
        #expect(configuration.defaults.block.status == 451)
        #expect(configuration.defaults.block.body == .empty)
        #expect(!configuration.defaults.block.supportCode)
        #expect(configuration.sessions.idle == .seconds(60))
        #expect(configuration.sessions.retention == .seconds(86400))
        #expect(configuration.admin?.address == .unix(path: "/run/hidgate/admin.sock"))
        #expect(configuration.accessLog == .stdout)
        expectLimits(configuration)
        #expect(configuration.loops == 3)
        #expect(configuration.stateDirectory == "/var/lib/hidgate")
    }

    private func expectSecure(_ secure: UpstreamConfiguration, _ folder: ConfigurationFolder) throws {
        #expect(secure.name == "secure")
        #expect(secure.url == UpstreamURL(isTLS: true, host: "::1", port: 443))
        #expect(secure.tls.certificateAuthorities == "\(folder.path)/ca.pem")
        #expect(secure.tls.serverName == "api.example.com")
        #expect(secure.tls.verify)
        #expect(secure.connectTimeout == .milliseconds(250))
        #expect(secure.responseTimeout == .seconds(60))
        #expect(secure.idleTimeout == .seconds(1))
        #expect(secure.maximumConnections == 7)
    }

    @Test func `reads every key of servers, queue, retries, ejection, health and resolver`() throws {
        let (loaded, faults) = try ConfigurationFolder(["gateway.yaml": Self.many]).load()
        #expect(faults == "")
        let many = try #require(loaded?.upstreams["many"])
        #expect(many.servers.map(\.url.text) == ["http://a.test:1", "http://[::1]:2", "unix:/run/b.sock"])
        #expect(many.servers.map(\.weight) == [256, 0, 1])
        #expect(many.servers.map(\.maximumConnections) == [nil, nil, 3])
        var policy = UpstreamPolicy()
        (policy.maximumConnections, policy.queueSize, policy.queueTimeout) = (9, 0, .milliseconds(50))
        (policy.retryPercent, policy.retriesPerSecond, policy.sendsProxyHeader) = (0, 7, true)
        var ejection = EjectionPolicy()
        (ejection.failures, ejection.within, ejection.time) = (2, .seconds(3), .seconds(4))
        (ejection.longest, ejection.maximumPercent, ejection.countsStatuses) = (.seconds(5), 100, true)
        policy.ejection = ejection
        var health = HealthPolicy(path: "/up?deep=1")
        (health.interval, health.timeout, health.statuses) = (.seconds(1), .milliseconds(200), [204...204, 300...310])
        (health.rise, health.fall, health.host) = (1, 5, "api.test:80")
        policy.health = health
        #expect(many.policy == policy)
        #expect(loaded?.upstreams["calm"]?.policy.ejection == nil)
        #expect(loaded?.upstreams["calm"]?.policy.health?.statuses == [204...204])
        var resolver = ResolverSettings()
        resolver.nameservers = ["127.0.0.1:5353", "[::1]:53", "[::1]:5353", "192.0.2.1:53"]
        (resolver.minimumLife, resolver.maximumLife) = (.seconds(2), .seconds(60))
        resolver.timeout = .seconds(1)
        #expect(loaded?.resolver == resolver)
    }

    static let many = """
        version: 1
        listeners: [{ address: 127.0.0.1:0 }]
        upstreams:
          many:
            servers:
              - { url: "http://a.test:1", weight: 256 }
              - { url: "http://[::1]:2", weight: 0 }
              - { url: "unix:/run/b.sock", max_connections: 3 }
            max_connections: 9
            queue: { size: 0, timeout: 50ms }
            retries: { budget_percent: 0, min_per_second: 7 }
            ejection: { failures: 2, within: 3s, for: 4s, max_for: 5s, max_percent: 100, statuses: true }
            health:
              { path: "/up?deep=1", interval: 1s, timeout: 200ms, status: [204, 300-310], rise: 1, fall: 5,
                host: "api.test:80" }
            proxy_protocol: v2
          calm: { url: http://127.0.0.1, ejection: off, health: { path: /, status: 204 } }
        resolver:
          { nameservers: ["127.0.0.1:5353", "::1", "[::1]:5353", 192.0.2.1], min_ttl: 2s, max_ttl: 1m, timeout: 1s }
        defaults: { upstream: many }

        """

    private func expectLimits(_ configuration: GatewayConfiguration) {
        let limits = configuration.limits
        #expect(limits.headerBytes == 32 << 10)
        #expect(limits.headerFields == 50)
        #expect(limits.signedBody == 2_000_000)
        #expect(limits.body == 4096)
        #expect(limits.connections == 100)
        #expect(limits.connectionsPerClient == 10)
        #expect(limits.buffered == 1 << 30)
        #expect(limits.queueDelay == .milliseconds(250))
        #expect(limits.failedVerificationsPerClient == 5)
        #expect(limits.failedVerifications == .always)
        let timeouts = configuration.timeouts
        let all = [timeouts.header, timeouts.bodyIdle, timeouts.keepAlive, timeouts.write, timeouts.drain]
        #expect(all == [1, 2, 3, 4, 5].map { Duration.seconds($0) })
    }

    @Test func `reads every key of a rule`() throws {
        let (loaded, faults) = try ConfigurationFolder([
            "gateway.yaml": Self.gateway + "rules: [r.yaml]\n", "ca.pem": "x", "r.yaml": Self.rules,
        ]).load()
        #expect(faults == "")
        let rules = try #require(loaded).routes
        try #require(rules.count == 2)
        let login = rules[0]
        #expect(login.name == "login")
        #expect(login.match.host == "*.example.com")
        #expect(login.match.path.text == "/api/*/login/**")
        #expect(login.match.methods == ["POST", "PUT"])
        #expect(login.isCritical)
        #expect(login.mode == .block)
        #expect(!login.acceptsSignatureV1)
        #expect(login.acceptsSignatureV2)
        #expect(!login.requiresSignature)
        #expect(login.upstream == "local")
        #expect(login.allowedSpellings == [.encodedSlash, .encodedPercent, .semicolon])
        #expect(login.stripHeaders == ["x-hid-token", "cookie"])
        #expect(login.verdicts.human == .block)
        #expect(login.verdicts.suspicious == .pass)
        #expect(login.verdicts.bot == .pass)
        #expect(login.verdicts.blocked == .pass)
        #expect(login.replay == .onceWithGrace(.seconds(3)))
        #expect(login.onJWKSFailure == .open)
        #expect(login.onReplayFailure == .open)
        #expect(login.methodsNotListed == .pass)
        // What a rule does not say of its answer it takes from the defaults.
        #expect(login.block?.status == 404)
        #expect(login.block?.body == .empty)
        let path = PathPattern.root
        #expect(rules[1] == RouteRule(name: "plain", match: .init(host: nil, path: path, methods: [])))
    }

    @Test func `address blocks are masks over 128 bits`() throws {
        let (loaded, faults) = try ConfigurationFolder(["gateway.yaml": Self.gateway, "ca.pem": "x"]).load()
        #expect(faults == "")
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
        #expect(
            loaded?.listeners.first?.trustedProxies == [
                AddressBlock(prefix: mapped + [10, 0, 0, 0], prefixLength: 104),
                AddressBlock(prefix: mapped + [192, 0, 2, 1], prefixLength: 128),
                AddressBlock(prefix: mapped + [172, 16, 0, 0], prefixLength: 108),
                AddressBlock(prefix: [0x20, 0x01, 0x0D, 0xB8] + zeros(12), prefixLength: 32),
                AddressBlock(prefix: zeros(16), prefixLength: 0),
            ])
    }

    static let gateway = """
        version: 1
        listeners:
          - address: 0.0.0.0:8080
            trusted_proxies: [10.0.0.0/8, 192.0.2.1, 172.16.0.0/12, "2001:db8::/32", "::/0"]
          - address: "[::1]:8081"
          - address: unix:/run/hidgate/in.sock
          - address: fd:http
        upstreams:
          plain: { url: http://api.internal/ }
          local: { url: unix:/run/api.sock }
          secure:
            url: https://[::1]
            tls: { ca: ca.pem, verify: true, server_name: api.example.com }
            connect_timeout: 250ms
            response_timeout: 1m
            idle_timeout: 1s
            max_connections: 7
        issuers:
          - issuer: https://his.example.com
            audience: [one, two]
            jwks: { url: "https://his.example.com/jwks?a=1", max_stale: 2h, cooldown: 5s }
            leeway: 0s
            max_life: 30s
        defaults:
          upstream: secure
          mode: safe_blocking
          path_policy: guarded
          block: { status: 451, body: empty, support_code: false }
        sessions: { idle: 1m, retention: 1d }
        store: { kind: memory }
        admin: { address: unix:/run/hidgate/admin.sock }
        access_log: { to: stdout }
        limits:
          header_bytes: 32KiB
          header_fields: 50
          signed_body: 2MB
          body: 4096
          connections: 100
          per_client: 10
          buffered: 1GiB
          queue_delay: 250ms
          failed_verifications: { per_client: 5, when: always }
        timeouts: { header: 1s, body_idle: 2s, keep_alive: 3s, write: 4s, drain: 5s }
        loops: 3
        state_directory: /var/lib/hidgate

        """

    static let rules = """
        routes:
          - name: login
            match: { host: "*.EXAMPLE.com", path: "/api/*/login/**", methods: [POST, PUT] }
            critical: true
            mode: block
            signature: { accept: [v2], required: false }
            upstream: local
            strip_headers: [X-HID-Token, Cookie]
            allow: [encoded_slash, encoded_percent, semicolon]
            verdicts: { human: block, suspicious: pass, bot: pass, blocked: pass }
            replay: once_with_grace 3s
            on_dependency: { jwks: open, replay: open }
            block: { status: 404 }
            methods_not_listed: pass
          - name: plain
            match: { path: / }

        """
}
