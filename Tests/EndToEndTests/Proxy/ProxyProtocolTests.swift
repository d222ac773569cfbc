// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// The PROXY protocol of a listener.
@Suite(.timeLimit(.minutes(10))) struct ProxyProtocolTests {
    private static let listeners = "[ { address: \"127.0.0.1:0\", proxy_protocol: true } ]"
    private static let text = Array("PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n".utf8)
    /// Version 2: the same client.
    private static let binary: [UInt8] =
        [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x21, 0x11, 0, 12]
        + [192, 0, 2, 7, 198, 51, 100, 1, 0x12, 0x67, 1, 187]
    private static let sixth = Array("PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n".utf8)
    private static let unknown = Array("PROXY UNKNOWN\r\n".utf8)

    private static func text(_ host: Int) -> [UInt8] {
        Array("PROXY TCP4 192.0.2.\(host) 198.51.100.1 4711 443\r\n".utf8)
    }

    @Test(arguments: [
        (text, "192.0.2.7"), (binary, "192.0.2.7"), (sixth, "2001:db8::7"), (unknown, "127.0.0.1"),
    ])
    func `the client of the header is the client of everything, without TLS and with it`(
        _ header: [UInt8], _ client: String
    ) throws {
        let plain = try Bench(.init(listeners: Self.listeners))
        #expect(try plain.once(header + Array(get("/plain").utf8))?.status == 200)
        let http2 = HTTP2Client(try Wire.connect(to: plain.address))
        try http2.send(header)
        try http2.greet()
        #expect(try http2.exchange("GET", "/h2c").status == 200)
        let tls = try TLSBench(listener: ", proxy_protocol: true")
        #expect(try LinkClient(tls.dial(before: header)).exchange(get("/tls"))?.status == 200)
        for (bench, path) in [(plain, "/plain"), (plain, "/h2c"), (tls.bench, "/tls")] {
            #expect(bench.daemon.accessLine { $0["path"].text == path }?["client"].text == client, "\(path)")
            let request = bench.upstream.requests.first { $0.target == path }
            #expect(request?["X-Forwarded-For"] == client, "\(path)")
        }
    }

    @Test func `a header in single octets is read, over TLS as well`() throws {
        let plain = try Bench(.init(listeners: Self.listeners))
        for header in [Self.text, Self.binary] {
            let client = try plain.client()
            for octet in header { try client.send([octet]) }
            #expect(try client.exchange(get("/a"))?.status == 200)
        }
        #expect(plain.daemon.accessLines.allSatisfy { $0["client"].text == "192.0.2.7" })
        let tls = try TLSBench(listener: ", proxy_protocol: true")
        let wire = try Wire.connect(to: tls.bench.address)
        for octet in Self.binary { try wire.send([octet]) }
        let client = try TLSTestClient(tls.options())
        while client.shake() == .again {
            let octets = client.takeOutput()
            if !octets.isEmpty { try wire.send(octets) } else { client.give(try wire.receive(Deadline())) }
        }
        #expect(client.isEstablished)
    }

    @Test func `a connection without a good header is closed and counted`() throws {
        let bench = try Bench(.init(listeners: Self.listeners))
        let bad: [[UInt8]] = [
            Array(get("/a").utf8), Array("PROXY TCP4 192.0.2.7 198.51.100.1 04711 443\r\n".utf8),
            Array("PROXY TCP4 nonsense\r\n".utf8), Array(Self.binary.prefix(12)) + [0x31, 0x11, 0, 0],
            HTTP2Wire.preface + HTTP2Wire.settings(),
        ]
        for octets in bad {
            let client = try bench.client()
            try client.send(octets)
            #expect(client.isClosed())
        }
        let cut = try bench.client()
        try cut.send(Array(Self.text.prefix(10)))
        cut.wire.close()
        #expect(
            bench.reaches("hidgate_openings_failed_total{cause=\"proxy_header\"}", bad.count))
        #expect(bench.upstream.accepted == 0)
        #expect(try bench.once(Self.text + Array(get("/a").utf8))?.status == 200)
    }

    @Test func `the end of the stream in a header is the end of the connection`() throws {
        let bench = try Bench(.init(listeners: Self.listeners))
        let client = try bench.client()
        try client.send(Array(Self.text.prefix(10)))
        client.wire.halfClose()
        #expect(client.isClosed(within: .seconds(5)))
    }

    @Test(arguments: ["GET /a HTTP/1.1\r\nHost: api.test\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a"])
    func `the end of the stream that comes with the header is seen as well`(_ request: String) throws {
        let bench = try Bench(.init(listeners: Self.listeners))
        let client = try bench.client()
        // So that header, request and end are there at once.
        bench.daemon.child.signal(SIGSTOP)
        try client.send(Self.text + Array(request.utf8))
        client.wire.halfClose()
        bench.daemon.child.signal(SIGCONT)
        if request.hasSuffix("\r\n\r\n") { #expect(try client.response()?.status == 200) }
        #expect(client.isClosed(within: .seconds(5)))
    }

    @Test func `a peer that may not send a header is closed at once`() throws {
        let bench = try Bench(
            .init(
                listeners: "[ { address: \"127.0.0.1:0\", proxy_protocol: true, trusted_proxies: [192.0.2.0/24] } ]"))
        let client = try bench.client()
        #expect(client.isClosed())
        #expect(try bench.metric("hidgate_openings_failed_total{cause=\"proxy_untrusted\"}") == 1)
    }

    @Test func `per_client counts whom the header names`() throws {
        let bench = try Bench(.init(listeners: Self.listeners, sections: "limits: { per_client: 2 }"))
        var clients: [RawClient] = []
        for host in [1, 1, 2, 2, 3] {
            let client = try bench.client()
            #expect(try client.exchange(Self.text(host) + Array(get("/a").utf8))?.status == 200)
            clients.append(client)
        }
        let extra = try bench.client()
        try extra.send(Self.text(1) + Array(get("/a").utf8))
        #expect(extra.wire.isEnded())
        #expect(try bench.metric("hidgate_connections_refused_total{cause=\"per_client\"}") == 1)
        clients.removeFirst().wire.close()
        #expect(
            IssuerBench.eventually {
                let again = try? bench.client()
                let request = Self.text(1) + Array(get("/a").utf8)
                return (try? again?.exchange(request))?.status == 200
            })
    }

    @Test func `what the listener read goes out again to an upstream that wants it`() throws {
        let seen = Monitor<[[UInt8]]>([])
        let upstream = try ScriptedUpstream { peer in
            var octets: [UInt8] = []
            while octets.count < 28 { octets += try peer.wire.more(limit: 28 - octets.count) }
            let header = octets
            seen.withLock { $0.append(header) }
            while let request = try peer.request() { try peer.send(ScriptedUpstream.ok(request.target)) }
        }
        let bench = try Bench(
            .init(listeners: Self.listeners, upstream: ", proxy_protocol: v2"), upstream: upstream)
        #expect(try bench.once(Self.text + Array(get("/a").utf8))?.text == "/a")
        let http2 = HTTP2Client(try Wire.connect(to: bench.address))
        try http2.send(Self.binary)
        try http2.greet()
        #expect(try http2.exchange("GET", "/b").text == "/b")
        let headers = seen.withLock { $0 }
        #expect(headers.count == 2)
        for header in headers {
            #expect(Array(header[12..<16]) == [0x21, 0x11, 0, 12])
            #expect(Array(header[16..<20]) == [192, 0, 2, 7])
        }
    }
}
