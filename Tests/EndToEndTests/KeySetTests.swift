// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Key sets from a file and from a URL.
@Suite(.timeLimit(.minutes(10))) struct KeySetTests {
    /// An issuer's web server whose answer a test can change.
    private final class KeyServer: Sendable {
        let answer: Monitor<String>
        let server: ScriptedUpstream

        init(_ text: String, on address: WireAddress = .port(0)) throws {
            let answer = Monitor(text)
            self.answer = answer
            server = try ScriptedUpstream(
                on: address, ScriptedUpstream.answering { _ in answer.withLock { $0 } })
        }

        static func keys(_ issuers: TestIssuer..., age: Int = 3600) -> String {
            ScriptedUpstream.ok(
                String(decoding: TestIssuer.jwks(issuers.map(\.jwk.json)), as: UTF8.self),
                fields: "Cache-Control: max-age=\(age)\r\n")
        }

        var fetches: Int { server.requests.count }
    }

    private static let limits = "limits: { failed_verifications: { when: off } }"

    private func bench(
        _ server: KeyServer, _ issuer: TestIssuer, rest: String = "", rule: String = ""
    ) throws -> Bench {
        let routes = "routes:\n  - { name: login, match: { path: /api/v1/login }, critical: true\(rule) }"
        let bench = try Bench(
            .init(routes: routes, jwks: "url: \"\(server.server.url)/jwks.json\"\(rest)", sections: Self.limits),
            issuer: issuer)
        return bench
    }

    @Test func `keys of a URL are loaded at start`() throws {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer))
        let bench = try bench(server, issuer)
        #expect(bench.daemon.event("jwks.loaded") != nil)
        #expect(try bench.once(try bench.good())?.status == 200)
        #expect(server.fetches == 1)
        #expect(server.server.requests.first?.target == "/jwks.json")
    }

    @Test
    func
        `a rotated key is fetched at once, and random keys cause one fetch a cooldown (tyk 6378, jwt-middleware 36)`()
        throws
    {
        let old = try TestIssuer(kid: "old")
        let new = try TestIssuer(kid: "new")
        let server = try KeyServer(KeyServer.keys(old))
        let bench = try bench(server, old)
        #expect(bench.daemon.event("jwks.loaded") != nil)
        server.answer.withLock { $0 = KeyServer.keys(old, new) }
        let client = try bench.client()
        func post() throws -> Int? {
            let request = Bench.post(token: try bench.token(of: new), signature: try bench.signature([1]), body: [1])
            return try client.exchange(request)?.status
        }
        #expect(try post() == 403)
        // The line is written before the fetch is quite over, and a key that is missed meanwhile asks for nothing.
        var status: Int?
        let deadline = Deadline(in: .seconds(5))
        while status != 200, deadline.milliseconds > 0 { status = try post() }
        #expect(status == 200)
        for index in 0..<1000 {
            let token = try bench.token(of: TestIssuer(key: new.key, kid: "random-\(index)"))
            #expect(try client.exchange(Bench.post(token: token, body: [1]))?.status == 403)
        }
        #expect(server.fetches == 2, "the cooldown is 30 s and the load at start does not count")
    }

    @Test
    func `ten thousand unknown keys neither fetch nor cost the keys there are (envoy 14557, lua-resty-openidc 468)`()
        throws
    {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer))
        let bench = try bench(server, issuer)
        #expect(bench.daemon.event("jwks.loaded") != nil)
        // The server of the keys is down from here on.
        server.answer.withLock { $0 = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n" }
        let client = try bench.client()
        for index in 0..<10_000 {
            // Nothing of the token but the name of its key is looked at.
            let head = Array("{\"alg\":\"ES256\",\"kid\":\"random-\(index)\",\"typ\":\"hid+jwt\"}".utf8)
            let good = try bench.token().split(separator: ".", omittingEmptySubsequences: false)
            let token =
                index % 100 == 0 ? try bench.token(of: TestIssuer(key: issuer.key, kid: "random-\(index)")) : nil
            let forged = "\(Data(head).base64EncodedString().replacing("=", with: "")).\(good[1]).\(good[2])"
            #expect(try client.exchange(Bench.post(token: token ?? forged, body: [1]))?.status == 403)
        }
        // One for the first of them and one a cooldown at most; behind a failure the keeper tries again by itself,
        // after twice the time each time.
        #expect(server.fetches <= 12)
        #expect(server.fetches >= 2)
        #expect(try client.exchange(try bench.good())?.status == 200)
    }

    @Test func `without keys block answers 503, and an open route lets pass`() throws {
        let issuer = try TestIssuer()
        let server = try KeyServer("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
        let closed = try bench(server, issuer)
        #expect(closed.daemon.event("jwks.load_failed") != nil)
        let answer = try closed.once(try closed.good())
        #expect(answer?.status == 503)
        #expect(answer?["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
        let line = closed.line(of: answer)
        #expect(line?["reason"].text == "jwks.unavailable")
        #expect(line?["decision"].text == "error")
        #expect(try closed.once(get("/plain"))?.status == 200)
        let open = try bench(server, issuer, rule: ", on_dependency: { jwks: open }")
        let passed = try open.once(try open.good())
        #expect(passed?.status == 200)
        #expect(open.line(of: passed)?["reason"].text == "jwks.unavailable")
        #expect(open.upstream.requests.last?["X-HID-Verdict"] == "unverified")
        let missing = try open.once(Bench.post(body: [1]))
        #expect(missing?.status == 403, "an open route still wants a token")
    }

    @Test(arguments: ["status", "redirect", "long", "garbage", "empty", "duplicate", "gone"])
    func `a bad answer keeps the old keys`(_ kind: String) throws {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer, age: 1))
        let bench = try bench(server, issuer)
        #expect(bench.daemon.event("jwks.loaded") != nil)
        let other = String(decoding: try TestIssuer(kid: "other").jwks, as: UTF8.self)
        server.answer.withLock { answer in
            answer =
                switch kind {
                case "status": "HTTP/1.1 404 Not Found\r\nContent-Length: \(other.utf8.count)\r\n\r\n\(other)"
                case "redirect": "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
                case "long": ScriptedUpstream.ok(String(repeating: " ", count: 10 << 20) + other)
                case "garbage": ScriptedUpstream.ok("<html>")
                case "empty": ScriptedUpstream.ok("{\"keys\":[]}")
                case "duplicate": ScriptedUpstream.ok("{\"keys\":[],\"keys\":[]}")
                default: ""
                }
        }
        if kind == "gone" { server.server.stop() }
        #expect(bench.daemon.event("jwks.load_failed")?["keeps_old_keys"] == .bool(true))
        #expect(try bench.once(try bench.good())?.status == 200)
        #expect(server.server.requests.allSatisfy { $0.target == "/jwks.json" }, "a redirect was followed")
    }

    @Test func `keys that are older than max_stale are given up`() throws {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer, age: 1))
        let bench = try bench(server, issuer, rest: ", max_stale: 2s")
        #expect(bench.daemon.event("jwks.loaded") != nil)
        #expect(try bench.once(try bench.good())?.status == 200)
        server.server.stop()
        #expect(bench.daemon.event("jwks.stale") != nil)
        let answer = try bench.once(try bench.good())
        #expect(answer?.status == 503)
        #expect(bench.line(of: answer)?["reason"].text == "jwks.unavailable")
        #expect(try bench.admin("/readyz")?.status == 503)
    }

    @Test func `an issuer in good health never leaves us without keys, whatever its max-age`() throws {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer, age: 6))
        let bench = try bench(server, issuer, rest: ", max_stale: 3s")
        #expect(bench.daemon.event("jwks.loaded") != nil)
        #expect(server.server.requests(3).count == 3)
        #expect(try bench.once(try bench.good())?.status == 200)
        let stale = bench.daemon.child.lines.filter { $0.contains("jwks.stale") }
        #expect(stale == [], "keys were given up before the fetch that was due")
    }

    @Test func `SIGHUP fetches again`() throws {
        let issuer = try TestIssuer()
        let server = try KeyServer(KeyServer.keys(issuer))
        let bench = try bench(server, issuer)
        #expect(bench.daemon.event("jwks.loaded") != nil)
        bench.daemon.child.signal(SIGHUP)
        #expect(server.server.requests(2).count == 2)
    }

    @Test func `a key file is read at start and on SIGHUP`() throws {
        let bench = try Bench(.init(sections: Self.limits))
        #expect(try bench.once(try bench.good())?.status == 200)
        let other = try TestIssuer(kid: "k2")
        try bench.folder.write("jwks.json", String(decoding: other.jwks, as: UTF8.self))
        bench.daemon.child.signal(SIGHUP)
        let deadline = Deadline(in: .seconds(10))
        var status: Int?
        while status != 200, deadline.milliseconds > 0 {
            let token = try bench.token(of: other)
            status = try bench.once(Bench.post(token: token, signature: try bench.signature([1]), body: [1]))?.status
        }
        #expect(status == 200)
        #expect(try bench.once(try bench.good())?.status == 403)
        try bench.folder.write("jwks.json", "{")
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("jwks.load_failed") != nil)
        let token = try bench.token(of: other)
        #expect(
            try bench.once(Bench.post(token: token, signature: try bench.signature([1]), body: [1]))?.status == 200)
    }
}
