// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Clients that are slow, or gone without a word.
@Suite(.timeLimit(.minutes(10))) struct OverloadSlowTests {
    static let timeouts = "timeouts: { header: 1s, body_idle: 1s, write: 1s }"

    /// caddyserver/caddy#7913.
    @Test func `complaint 34: slow clients leave good ones alone, are cut at the limit and named in the log`() throws {
        let upstream = try LoadUpstream()
        let sections = "timeouts: { header: 2s, body_idle: 2s, write: 2s }\nlimits: { per_client: 4000 }"
        let bench = try Bench(.init(upstream: ", max_connections: 64", sections: sections), url: upstream.url)
        let figures = try #require(
            try bench.measure(
                "slow",
                [
                    "--clients", "300", "--connections", "20", "--rate", "100", "--seconds", "5", "--rounds", "1",
                    "--patience", "10000",
                ]))
        #expect(figures["not_good"].number == 0, "\(bench.daemon.child.lines.suffix(3))")
        #expect(figures["slow_open"].number ?? 0 >= 200)
        let (without, with) = (figures["p99_without_ms"].number ?? 0, figures["p99_with_ms"].number ?? .infinity)
        #expect(with <= 4 * without + 150, "\(with) ms with, \(without) ms without slow clients")
        for end in ["header_timeout", "body_timeout"] {
            #expect(bench.daemon.accessLine { $0["end"].text == end } != nil, "\(end)")
        }
        // Slow readers are more than the upstream has connections: they are cut for others or for themselves.
        #expect(
            bench.daemon.accessLine { ["slow_client", "write_timeout"].contains($0["end"].text) } != nil)
    }

    @Test func `a body that comes octet by octet is cut all the same`() throws {
        let bench = try Bench(.init(sections: Self.timeouts))
        let client = try bench.client()
        try client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        var answered = false
        let deadline = Deadline(in: .seconds(15))
        while !answered, deadline.milliseconds > 0 {
            try? client.send("a")
            answered = (try? client.response(within: .milliseconds(100)))?.status == 408
        }
        #expect(answered)
        #expect(bench.daemon.accessLine { $0["end"].text == "body_timeout" } != nil)
        #expect(bench.upstream.accepted == 0, "nobody's connection was held meanwhile")
    }

    @Test func `an answer that is taken octet by octet is cut all the same`() throws {
        let size = 8 << 20
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            try peer.send(pattern(size))
        }
        let bench = try Bench(.init(sections: Self.timeouts), upstream: upstream)
        let client = try bench.client(receiveBuffer: 4 << 10)
        try client.send(get("/big"))
        var line: JSONValue?
        let deadline = Deadline(in: .seconds(15))
        while line == nil, deadline.milliseconds > 0 {
            _ = try? client.wire.receive(limit: 1, Deadline(in: .milliseconds(100)))
            line = bench.daemon.accessLine(within: .milliseconds(100)) { $0["end"].text == "write_timeout" }
        }
        #expect(line?["status"].number == 200)
    }

    @Test func `slow uploads hold no connection of their upstream`() throws {
        let bench = try Bench(.init(upstream: ", max_connections: 2"))
        let clients = try (0..<8).map { _ in try bench.client() }
        for client in clients {
            try client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        }
        for _ in 0..<5 { #expect(try bench.once(get("/a"))?.status == 200) }
        #expect(bench.upstream.accepted <= 2)
        for client in clients { try client.send([UInt8](repeating: 0x61, count: 97)) }
        for client in clients { #expect(try client.response()?.status == 200) }
        #expect(bench.upstream.requests.filter { $0.body.count == 100 }.count == 8)
    }

    @Test func `a large upload is streamed on after its first 16 KiB, and is whole`() throws {
        let bench = try Bench()
        let body = pattern(1_000_000)
        let client = try bench.client()
        try client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
        try client.send(Array(body[..<20_000]))
        try expectEventually { bench.upstream.accepted == 1 }
        try client.send(Array(body[20_000...]))
        #expect(try client.response()?.status == 200)
        #expect(bench.upstream.requests.last?.body == body)
        #expect(bench.upstream.requests.last?["Content-Length"] == "1000000")
    }

    @Test func `a slow reader gives its upstream connection up when there is no other`() throws {
        let size = 8 << 20
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                guard request.startLine.contains("/big") else {
                    try peer.send(ScriptedUpstream.ok("ok"))
                    continue
                }
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(pattern(size))
            }
        }
        let bench = try Bench(.init(upstream: ", max_connections: 2"), upstream: upstream)
        let slow = try (0..<2).map { _ in try bench.client(receiveBuffer: 4 << 10) }
        for client in slow {
            try client.send(get("/big"))
            #expect(try client.responseHead()?.status == 200)
        }
        // Not before they have stood still for a while.
        try expectEventually { try bench.once(get("/a"))?.status == 200 }
        let line = bench.daemon.accessLine { $0["end"].text == "slow_client" }
        #expect(line?["reason"].text == "limit.slow_client")
        #expect(line?["path"].text == "/big")
        #expect(try bench.once(get("/b"))?.status == 200)
        #expect(bench.daemon.accessLines.filter { $0["end"].text == "slow_client" }.count == 1)
    }

    /// haproxy/haproxy#136, #1179.
    @Test func `complaint 19: clients that half-close or vanish give their descriptors back`() throws {
        let upstream = try LoadUpstream()
        let sections = "timeouts: { header: 2s, body_idle: 2s, write: 2s }"
        let bench = try Bench(.init(upstream: ", idle_timeout: 1s", sections: sections), url: upstream.url)
        let figures = try #require(try bench.measure("vanish", ["--clients", "400", "--seconds", "1"]))
        let (base, most) = (figures["descriptors_base"].number ?? 0, figures["descriptors_most"].number ?? 0)
        #expect(most >= base + 200)
        #expect(figures["descriptors_after"].number ?? .infinity <= base)
        #expect(figures["back_s"].number ?? .infinity < 8, "twice the timeout, with room")
    }

    /// TykTechnologies/tyk#8483, gravitee-io/issues#918.
    @Test(arguments: ["upload", "download"])
    func `complaint 18: a large body through a slow peer takes no memory`(direction: String) throws {
        let upstream = try LoadUpstream()
        let bench = try Bench(url: upstream.url)
        let figures = try #require(try bench.measure(direction, ["--megabytes", "60", "--seconds", "1"]))
        #expect(figures["rss_more_mb"].number ?? .infinity < 4)
    }
}
