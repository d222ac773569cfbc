// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// More requests than can be served.
@Suite(.timeLimit(.minutes(10))) struct OverloadGoodputTests {
    @Test func `an upstream that is asked for ten times what it can do still does it`() throws {
        let upstream = try LoadUpstream()
        let setup = Bench.Setup(
            upstream: ", max_connections: 2, queue: { size: 10 }", sections: "access_log: { to: \"off\" }")
        let bench = try Bench(setup, url: upstream.url)
        let peak = try #require(
            try bench.measure("peak", ["--target", "/hold/20", "--connections", "2", "--seconds", "2"]))
        let rate = peak["goodput_per_s"].number ?? 0
        #expect(rate > 10)
        let flood = try #require(
            try bench.measure(
                "load",
                [
                    "--target", "/hold/20", "--connections", "100", "--seconds", "2", "--rate", "\(Int(rate * 10))",
                ]))
        #expect(flood["goodput_per_s"].number ?? 0 > rate * 0.6, "\(flood), peak \(rate)")
        #expect(flood["refused"].number ?? 0 > 0)
    }

    /// All of them write within a few milliseconds: far more than one turn of the loop takes.
    @Test func `requests that would wait too long are refused, the others are served`() throws {
        let bench = try Bench(.init(sections: "limits: { queue_delay: 10ms }"))
        var refused = 0
        for _ in 0..<20 where refused == 0 {
            let clients = try (0..<900).map { _ in try bench.client() }
            try expectEventually { try bench.metric("hidgate_connections") ?? 0 >= 900 }
            for client in clients { try client.send(get("/a")) }
            var served = 0
            for client in clients {
                let answer = try client.response()
                if answer?.status == 200 { served += 1 }
                guard answer?.status == 503, answer?["Retry-After"] == "1", client.isClosed() else { continue }
                refused += 1
            }
            #expect(served + refused == clients.count)
            #expect(served > 0)
        }
        #expect(refused > 0)
        let line = bench.daemon.accessLine { $0["reason"].text == "limit.queue_delay" }
        #expect(line?["decision"].text == "reject")
        #expect(line?["status"].number == 503)
        #expect(try bench.once(get("/a"))?.status == 200)
    }

    /// A hundred requests come by one read: without a queue all of them stand in front of the first answer.
    @Test func `requests of HTTP-2 that would wait too long are refused, the others are served`() throws {
        let bench = try Bench(.init(sections: "limits: { queue_delay: 1m }"))
        let text = Bench.configuration(.init(sections: "limits: { queue_delay: 10ms }"), url: bench.upstream.url)
        try bench.folder.write("gateway.yaml", text)
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.done") != nil)
        let other = try bench.client()
        let clients = try (0..<20).map { _ in try bench.http2() }
        var refused = 0
        for _ in 0..<20 where refused == 0 {
            var streams: [(HTTP2Client, UInt32)] = []
            for client in clients { for _ in 0..<100 { streams.append((client, try client.open("GET", "/a"))) } }
            // Whoever comes with one request waits no longer than they do.
            let answer = try other.exchange(get("/other"))
            #expect(answer?.status == 200 || answer?.status == 503)
            var served = 0
            for (client, stream) in streams {
                let answer = try client.response(stream)
                if answer.status == 200 { served += 1 }
                if answer.status == 503, answer["retry-after"] == "1" { refused += 1 }
            }
            #expect(served + refused == streams.count)
            #expect(served > streams.count / 10)
        }
        #expect(refused > 0)
        let line = bench.daemon.accessLine {
            $0["reason"].text == "limit.queue_delay" && $0["protocol"].text == "HTTP/2"
        }
        #expect(line?["decision"].text == "reject")
        #expect(line?["status"].number == 503)
        #expect(try clients[0].exchange("GET", "/a").status == 200)
    }
}
