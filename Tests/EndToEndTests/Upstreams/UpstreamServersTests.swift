// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// An entry of `servers`.
func server(_ upstream: ScriptedUpstream, _ more: String = "") -> String { "{ url: \"\(upstream.url)\"\(more) }" }

/// A port on which nobody listens.
func deadServer() throws -> String {
    let free = try Wire.listen(on: .port(0))
    defer { free.close() }
    return "{ url: \"http://127.0.0.1:\(free.port)\" }"
}

/// Several servers behind one name.
@Suite(.timeLimit(.minutes(10))) struct UpstreamServersTests {
    /// Answers each request when told, so that many are under way at once.
    private static func held(_ gate: Gate) throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            while try peer.request() != nil {
                gate.wait()
                try peer.send(ScriptedUpstream.ok("late"))
            }
        }
    }

    @Test func `equal servers take turns`() throws {
        let all = try (0..<3).map { _ in try ScriptedUpstream() }
        let bench = try Bench(.init(servers: all.map { server($0) }), upstream: all[0])
        let client = try bench.client()
        for _ in 0..<12 { #expect(try client.exchange(get("/a"))?.status == 200) }
        #expect(all.map(\.requests.count) == [4, 4, 4])
    }

    @Test(arguments: [1, 2])
    func `under load the least connections by weight win, of all loops`(_ loops: Int) throws {
        let gate = Gate()
        let all = try (0..<2).map { _ in try Self.held(gate) }
        let servers = [server(all[0], ", weight: 3"), server(all[1], ", weight: 1")]
        let bench = try Bench(.init(servers: servers, loops: loops), upstream: all[0])
        let clients = try (0..<24).map { _ in try bench.client() }
        for (index, client) in clients.enumerated() {
            try client.send(get("/\(index)"))
            // One after the other: what is under way is known before the next one is placed.
            let deadline = Deadline()
            while all.map(\.requests.count).reduce(0, +) <= index, deadline.milliseconds > 0 {
                _ = all[0].requests(all[0].requests.count + 1, within: .milliseconds(5))
            }
        }
        #expect(abs(all[0].requests.count - 18) <= 1, "\(all.map(\.requests.count))")
        gate.open()
        for client in clients { #expect(try client.response()?.text == "late") }
    }

    @Test func `a drained server gets nothing new`() throws {
        let (drained, live) = (try ScriptedUpstream(), try ScriptedUpstream())
        let bench = try Bench(
            .init(servers: [server(drained, ", weight: 0"), server(live)]), upstream: live)
        for _ in 0..<6 { #expect(try bench.once(get("/a"))?.status == 200) }
        #expect(drained.accepted == 0)
        #expect(live.requests.count == 6)
    }

    @Test func `a dead server costs nobody an answer, whatever the method`() throws {
        let live = try ScriptedUpstream()
        let bench = try Bench(
            .init(servers: [try deadServer(), server(live), try deadServer()]), upstream: live)
        let client = try bench.client()
        var attempts: [Double] = []
        for index in 0..<30 {
            let answer = try client.exchange("POST /\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            #expect(answer?.status == 200)
            let line = bench.line(of: answer)
            attempts.append(line?["attempts"].number ?? 0)
            #expect(line?["server"].text.map { "http://\($0)" } == live.url)
            #expect(line?["upstream"].text == "api")
        }
        #expect(live.requests.map(\.text) == Array(repeating: "hello", count: 30))
        #expect(attempts.contains { $0 > 1 })
        #expect(attempts.allSatisfy { (1...3).contains($0) })
        #expect(bench.daemon.event("upstream.ejected") != nil)
        let metrics = try bench.admin("/metrics")?.text ?? ""
        #expect(metrics.contains(/hidgate_upstream_redials_total [1-9]/))
        #expect(metrics.contains(/hidgate_upstream_ejections_total\{upstream="api",server="http:[^"]*"\} 1/))
    }

    @Test func `a streamed body and a held one survive a failed connect whole`() throws {
        let live = try ScriptedUpstream()
        let bench = try Bench(
            .init(upstream: ", ejection: off", servers: [try deadServer(), server(live)]), upstream: live)
        let body = pattern(200_000)
        for _ in 0..<4 {
            #expect(try bench.once(try bench.good(body))?.status == 200)
            let head = "POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            let chunked = Array("\(head)30d40\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
            #expect(try bench.once(chunked)?.status == 200)
        }
        #expect(live.requests.count == 8)
        for request in live.requests { #expect(request.body == body) }
    }

    @Test func `when all are dead the answer is 502 after at most three attempts`() throws {
        let upstream = try ScriptedUpstream()
        let bench = try Bench(.init(servers: try (0..<5).map { _ in try deadServer() }), upstream: upstream)
        for _ in 0..<5 {
            let answer = try bench.once(get("/a"))
            #expect(answer?.status == 502)
            let line = bench.line(of: answer)
            #expect(line?["reason"].text == "dep.upstream_connect")
            #expect(line?["attempts"].number == 3)
        }
    }

    @Test func `a server that dies after reading is left alone, and nothing unsafe is repeated`() throws {
        let dying = try ScriptedUpstream { peer in _ = try peer.request() }
        let live = try ScriptedUpstream()
        let bench = try Bench(.init(servers: [server(dying), server(live)]), upstream: live)
        for index in 0..<30 { _ = try bench.once("POST /p\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi") }
        let seen = (dying.requests + live.requests).map(\.target)
        #expect(Set(seen).count == 30)
        #expect(seen.count == 30, "something was sent twice")
        #expect(dying.requests.count == 5)
        #expect(bench.daemon.event("upstream.ejected")?["for_s"].number == 10)
    }

    @Test func `statuses count as failures only when told`() throws {
        for (isCounted, expected) in [(true, 5), (false, 15)] {
            let ill = try ScriptedUpstream(
                ScriptedUpstream.answering { _ in "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n" })
            let live = try ScriptedUpstream()
            let bench = try Bench(
                .init(upstream: ", ejection: { statuses: \(isCounted) }", servers: [server(ill), server(live)]),
                upstream: live)
            let client = try bench.client()
            for _ in 0..<30 { #expect(try client.exchange(get("/a")) != nil) }
            #expect(ill.requests.count == expected)
        }
    }

    @Test func `one server is never ejected`() throws {
        let dying = try ScriptedUpstream { peer in _ = try peer.request() }
        let bench = try Bench(upstream: dying)
        for _ in 0..<20 {
            #expect(try bench.once("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")?.status == 502)
        }
        #expect(dying.requests.count == 20)
    }

    @Test func `an ejected server comes back`() throws {
        let board = Monitor(true)
        let ill = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                guard !board.withLock({ $0 }) else { return }
                try peer.send(ScriptedUpstream.ok("well"))
            }
        }
        let live = try ScriptedUpstream()
        let bench = try Bench(
            .init(upstream: ", ejection: { failures: 1, for: 300ms }", servers: [server(ill), server(live)]),
            upstream: live)
        for _ in 0..<2 { _ = try bench.once(get("/a")) }
        #expect(ill.requests.count == 1)
        board.withLock { $0 = false }
        let start = ContinuousClock.now
        let client = try bench.client()
        while try client.exchange(get("/a"))?.text != "well", ContinuousClock.now - start < .seconds(10) {}
        #expect(try client.exchange(get("/a")) != nil)
        #expect(ill.requests.count > 1)
        #expect(ContinuousClock.now - start > .milliseconds(200))
    }
}
