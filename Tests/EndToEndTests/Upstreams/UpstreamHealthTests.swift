// SPDX-License-Identifier: Apache-2.0
import Glibc
import HIDTesting
import Testing

/// Active health checks.
@Suite(.timeLimit(.minutes(10))) struct UpstreamHealthTests {
    private static let quick = ", health: { path: /healthz, interval: 100ms, timeout: 500ms, rise: 2, fall: 2 }"

    /// Answers checks by its board, and everything else with its name.
    private final class Server: Sendable {
        let isWell = Monitor(true)
        let upstream: ScriptedUpstream

        init(_ name: String, on address: WireAddress = .port(0)) throws {
            let isWell = isWell
            upstream = try ScriptedUpstream(on: address) { peer in
                while let request = try peer.request() {
                    if request.target == "/healthz", !isWell.withLock({ $0 }) {
                        try peer.send("HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n")
                    } else {
                        try peer.send(ScriptedUpstream.ok(name))
                    }
                }
            }
        }

        var checks: [HTTPMessage] { upstream.requests.filter { $0.target == "/healthz" } }
        var others: Int { upstream.requests.count - checks.count }
    }

    private func up(_ bench: Bench, _ url: String) throws -> Bool {
        let text = try bench.admin("/metrics")?.text ?? ""
        return text.contains("hidgate_upstream_up{upstream=\"api\",server=\"\(url)\"} 1")
    }

    @Test func `a server that fails its checks gets nothing until it passes them again`() throws {
        let (a, b) = (try Server("a"), try Server("b"))
        let bench = try Bench(
            .init(upstream: Self.quick, servers: [server(a.upstream), server(b.upstream)]), upstream: a.upstream)
        a.isWell.withLock { $0 = false }
        let down = try #require(bench.daemon.event("upstream.down"))
        #expect(down["upstream"].text == "api")
        #expect(down["server"].text.map { "http://\($0)" } == a.upstream.url)
        #expect(down["cause"].text == "the check was answered with 500")
        #expect(down["level"].text == "warning")
        #expect(try !up(bench, a.upstream.url))
        #expect(try up(bench, b.upstream.url))
        let before = a.others
        for _ in 0..<10 { #expect(try bench.once(get("/x"))?.text == "b") }
        #expect(a.others == before)
        a.isWell.withLock { $0 = true }
        #expect(bench.daemon.event("upstream.up") != nil)
        let texts = try (0..<4).map { _ in try bench.once(get("/x"))?.text }
        #expect(Set(texts) == ["a", "b"])
        let metrics = try bench.admin("/metrics")?.text ?? ""
        let label = "upstream=\"api\",server=\"\(a.upstream.url)\""
        #expect(metrics.contains("hidgate_upstream_checks_total{\(label),result=\"good\"}"))
        #expect(metrics.contains("hidgate_upstream_checks_total{\(label),result=\"bad\"}"))
    }

    @Test func `a check says who asks, and asks at once`() throws {
        let a = try Server("a")
        let bench = try Bench(
            .init(
                upstream: ", health: { path: \"/healthz?deep=1\", interval: 1h, host: \"api.test\" }"),
            upstream: a.upstream)
        let check = try #require(a.upstream.requests(1).first)
        #expect(check.startLine == "GET /healthz?deep=1 HTTP/1.1")
        #expect(check["Host"] == "api.test")
        #expect(check["User-Agent"] == "hidgate-health")
        #expect(try bench.once(get("/x"))?.status == 200)
    }

    @Test func `when all are down all are used, and that is told`() throws {
        let (a, b) = (try Server("a"), try Server("b"))
        for server in [a, b] { server.isWell.withLock { $0 = false } }
        let bench = try Bench(
            .init(upstream: Self.quick, servers: [server(a.upstream), server(b.upstream)]), upstream: a.upstream)
        for port in [a.upstream.port, b.upstream.port] {
            let line = bench.daemon.child.firstLine { line in
                line.contains("\"upstream.down\"") && line.contains("127.0.0.1:\(port)") ? line : nil
            }
            #expect(line != nil)
        }
        let texts = try (0..<6).map { _ in try bench.once(get("/x"))?.text }
        #expect(Set(texts) == ["a", "b"])
        #expect(bench.daemon.event("upstream.panic")?["upstream"].text == "api")
        #expect(try bench.admin("/metrics")?.text.contains("hidgate_upstream_panic{upstream=\"api\"} 1") == true)
        a.isWell.withLock { $0 = true }
        #expect(bench.daemon.event("upstream.up") != nil)
        #expect(try bench.once(get("/x"))?.text == "a")
        #expect(bench.daemon.event("upstream.panic_over") != nil)
        for _ in 0..<6 { #expect(try bench.once(get("/x"))?.text == "a") }
        #expect(bench.daemon.child.lines.filter { $0.contains("\"upstream.panic\"") }.count == 1)
    }

    @Test func `silence, garbage, an early close and a dead port are bad checks`() throws {
        let silent = try ScriptedUpstream { peer in _ = peer.wire.isEnded() }
        let garbage = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("hello\r\n\r\n")
        }
        let closing = try ScriptedUpstream { peer in _ = try peer.request() }
        let well = try Server("well")
        let bad = [server(silent), server(garbage), server(closing), try deadServer()]
        let bench = try Bench(
            .init(upstream: Self.quick, servers: bad + [server(well.upstream)]), upstream: well.upstream)
        for upstream in [silent, garbage, closing] {
            let line = bench.daemon.child.firstLine { line in
                line.contains("\"upstream.down\"") && line.contains("127.0.0.1:\(upstream.port)") ? line : nil
            }
            #expect(line != nil)
        }
        var downs = 0
        let isFourth: Bool? = bench.daemon.child.firstLine { line in
            downs += line.contains("\"upstream.down\"") ? 1 : 0
            return downs == 4 ? true : nil
        }
        #expect(isFourth == true)
        for _ in 0..<6 { #expect(try bench.once(get("/x"))?.text == "well") }
        #expect(bench.daemon.event("upstream.panic", within: .milliseconds(1)) == nil)
    }

    @Test func `checks go over unix sockets as well`() throws {
        let folder = try TestFolder()
        let a = try Server("a", on: .unix("\(folder.path)/a.sock"))
        let bench = try Bench(.init(upstream: Self.quick), upstream: a.upstream)
        a.isWell.withLock { $0 = false }
        #expect(bench.daemon.event("upstream.down")?["server"].text == "unix:\(folder.path)/a.sock")
        #expect(a.checks.first?["Host"] == "localhost")
        #expect(try bench.once(get("/x"))?.text == "a", "the only server is used in any case")
    }

    @Test func `what did not change keeps its state over a reload`() throws {
        let (a, b, c) = (try Server("a"), try Server("b"), try Server("c"))
        let slow = ", health: { path: /healthz, interval: 500ms, fall: 1, rise: 3 }"
        var setup = Bench.Setup(upstream: slow, servers: [server(a.upstream), server(b.upstream)])
        a.isWell.withLock { $0 = false }
        let bench = try Bench(setup, upstream: a.upstream)
        #expect(bench.daemon.event("upstream.down") != nil)
        let client = try bench.client()
        #expect(try client.exchange(get("/x"))?.text == "b")
        let connections = b.upstream.accepted
        // Another rule file: the same upstream. Then another server beside the two.
        for round in 0..<2 {
            if round == 1 { setup.servers.append(server(c.upstream)) }
            try bench.folder.write("gateway.yaml", Bench.configuration(setup, url: a.upstream.url))
            bench.daemon.child.signal(SIGHUP)
            var reloads = 0
            let isDone: Bool? = bench.daemon.child.firstLine { line in
                reloads += line.contains("\"reload.done\"") ? 1 : 0
                return reloads > round ? true : nil
            }
            #expect(isDone == true)
            for _ in 0..<6 { #expect(try client.exchange(get("/x"))?.text != "a", "the server that is down was used") }
        }
        let idle = b.upstream.requests.filter { $0.target == "/x" }.count
        #expect(idle >= 7)
        let kept = b.upstream.accepted - b.checks.count
        #expect(kept <= connections, "the reload threw connections away")
        #expect(c.others > 0)
    }

    @Test func `a server that a reload removes drains`() throws {
        let gate = Gate()
        let old = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                gate.wait()
                try peer.send(ScriptedUpstream.ok("old"))
            }
        }
        let new = try ScriptedUpstream(ScriptedUpstream.answering { _ in ScriptedUpstream.ok("new") })
        let bench = try Bench(.init(upstream: ", idle_timeout: 1h"), upstream: old)
        let client = try bench.client()
        try client.send(get("/slow"))
        #expect(old.requests(1).count == 1)
        try bench.folder.write("gateway.yaml", Bench.configuration(.init(upstream: ", idle_timeout: 1h"), url: new.url))
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.done") != nil)
        #expect(try bench.once(get("/x"))?.text == "new")
        gate.open()
        #expect(try client.response()?.text == "old")
        #expect(old.hasEnded(1), "the connection to the old server stays open")
        #expect(try client.exchange(get("/x"))?.text == "new")
    }
}
