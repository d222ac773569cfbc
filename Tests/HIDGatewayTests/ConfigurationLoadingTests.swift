// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDGateway
import HIDService
import HIDTesting
import Testing

@Suite struct ConfigurationLoadingTests {
    static let minimal = """
        version: 1
        listeners: [{ address: 127.0.0.1:0 }]
        upstreams: { api: { url: "http://127.0.0.1:9000" } }
        defaults: { upstream: api }

        """

    /// The folder of the package.
    static let root = String(#filePath.dropLast("Tests/HIDGatewayTests/ConfigurationLoadingTests.swift".utf8.count))

    @Test func `the sample files load without a fault and say the defaults`() throws {
        let (loaded, diagnostics) = GatewayConfiguration.load(path: Self.root + "etc/hidgate/gateway.yaml")
        #expect(diagnostics.rendered == "")
        let sample = try #require(loaded)
        let plain = GatewayConfiguration()
        #expect(sample.sessions == plain.sessions)
        #expect(sample.store == plain.store)
        #expect(sample.limits == plain.limits)
        #expect(sample.timeouts == plain.timeouts)
        #expect(sample.accessLog == plain.accessLog)
        #expect(sample.loops == plain.loops)
        #expect(sample.defaults.mode == plain.defaults.mode)
        #expect(sample.routes.map(\.name) == ["login", "checkout", "internal"])
    }

    @Test func `the sample files load as well with every commented default in force`() throws {
        let path = Self.root + "etc/hidgate/gateway.yaml"
        let bytes = try FileSystem.contents(of: path, limit: 1 << 20)
        let lines = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        let commented = lines.filter { $0.contains("# connect_timeout:") || $0.contains("# leeway:") }
        #expect(commented.count == 2)
        let text = lines.map { line in
            let keys = [
                "connect_timeout", "response_timeout", "idle_timeout", "max_connections", "max_stale", "queue",
                "retries", "ejection", "proxy_protocol",
            ]
            let all = keys + ["cooldown", "leeway", "max_life", "trusted_proxies", "block", "path_policy"]
            guard let hash = line.firstIndex(of: "#") else { return line }
            let rest = line[line.index(after: hash)...].drop { $0 == " " }
            guard all.contains(where: { rest.hasPrefix($0 + ":") }) else { return line }
            return String(line[..<hash] + rest)
        }.joined(separator: "\n").replacing("\"rules.d/*.yaml\"", with: "")
        let folder = try ConfigurationFolder(["gateway.yaml": text + "\n"])
        let (configuration, faults) = folder.load()
        #expect(faults == "")
        let upstream = try #require(configuration?.upstreams["api"])
        #expect(upstream == UpstreamConfiguration(name: "api", url: upstream.url))
        let issuer = try #require(configuration?.issuers.first)
        #expect(
            issuer == IssuerConfiguration(issuer: issuer.issuer, audience: issuer.audience, keys: issuer.keys))
        #expect(configuration?.defaults.block == BlockAnswer())
        #expect(configuration?.listeners.first?.trustedProxies.count == 2)
    }

    @Test func `a minimal file has the defaults`() throws {
        let (loaded, faults) = try ConfigurationFolder(["gateway.yaml": Self.minimal]).load()
        #expect(faults == "")
        var expected = GatewayConfiguration()
        expected.listeners = [ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))]
        let url = UpstreamURL(isTLS: false, host: "127.0.0.1", port: 9000)
        expected.upstreams = ["api": UpstreamConfiguration(name: "api", url: url)]
        expected.defaults.upstream = "api"
        expected.fingerprint = try #require(loaded).fingerprint
        #expect(loaded == expected)
        #expect(expected.fingerprint != 0)
    }

    @Test func `a file that is not there is one fault`() {
        let (configuration, diagnostics) = GatewayConfiguration.load(path: "/no/such/gateway.yaml")
        #expect(configuration == nil)
        let expected =
            "/no/such/gateway.yaml:1:1: error: cannot read '/no/such/gateway.yaml': "
            + "no such file or directory\n"
        #expect(diagnostics.rendered == expected)
    }

    @Test func `rule files are read in the order of patterns and then of names`() throws {
        let rule = { (name: String) in "routes:\n  - { name: \(name), match: { path: /\(name) } }\n" }
        let folder = try ConfigurationFolder([
            "gateway.yaml": Self.minimal + "rules: [z.yaml, \"r-*.yaml\"]\n",
            "r-b.yaml": rule("b"), "r-a.yaml": rule("a"), "r-10.yaml": rule("ten"), "z.yaml": rule("z"),
            "r-c.yaml.off": "not read", ".r-d.yaml": "not read",
        ])
        let (configuration, faults) = folder.load()
        #expect(faults == "")
        #expect(configuration?.routes.map(\.name) == ["z", "ten", "a", "b"])
    }

    @Test func `the fingerprint changes with any octet of any file`() throws {
        let folder = try ConfigurationFolder([
            "gateway.yaml": Self.minimal + "rules: [r.yaml]\n", "r.yaml": "routes: []\n",
        ])
        let first = try #require(folder.load().configuration).fingerprint
        #expect(folder.load().configuration?.fingerprint == first)
        try folder.write("r.yaml", "routes: [ ]\n")
        #expect(folder.load().configuration?.fingerprint != first)
    }

    @Test func `paths are relative to gateway.yaml`() throws {
        let folder = try ConfigurationFolder([
            "gateway.yaml": Self.minimal + """
                issuers: [{ issuer: i, audience: [a, b], jwks: { file: keys.json } }]
                access_log: { to: ./access.log }
                admin: { address: "0.0.0.0:8701", token_file: admin.token }

                """,
            "keys.json": "{}", "admin.token": "x",
        ])
        let (configuration, faults) = folder.load()
        #expect(faults == "")
        #expect(configuration?.issuers.first?.keys == .file(path: "\(folder.path)/keys.json"))
        #expect(configuration?.accessLog == .file(path: "\(folder.path)/./access.log"))
        #expect(configuration?.admin?.tokenFile == "\(folder.path)/admin.token")
    }

    @Test func `plain and quoted off are the same`() throws {
        for word in ["off", "\"off\"", "'off'"] {
            let text = Self.minimal.replacing("upstream: api", with: "upstream: api, mode: \(word)")
            let (configuration, faults) = try ConfigurationFolder([
                "gateway.yaml": text + "access_log: { to: \(word) }\n"
            ]).load()
            #expect(faults == "")
            #expect(configuration?.defaults.mode == .off)
            #expect(configuration?.accessLog == .off)
        }
    }

    @Test func `a loopback address may serve its key set over http`() throws {
        for host in ["127.0.0.1:80", "localhost", "[::1]:8080", "127.9.9.9"] {
            let (configuration, faults) = try ConfigurationFolder([
                "gateway.yaml": Self.minimal
                    + "issuers: [{ issuer: i, audience: [a], jwks: { url: \"http://\(host)/j\", max_stale: 2h } }]\n"
            ]).load()
            #expect(faults == "")
            let expected = KeySetSource.url("http://\(host)/j", maximumStale: .seconds(7200), cooldown: .seconds(30))
            #expect(configuration?.issuers.first?.keys == expected)
        }
    }
}
