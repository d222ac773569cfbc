// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// What happens when all connections are taken.
@Suite(.timeLimit(.minutes(10))) struct UpstreamQueueTests {
    /// Answers each request once it is told to, in the order of arrival.
    private final class Held: Sendable {
        private let allowed = Monitor(0)
        let upstream: ScriptedUpstream

        init() throws {
            let allowed = allowed
            upstream = try ScriptedUpstream { peer in
                while let request = try peer.request() {
                    let isAllowed: Bool? = allowed.wait { count in
                        guard count > 0 else { return nil }
                        count -= 1
                        return true
                    }
                    guard isAllowed == true else { return }
                    try peer.send(ScriptedUpstream.ok(request.target))
                }
            }
        }

        func allow(_ count: Int = 1) { allowed.withLock { $0 += count } }
    }

    /// Waits until the gauge of the queue has that value.
    private func isQueued(_ count: Int, _ bench: Bench) throws -> Bool {
        let deadline = Deadline()
        while deadline.milliseconds > 0 {
            let text = try bench.admin("/metrics")?.text ?? ""
            if text.contains("hidgate_upstream_queue{upstream=\"api\"} \(count)\n") { return true }
        }
        return false
    }

    @Test(arguments: [1, 2])
    func `who waits is served in the order of arrival, on any loop`(_ loops: Int) throws {
        let held = try Held()
        let bench = try Bench(
            .init(upstream: ", max_connections: 1, queue: { timeout: 20s }", loops: loops), upstream: held.upstream)
        var clients: [RawClient] = []
        for index in 0..<12 {
            let client = try bench.client()
            try client.send(get("/\(index)"))
            clients.append(client)
            if index == 0 { #expect(held.upstream.requests(1).count == 1) } else { #expect(try isQueued(index, bench)) }
        }
        held.allow(12)
        for (index, client) in clients.enumerated() { #expect(try client.response()?.text == "/\(index)") }
        #expect(held.upstream.requests.map(\.target) == (0..<12).map { "/\($0)" })
        if loops == 1 { #expect(held.upstream.accepted == 1) }
        #expect(try isQueued(0, bench))
    }

    @Test func `a body waits with its request and arrives whole`() throws {
        let held = try Held()
        let bench = try Bench(.init(upstream: ", max_connections: 1, queue: { timeout: 20s }"), upstream: held.upstream)
        let first = try bench.client()
        try first.send(get("/first"))
        #expect(held.upstream.requests(1).count == 1)
        let body = pattern(300_000)
        let plain = try bench.client()
        try plain.send(Bench.post("/plain", body: body))
        let critical = try bench.client()
        try critical.send(try bench.good(body))
        #expect(try isQueued(2, bench))
        held.allow(3)
        #expect(try first.response()?.status == 200)
        #expect(try plain.response()?.status == 200)
        #expect(try critical.response()?.status == 200)
        for request in held.upstream.requests.dropFirst() { #expect(request.body == body) }
    }

    @Test func `the wait has an end`() throws {
        let held = try Held()
        let bench = try Bench(
            .init(upstream: ", max_connections: 1, queue: { timeout: 300ms }"), upstream: held.upstream)
        let first = try bench.client()
        try first.send(get("/first"))
        #expect(held.upstream.requests(1).count == 1)
        let start = ContinuousClock.now
        let client = try bench.client()
        let answer = try client.exchange("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        #expect(answer?.status == 503)
        #expect(answer?["Retry-After"] == "1")
        let line = bench.line(of: answer)
        #expect(line?["reason"].text == "limit.upstream_connections")
        #expect(line?["attempts"].number == 0)
        #expect(line?["server"] == .null)
        #expect(line?["upstream_reused"] == .null)
        held.allow(2)
        #expect(try first.response()?.text == "/first")
        #expect(try client.exchange(get("/again"))?.text == "/again", "the 503 cost the client its connection")
        #expect(held.upstream.requests.map(\.target) == ["/first", "/again"])
    }

    @Test func `a full queue is 503 at once, and no queue as well`() throws {
        for (size, reason) in [(1, "limit.upstream_queue"), (0, "limit.upstream_connections")] {
            let held = try Held()
            let bench = try Bench(
                .init(upstream: ", max_connections: 1, queue: { size: \(size), timeout: 20s }"), upstream: held.upstream
            )
            let first = try bench.client()
            try first.send(get("/first"))
            #expect(held.upstream.requests(1).count == 1)
            let second = try bench.client()
            if size == 1 {
                try second.send(get("/second"))
                #expect(try isQueued(1, bench))
            }
            let answer = try bench.once(get("/third"))
            #expect(answer?.status == 503)
            #expect(answer?["Retry-After"] == "1")
            #expect(bench.line(of: answer)?["reason"].text == reason)
            held.allow(2)
            #expect(try first.response()?.status == 200)
        }
    }

    @Test(arguments: [false, true])
    func `a client that goes away leaves the queue`(_ hasBody: Bool) throws {
        let held = try Held()
        let bench = try Bench(.init(upstream: ", max_connections: 1, queue: { timeout: 20s }"), upstream: held.upstream)
        let first = try bench.client()
        try first.send(get("/first"))
        #expect(held.upstream.requests(1).count == 1)
        let gone = try bench.client()
        try gone.send(hasBody ? "POST /gone HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" : get("/gone"))
        #expect(try isQueued(1, bench))
        gone.wire.close()
        #expect(try isQueued(0, bench))
        #expect(bench.daemon.accessLine { $0["path"].text == "/gone" }?["end"].text == "client_abort")
        held.allow(2)
        #expect(try first.response()?.text == "/first")
        #expect(try bench.once(get("/last"))?.text == "/last")
        #expect(held.upstream.requests.map(\.target) == ["/first", "/last"])
    }

    @Test func `an idle connection of another loop is given up for who waits`() throws {
        let upstream = try ScriptedUpstream()
        let bench = try Bench(
            .init(upstream: ", max_connections: 1, idle_timeout: 1h, queue: { timeout: 20s }", loops: 2),
            upstream: upstream)
        // Connections of clients are spread over the loops: some find the only connection idle on the other one.
        for index in 0..<40 { #expect(try bench.once(get("/\(index)"))?.status == 200) }
        #expect(upstream.requests.count == 40)
    }

    @Test func `a server's own limit leads to the others`() throws {
        let (a, b) = (try Held(), try Held())
        let bench = try Bench(
            .init(
                upstream: ", queue: { timeout: 300ms }",
                servers: [server(a.upstream, ", max_connections: 1"), server(b.upstream, ", max_connections: 2")]),
            upstream: a.upstream)
        let clients = try (0..<3).map { _ in try bench.client() }
        for client in clients { try client.send(get("/x")) }
        #expect(a.upstream.requests(1).count == 1)
        #expect(b.upstream.requests(2).count == 2)
        #expect(try bench.once(get("/y"))?.status == 503)
        a.allow()
        b.allow(2)
        for client in clients { #expect(try client.response()?.status == 200) }
        #expect([a.upstream.accepted, b.upstream.accepted] == [1, 2])
    }

    @Test func `an idle connection to a server that is down makes room`() throws {
        let isWell = Monitor(true)
        let a = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                let isGood = request.target != "/up" || isWell.withLock { $0 }
                try peer.send(isGood ? ScriptedUpstream.ok("a") : "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let b = try ScriptedUpstream(ScriptedUpstream.answering { _ in ScriptedUpstream.ok("b") })
        let health = "health: { path: /up, interval: 100ms, fall: 1, rise: 100 }"
        let bench = try Bench(
            .init(
                upstream: ", max_connections: 1, idle_timeout: 1h, queue: { timeout: 3s }, \(health)",
                servers: [server(a, ", weight: 256"), server(b)]),
            upstream: a)
        #expect(try bench.once(get("/x"))?.text == "a")
        isWell.withLock { $0 = false }
        #expect(bench.daemon.event("upstream.down") != nil)
        #expect(try bench.once(get("/x"))?.text == "b")
    }
}
