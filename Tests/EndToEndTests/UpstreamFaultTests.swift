// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// What a bad answer looks like, and what it is called.
struct BadAnswer: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: String
    var reason = "dep.upstream_malformed"

    var testDescription: String { name }

    static let all: [BadAnswer] = [
        .init(name: "garbage", bytes: "\u{0}\u{1}\u{2} hello\r\n\r\n"),
        .init(name: "HTTP/0.9", bytes: "<html>"),
        .init(
            name: "length and chunked",
            bytes: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        .init(name: "two lengths", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        .init(name: "signed length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"),
        .init(name: "folded line", bytes: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n"),
        .init(name: "bare LF", bytes: "HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
        .init(name: "status 600", bytes: "HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n"),
        .init(name: "long head", bytes: "HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 70_000) + "\r\n\r\n"),
        .init(name: "unasked 101", bytes: "HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n", reason: "dep.upstream_switch"),
        .init(
            name: "endless 1xx", bytes: String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 40),
            reason: "dep.upstream_interim"),
        .init(name: "nothing", bytes: "", reason: "dep.upstream_closed"),
        .init(name: "half a head", bytes: "HTTP/1.1 200 OK\r\nContent-Le", reason: "dep.upstream_closed"),
    ]
}

@Suite(.timeLimit(.minutes(10))) struct UpstreamFaultTests {
    @Test(arguments: BadAnswer.all)
    func `a bad answer becomes 502`(_ bad: BadAnswer) throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send(bad.bytes)
            if bad.reason != "dep.upstream_closed" { _ = peer.wire.isEnded() }
        }
        let bench = try Bench(.init(upstream: ", response_timeout: 5s"), upstream: upstream)
        let client = try bench.client()
        let answer = try client.exchange("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
        #expect(answer?.status == 502)
        let line = bench.line(of: answer)
        #expect(line?["reason"].text == bad.reason)
        #expect(line?["decision"].text == "error")
        #expect(line?["upstream"].text == "api")
        #expect(upstream.hasEnded(1))
        #expect(upstream.requests.count == 1)
    }

    @Test func `an upstream that is down is 502 at once`() throws {
        let upstream = try ScriptedUpstream()
        let free = try Wire.listen(on: .port(0))
        let port = free.port
        free.close()
        let bench = try Bench(upstream: upstream, url: "http://127.0.0.1:\(port)")
        let start = ContinuousClock.now
        let client = try bench.client()
        let answer = try client.exchange(get("/a"))
        #expect(answer?.status == 502)
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_connect")
        #expect(try client.exchange(get("/b"))?.status == 502, "a 502 costs the client its connection")
    }

    @Test func `an upstream that does not answer is 504 at response_timeout`() throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            _ = peer.wire.isEnded()
        }
        let bench = try Bench(.init(upstream: ", response_timeout: 300ms"), upstream: upstream)
        let start = ContinuousClock.now
        let answer = try bench.once(get("/slow"))
        #expect(answer?.status == 504)
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_timeout")
        #expect(upstream.hasEnded(1), "the upstream connection is still open")
        #expect(upstream.requests.count == 1, "a request that timed out was sent again")
    }

    enum Cut: CaseIterable { case close, reset, badChunk, stall }

    @Test(arguments: Cut.allCases, [true, false])
    func `an answer that breaks off is never completed`(_ cut: Cut, _ isChunked: Bool) throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 1000"
            try peer.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n\(isChunked ? "5\r\nhello\r\n" : "hello")")
            // The start must be on its way before the connection breaks, or there is nothing to cut.
            _ = try? peer.wire.receive(Deadline(in: .milliseconds(100)))
            switch cut {
            case .close: peer.wire.close()
            case .reset: peer.wire.reset()
            case .badChunk: if isChunked { try peer.send("zz\r\nhello\r\n") }
            case .stall: _ = peer.wire.isEnded()
            }
        }
        let bench = try Bench(.init(upstream: ", response_timeout: 500ms"), upstream: upstream)
        let client = try bench.client()
        let answer = try client.exchange(get("/a"))
        #expect(answer?.status == 200)
        #expect(answer?.isComplete == false)
        #expect(client.isClosed())
        let line = bench.daemon.accessLine { $0["path"].text == "/a" }
        #expect(line?["end"].text == "upstream_abort")
        #expect(line?["decision"].text == "error")
    }

    @Test func `stray bytes on an idle connection reach no client (curl 10690)`() throws {
        let board = Monitor((isIdle: false, isClosed: false))
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                try peer.send(ScriptedUpstream.ok(request.target))
                guard request.target == "/poison" else { continue }
                _ = board.wait { $0.isIdle ? true : nil }
                try peer.send(ScriptedUpstream.ok("POISON"))
                let isClosed = peer.wire.isEnded(Deadline(in: .seconds(3)))
                board.withLock { $0.isClosed = isClosed }
                return
            }
        }
        let bench = try Bench(.init(upstream: ", idle_timeout: 60s"), upstream: upstream)
        for round in 0..<20 {
            board.withLock { $0 = (false, false) }
            #expect(try bench.once(get("/poison"))?.text == "/poison")
            board.withLock { $0.isIdle = true }
            // Delivery takes its time also on the loopback: the gateway closes what it finds poisoned.
            #expect(board.wait { $0.isClosed ? true : nil } == true)
            #expect(try bench.once(get("/next\(round)"))?.text == "/next\(round)")
        }
    }

    @Test func `bytes behind an answer in the same segment reach no client`() throws {
        let upstream = try ScriptedUpstream(
            ScriptedUpstream.answering { ScriptedUpstream.ok($0.target) + ScriptedUpstream.ok("POISON") })
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        for round in 0..<20 { #expect(try client.exchange(get("/n\(round)"))?.text == "/n\(round)") }
    }

    @Test func `bytes after an answer without content reach no client (contour 4458, envoy 9274)`() throws {
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                if request.method == "HEAD" {
                    try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON")
                } else if request.target == "/304" {
                    try peer.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nPOISON")
                } else {
                    try peer.send(ScriptedUpstream.ok("clean"))
                }
            }
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        for _ in 0..<10 {
            #expect(try client.exchange(get("/h", method: "HEAD"), isHead: true)?.status == 200)
            #expect(try client.exchange(get("/a"))?.text == "clean")
            #expect(try client.exchange(get("/304"))?.status == 304)
            #expect(try client.exchange(get("/a"))?.text == "clean")
        }
    }

    /// Answers the first request of each connection and dies after it has read the second.
    private static func dying() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            guard try peer.request() != nil else { return }
            try peer.send(ScriptedUpstream.ok("first"))
            _ = try peer.request()
        }
    }

    @Test(arguments: ["POST", "DELETE", "PATCH"])
    func `an unsafe request is sent once, whatever happens`(_ method: String) throws {
        let upstream = try Self.dying()
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        #expect(try client.exchange(get("/warm"))?.text == "first")
        let answer = try client.exchange("\(method) /pay HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(answer?.status == 502)
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_closed")
        #expect(upstream.requests.filter { $0.target == "/pay" }.count == 1)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS"])
    func `a safe request is sent again once on a reused connection that died`(_ method: String) throws {
        let upstream = try Self.dying()
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        #expect(try client.exchange(get("/warm"))?.text == "first")
        let answer = try client.exchange(get("/read", method: method), isHead: method == "HEAD")
        #expect(answer?.status == 200)
        #expect(upstream.requests.filter { $0.target == "/read" }.count == 2)
    }

    @Test func `a safe request on a fresh connection is not sent again`() throws {
        let upstream = try ScriptedUpstream { peer in _ = try peer.request() }
        let bench = try Bench(upstream: upstream)
        #expect(try bench.once(get("/read"))?.status == 502)
        #expect(upstream.requests.count == 1)
    }

    @Test func `a client that is gone takes its upstream connection with it`() throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            gate.open()
            _ = peer.wire.isEnded()
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        try client.send(get("/slow"))
        #expect(gate.wait())
        client.wire.close()
        #expect(upstream.hasEnded(1))
        let line = bench.daemon.accessLine { $0["path"].text == "/slow" }
        #expect(line?["end"].text == "client_abort")
        #expect(line?["status"].number == 0)
    }

    @Test func `max_connections is 503 with Retry-After`() throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            gate.wait()
            try peer.send(ScriptedUpstream.ok("late"))
        }
        let bench = try Bench(.init(upstream: ", max_connections: 1"), upstream: upstream)
        let first = try bench.client()
        try first.send(get("/one"))
        #expect(upstream.requests(1).count == 1)
        let second = try bench.once(get("/two"))
        #expect(second?.status == 503)
        #expect(second?["Retry-After"] != nil)
        #expect(bench.line(of: second)?["reason"].text == "limit.upstream_connections")
        gate.open()
        #expect(try first.response()?.text == "late")
    }
}
