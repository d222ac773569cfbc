// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Tunnels: checked like any request, opened only by the answer to the very handshake.
@Suite(.timeLimit(.minutes(10))) struct WebSocketTests {
    /// The example of RFC 6455 section 1.3.
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    static let handshake =
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: \(key)\r\n"
    static let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: \(accept)\r\n\r\n"
    static let routes = """
        routes:
          - { name: chat, match: { path: /chat }, upgrade: [websocket] }
          - { name: trade, match: { path: /trade, methods: [GET] }, critical: true, upgrade: [websocket] }
          - { name: login, match: { path: /api/v1/login, methods: [POST] }, critical: true }
        """

    /// Switches on request and sends back what it gets, in capitals.
    static func echo() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            guard let request = try peer.request() else { return }
            guard request["Upgrade"] == "websocket" else { return try peer.send(ScriptedUpstream.ok("plain")) }
            try peer.send(switching)
            while true {
                let bytes = try peer.wire.receive(Deadline())
                if bytes.isEmpty { return }
                try peer.send(bytes.map { (0x61...0x7A).contains($0) ? $0 - 32 : $0 })
            }
        }
    }

    private func open(_ bench: Bench, _ target: String = "/chat", fields: String = "") throws -> RawClient {
        let client = try bench.client()
        let answer = try client.exchange(get(target, fields: Self.handshake + fields))
        #expect(answer?.status == 101)
        #expect(answer?["Sec-WebSocket-Accept"] == Self.accept)
        #expect(answer?["Upgrade"] == "websocket")
        #expect(answer?["Connection"]?.lowercased() == "upgrade")
        return client
    }

    private func say(_ text: String, on client: RawClient) throws -> String {
        try client.send(text)
        var bytes: [UInt8] = []
        while bytes.count < text.utf8.count {
            let more = try client.octets()
            if more.isEmpty { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `octets pass both ways after 101, and one line tells of it at the end`() throws {
        let bench = try Bench(.init(routes: Self.routes), upstream: Self.echo())
        let client = try open(bench)
        #expect(try say("hello", on: client) == "HELLO")
        let large = String(repeating: "abcdefghij", count: 100_000)
        let wire = client.wire
        Thread.detachNewThread { try? wire.send(large) }
        var count = 0
        while count < large.utf8.count {
            let more = try client.octets()
            try #require(!more.isEmpty)
            #expect(more.allSatisfy { (0x41...0x4A).contains($0) })
            count += more.count
        }
        client.wire.shutDown()
        let line = bench.daemon.accessLine { $0["path"].text == "/chat" }
        #expect(line?["status"].number == 101)
        #expect(line?["upstream_status"].number == 101)
        #expect(line?["decision"].text == "pass")
        #expect(line?["end"] == .null)
        #expect((line?["bytes_in"].number ?? 0) > 1_000_000)
        #expect((line?["bytes_out"].number ?? 0) > 1_000_000)
    }

    @Test func `what the client sends before 101 is kept, not forwarded`() throws {
        let go = Gate()
        let early = Monitor<[UInt8]?>(nil)
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            let before = try? peer.wire.receive(Deadline(in: .milliseconds(200)))
            early.withLock { $0 = before ?? [] }
            go.wait()
            try peer.send(Self.switching)
            try peer.send(peer.wire.receive(Deadline()))
        }
        let bench = try Bench(.init(routes: Self.routes), upstream: upstream)
        let client = try bench.client()
        try client.send(get("/chat", fields: Self.handshake) + "early")
        #expect(early.wait { $0 } == [])
        go.open()
        #expect(try client.response()?.status == 101)
        #expect(try client.octets() == Array("early".utf8))
    }

    @Test func `a refused upgrade opens no tunnel: what follows is judged as a request (pingap 215)`() throws {
        let upstream = try ScriptedUpstream(
            ScriptedUpstream.answering { _ in
                "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n"
            })
        let bench = try Bench(.init(routes: Self.routes), upstream: upstream)
        let client = try bench.client()
        let login = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
        try client.send(get("/chat", fields: Self.handshake) + login)
        #expect(try client.response()?.status == 426)
        #expect(try client.response()?.status == 403)
        #expect(bench.upstream.requests.map(\.target) == ["/chat"])
    }

    @Test(arguments: [
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\nSec-WebSocket-Key: \(key)\r\n",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n",
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n"
            + "Content-Length: 0\r\n",
    ])
    func `half a handshake is an ordinary request`(fields: String) throws {
        let bench = try Bench(.init(routes: Self.routes), upstream: Self.echo())
        let answer = try bench.once(get("/chat", fields: fields))
        #expect(answer?.text == "plain")
        #expect(bench.upstream.requests.first?.all("Upgrade") == [])
    }

    @Test func `a route that does not allow it forwards no upgrade`() throws {
        let bench = try Bench(.init(routes: Self.routes), upstream: Self.echo())
        let answer = try bench.once(get("/other", fields: Self.handshake))
        #expect(answer?.text == "plain")
        #expect(bench.upstream.requests.first?.all("Upgrade") == [])
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n\r\n",
    ])
    func `a 101 that does not answer the handshake is 502`(head: String) throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send(head + "tunnelled?")
            _ = try peer.wire.receive(Deadline())
        }
        let bench = try Bench(.init(routes: Self.routes), upstream: upstream)
        let answer = try bench.once(get("/chat", fields: Self.handshake))
        #expect(answer?.status == 502)
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_switch")
    }

    @Test func `a critical route demands token and signature before the upgrade`() throws {
        let bench = try Bench(.init(routes: Self.routes), upstream: Self.echo())
        #expect(try bench.once(get("/trade", fields: Self.handshake))?.status == 403)
        #expect(bench.upstream.accepted == 0)
        let proof = "X-HID-Token: \(try bench.token())\r\nX-HID-Signature: \(try bench.signature([]))\r\n"
        let client = try open(bench, "/trade", fields: proof)
        #expect(try say("buy", on: client) == "BUY")
        #expect(bench.upstream.requests.first?["X-HID-Verdict"] == "human")
    }

    @Test func `a quiet tunnel ends at tunnel_idle with its name, a used one lives (envoy 20062, apisix 5440)`() throws
    {
        let bench = try Bench(
            .init(routes: Self.routes, sections: "timeouts: { tunnel_idle: 1s, header: 200ms, keep_alive: 200ms }"),
            upstream: Self.echo())
        let used = try open(bench)
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(2500) {
            #expect(try say("ping", on: used) == "PING")
            _ = try? used.octets(within: .milliseconds(250))
        }
        let quiet = try open(bench)
        #expect(quiet.isClosed())
        let line = bench.daemon.accessLine { $0["end"].text == "tunnel_idle" }
        #expect(line?["reason"].text == "http.tunnel_idle")
        #expect(line?["decision"].text == "error")
    }

    @Test func `open sockets survive reloads (caddy 5471, 6420, 7222, haproxy 93)`() throws {
        let bench = try Bench(.init(routes: Self.routes), upstream: Self.echo())
        let clients = try (0..<100).map { _ in try open(bench) }
        for round in 0..<20 {
            bench.daemon.child.signal(SIGHUP)
            #expect(bench.daemon.event("reload.done", count: round + 1) != nil)
        }
        for client in clients { #expect(try say("still", on: client) == "STILL") }
    }

    @Test func `the upstream's end and the client's end each end the other`() throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send(Self.switching + "bye")
        }
        let bench = try Bench(.init(routes: Self.routes), upstream: upstream)
        let client = try open(bench)
        #expect(try client.octets() == Array("bye".utf8))
        #expect(client.isClosed())
        let silent = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send(Self.switching)
            while try !peer.wire.receive(Deadline()).isEmpty {}
        }
        let other = try Bench(.init(routes: Self.routes), upstream: silent)
        try open(other).wire.shutDown()
        #expect(silent.hasEnded(1))
    }
}
