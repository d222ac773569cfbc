// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// Upstreams by name: what DNS says is what is dialled.
@Suite(.timeLimit(.minutes(10))) struct UpstreamNameTests {
    private func setup(_ names: ScriptedNameServer, _ more: String = "") -> Bench.Setup {
        .init(
            upstream: more,
            sections: "resolver: { nameservers: [\"\(names.address)\"], timeout: 300ms }")
    }

    private static func named(_ name: String, on address: WireAddress = .port(0)) throws -> ScriptedUpstream {
        try ScriptedUpstream(on: address, ScriptedUpstream.answering { _ in ScriptedUpstream.ok(name) })
    }

    @Test func `apisix 12436: a new address is in use within its time to live and a second`() throws {
        let old = try Self.named("old")
        let new = try Self.named("new", on: .loopback(2, old.port))
        let names = try ScriptedNameServer(.addresses(["127.0.0.1"], life: 1))
        let bench = try Bench(
            setup(names, ", idle_timeout: 1h"), upstream: old, url: "http://api.test:\(old.port)")
        let client = try bench.client()
        #expect(try client.exchange(get("/a"))?.text == "old")
        #expect(old.requests.first?["Host"] == "api.test")
        names.set(.addresses(["127.0.0.2"], life: 1))
        let start = ContinuousClock.now
        while try client.exchange(get("/a"))?.text == "old", ContinuousClock.now - start < .seconds(10) {}
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(old.hasEnded(old.accepted), "a connection to the old address stays open")
        let line = bench.line(of: try client.exchange(get("/b")))
        #expect(line?["server"].text == "127.0.0.2:\(old.port)")
        #expect(line?["upstream"].text == "api")
        #expect(new.requests.count >= 2)
    }

    @Test(arguments: [2, 3, nil])
    func `apisix 10422: without DNS the last good address stays, and it is told once`(_ code: UInt8?) throws {
        let upstream = try Self.named("here")
        let names = try ScriptedNameServer(.addresses(["127.0.0.1"], life: 1))
        let bench = try Bench(
            setup(names, ", idle_timeout: 100ms"), upstream: upstream, url: "http://api.test:\(upstream.port)")
        #expect(try bench.once(get("/a"))?.text == "here")
        names.set(code.map { .failure($0) } ?? .silence)
        let stale = try #require(bench.daemon.event("dns.stale"))
        #expect(stale["name"].text == "api.test")
        #expect(stale["upstream"].text == "api")
        #expect(names.isAsked(3))
        for _ in 0..<3 { #expect(try bench.once(get("/a"))?.text == "here") }
        names.set(.addresses(["127.0.0.1"], life: 1))
        #expect(bench.daemon.event("dns.recovered") != nil)
        #expect(bench.daemon.child.lines.filter { $0.contains("\"dns.stale\"") }.count == 1)
    }

    @Test func `apisix 10093: a name that does not resolve is 502 until it does`() throws {
        let upstream = try Self.named("here")
        let names = try ScriptedNameServer(.failure(3))
        let bench = try Bench(setup(names), upstream: upstream, url: "http://api.test:\(upstream.port)")
        #expect(bench.daemon.event("dns.unresolved")?["name"].text == "api.test")
        let answer = try bench.once(get("/a"))
        #expect(answer?.status == 502)
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_resolve")
        names.set(.addresses(["127.0.0.1"], life: 60))
        #expect(bench.daemon.event("dns.addresses")?["addresses"].text == "127.0.0.1")
        #expect(try bench.once(get("/a"))?.text == "here")
    }

    @Test func `every address of a name is used, and a dead one costs no answer`() throws {
        let first = try Self.named("first")
        let second = try Self.named("second", on: .loopback(2, first.port))
        let names = try ScriptedNameServer(.addresses(["127.0.0.1", "127.0.0.2", "127.0.0.3"], life: 60))
        let bench = try Bench(setup(names), upstream: first, url: "http://api.test:\(first.port)")
        let texts = try (0..<12).map { _ in try bench.once(get("/a"))?.text }
        #expect(Set(texts) == ["first", "second"])
        #expect(second.requests.count + first.requests.count == 12)
    }

    @Test func `addresses and localhost ask nobody`() throws {
        let names = try ScriptedNameServer(.silence)
        let upstream = try Self.named("here")
        for host in ["127.0.0.1", "localhost"] {
            let bench = try Bench(setup(names), upstream: upstream, url: "http://\(host):\(upstream.port)")
            #expect(try bench.once(get("/a"))?.text == "here")
        }
        #expect(names.questions == 0)
    }
}
