// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// What may be sent twice, and what never is.
@Suite(.timeLimit(.minutes(10))) struct UpstreamRetryTests {
    /// Reads a request and dies, on every connection.
    private static func dying() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in _ = try peer.request() }
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS"])
    func `a safe request goes to another server, once`(_ method: String) throws {
        let (bad, good) = (try Self.dying(), try ScriptedUpstream())
        let bench = try Bench(.init(upstream: ", ejection: off", servers: [server(bad), server(good)]), upstream: good)
        var attempts: [Double] = []
        for _ in 0..<6 {
            let answer = try bench.client().exchange(get("/a", method: method), isHead: method == "HEAD")
            #expect(answer?.status == 200)
            attempts.append(bench.line(of: answer)?["attempts"].number ?? 0)
        }
        #expect(attempts.sorted() == [1, 1, 1, 2, 2, 2])
        let all = try (0..<3).map { _ in try Self.dying() }
        let both = try Bench(
            .init(upstream: ", ejection: off", servers: all.map { server($0) }), upstream: good)
        let answer = try both.client().exchange(get("/a", method: method), isHead: method == "HEAD")
        #expect(answer?.status == 502)
        #expect(both.line(of: answer)?["attempts"].number == 2)
    }

    @Test func `a request with content is not sent again`() throws {
        let (bad, good) = (try Self.dying(), try ScriptedUpstream())
        let bench = try Bench(.init(upstream: ", ejection: off", servers: [server(bad), server(good)]), upstream: good)
        for index in 0..<10 {
            _ = try bench.once("GET /\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
            _ = try bench.once("PUT /p\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        }
        let seen = (bad.requests + good.requests).map(\.target)
        #expect(seen.count == 20)
        #expect(Set(seen).count == 20)
    }

    @Test func `nothing is sent again once the client has a part of an answer`() throws {
        let bad = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        }
        let good = try ScriptedUpstream()
        let bench = try Bench(.init(upstream: ", ejection: off", servers: [server(bad), server(good)]), upstream: good)
        let answers = try (0..<2).map { _ in try bench.once(get("/a")) }
        #expect(answers.map { $0?.status ?? 0 }.sorted() == [200, 502])
        #expect(bad.requests.count + good.requests.count == 2)
    }

    @Test func `retries end with their budget`() throws {
        let all = try (0..<2).map { _ in try Self.dying() }
        let bench = try Bench(
            .init(
                upstream: ", ejection: off, retries: { budget_percent: 0, min_per_second: 1 }",
                servers: all.map { server($0) }),
            upstream: all[0])
        for _ in 0..<40 { #expect(try bench.once(get("/a"))?.status == 502) }
        let sent = all.map(\.requests.count).reduce(0, +)
        // Ten in ten seconds; a slow machine may see the window move on.
        #expect((50...60).contains(sent), "\(sent)")
        let metrics = try bench.admin("/metrics")?.text ?? ""
        #expect(metrics.contains("hidgate_upstream_retries_total \(sent - 40)"))
    }

    @Test func `caddy 6452: an upstream that closes idle connections costs no GET, and no POST is sent twice`() throws {
        // Closes each connection right after its answer, without saying so: the next request races with the close.
        let upstream = try ScriptedUpstream { peer in
            guard let request = try peer.request() else { return }
            try peer.send(ScriptedUpstream.ok(request.target))
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        var lost = 0
        for index in 0..<300 {
            let isPost = index % 3 == 2
            let answer = try client.exchange(
                isPost ? "POST /\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" : get("/\(index)"))
            if isPost, answer?.status == 502 {
                lost += 1
                #expect(bench.line(of: answer)?["upstream_reused"] == .bool(true))
            } else {
                #expect(answer?.text == "/\(index)")
            }
        }
        let posts = upstream.requests.filter { $0.method == "POST" }.map(\.target)
        #expect(posts.count == Set(posts).count, "a POST was sent twice")
        #expect(posts.count >= 100 - lost)
    }

    @Test func `envoy 14981: the log tells why a 502 was one, and whether the connection was reused`() throws {
        // Answers one request of the first connection; dies after each other one that it reads.
        let upstream = try ScriptedUpstream { peer in
            guard try peer.request() != nil else { return }
            guard peer.number == 0 else { return }
            try peer.send(ScriptedUpstream.ok("first"))
            _ = try peer.request()
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        #expect(try client.exchange(get("/warm"))?.status == 200)
        for isReused in [true, false] {
            let answer = try client.exchange("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(answer?.status == 502)
            let line = bench.line(of: answer)
            #expect(line?["reason"].text == "dep.upstream_closed")
            #expect(line?["upstream_reused"] == .bool(isReused))
            #expect(line?["server"].text.map { "http://\($0)" } == upstream.url)
            #expect(line?["attempts"].number == 1)
        }
    }

    @Test func `pingora 979: an upstream that reads a POST and dies has seen exactly one`() throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            peer.wire.reset()
        }
        let other = try ScriptedUpstream()
        let bench = try Bench(.init(servers: [server(upstream), server(other)]), upstream: other)
        let answers = try (0..<2).map { _ in try bench.once(try bench.good()) }
        #expect(answers.map { $0?.status ?? 0 }.sorted() == [200, 502])
        #expect(upstream.requests.count == 1)
        #expect(other.requests.count == 1)
    }

    @Test func `curl 11678: after an answer to half a request the connection is not used again`() throws {
        let upstream = try ScriptedUpstream { peer in
            var request = try peer.requestHead()
            while request?.target == "/next" {
                try peer.send(ScriptedUpstream.ok("clean"))
                request = try peer.requestHead()
            }
            guard request != nil else { return }
            // A part of the content may have come with the head.
            if peer.reader.buffer.isEmpty { _ = try peer.wire.receive() }
            try peer.send("HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nnope")
            _ = peer.wire.isEnded()
        }
        let bench = try Bench(upstream: upstream)
        for _ in 0..<10 {
            let client = try bench.client()
            try client.send("POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            try client.send(pattern(64_000))
            #expect(try client.response()?.text == "nope")
            #expect(try bench.once(get("/next"))?.text == "clean")
        }
    }
}
