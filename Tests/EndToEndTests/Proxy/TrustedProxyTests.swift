// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// Whose forwarding fields are believed, and how far.
@Suite(.timeLimit(.minutes(10))) struct TrustedProxyTests {
    private static let listeners =
        "[ { address: \"127.0.0.1:0\", trusted_proxies: [127.0.0.0/8, 10.0.0.0/8, \"2001:db8:a::/48\"] } ]"

    @Test(arguments: [
        ("X-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.0.0.1", "192.0.2.7"),
        ("X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 192.0.2.7, 10.1.2.3, 10.0.0.1", "192.0.2.7"),
        ("X-Forwarded-For: 10.0.0.2, 10.0.0.1", "10.0.0.2"),
        ("Forwarded: for=203.0.113.9, for=192.0.2.7;proto=https, for=10.0.0.1", "192.0.2.7"),
        ("Forwarded: for=\"[2001:db8::7]:4711\", for=\"[2001:db8:a::1]\"", "2001:db8::7"),
        ("X-Forwarded-For: 192.0.2.7, unknown, 10.0.0.1", "10.0.0.1"),
        ("", "127.0.0.1"),
    ])
    func `the right-most address that is no proxy is the client`(_ fields: String, _ client: String) throws {
        let bench = try Bench(.init(listeners: Self.listeners))
        let lines = fields.isEmpty ? "" : fields + "\r\n"
        #expect(try bench.once(get("/one", fields: lines))?.status == 200)
        let http2 = try bench.http2()
        let pairs = fields.split(separator: "\r\n").map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), String(parts[1].dropFirst()))
        }
        #expect(try http2.exchange("GET", "/two", pairs).status == 200)
        for path in ["/one", "/two"] {
            #expect(bench.daemon.accessLine { $0["path"].text == path }?["client"].text == client, "\(path)")
        }
    }

    @Test(arguments: [
        ("Forwarded: for=192.0.2.7, for=10.0.0.1", "192.0.2.7, 127.0.0.1"),
        ("Forwarded: for=\"[2001:db8::7]:4711\"", "2001:db8::7, 127.0.0.1"),
        ("Forwarded: for=unknown", "127.0.0.1"), ("X-Forwarded-For: 192.0.2.7", "192.0.2.7, 127.0.0.1"),
        ("X-Forwarded-For: 192.0.2.7\r\nForwarded: for=192.0.2.7", "192.0.2.7, 127.0.0.1"), ("", "127.0.0.1"),
    ])
    func `the upstream is told of the client in whichever way the proxy told it`(_ fields: String, _ told: String)
        throws
    {
        let bench = try Bench(.init(listeners: Self.listeners))
        #expect(try bench.once(get("/a", fields: fields.isEmpty ? "" : fields + "\r\n"))?.status == 200)
        #expect(bench.upstream.requests.first?.all("X-Forwarded-For") == [told])
        #expect(bench.upstream.requests.first?["Forwarded"] == nil)
    }

    @Test func `from anybody else forwarding fields are dropped`() throws {
        let bench = try Bench()
        let fields = "X-Forwarded-For: 192.0.2.7\r\nForwarded: for=192.0.2.8\r\nX-Real-IP: 192.0.2.9\r\n"
        let answer = try bench.once(get("/a", fields: fields + "X-Forwarded-Proto: https\r\n"))
        #expect(bench.line(of: answer)?["client"].text == "127.0.0.1")
        let request = bench.upstream.requests.first
        #expect(request?["X-Forwarded-For"] == "127.0.0.1")
        #expect(request?["X-Forwarded-Proto"] == "http")
        #expect(request?["X-Real-IP"] == nil || request?["X-Real-IP"] == "127.0.0.1")
        #expect(request?.all("Forwarded").contains { $0.contains("192.0.2") } == false)
    }

    @Test func `a header and a field are walked together`() throws {
        let bench = try Bench(
            .init(
                listeners:
                    "[ { address: \"127.0.0.1:0\", proxy_protocol: true, trusted_proxies: [127.0.0.1, 10.0.0.0/8] } ]"))
        let outer = Array("PROXY TCP4 10.0.0.9 198.51.100.1 4711 443\r\n".utf8)
        let inner = Array("PROXY TCP4 192.0.2.50 198.51.100.1 4711 443\r\n".utf8)
        let request = Array(get("/a", fields: "X-Forwarded-For: 192.0.2.7\r\n").utf8)
        #expect(bench.line(of: try bench.once(outer + request))?["client"].text == "192.0.2.7")
        #expect(bench.line(of: try bench.once(inner + request))?["client"].text == "192.0.2.50")
    }
}
