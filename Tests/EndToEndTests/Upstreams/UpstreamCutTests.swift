// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// Upstreams that break off or talk too much: 502 or a cut connection, never another user's answer.
@Suite(.timeLimit(.minutes(10))) struct UpstreamCutTests {
    private static let plain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n"

    /// Sends so much of an answer as the target says, then ends; anything else is answered with its target.
    private static func cutting(_ answer: String, reset: Bool) throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            while let request = try peer.request() {
                guard request.target.hasPrefix("/cut/"), let count = Int(request.target.dropFirst(5)) else {
                    try peer.send(ScriptedUpstream.ok(request.target))
                    continue
                }
                try peer.send(Array(answer.utf8.prefix(count)))
                if reset { peer.wire.reset() }
                return
            }
        }
    }

    @Test(arguments: [plain, chunked], [true, false])
    func `an answer that ends at any octet is never completed, and the next one is its own`(
        _ answer: String, _ isReset: Bool
    ) throws {
        let upstream = try Self.cutting(answer, reset: isReset)
        let bench = try Bench(
            .init(upstream: ", retries: { budget_percent: 0, min_per_second: 0 }"), upstream: upstream)
        for count in 0..<answer.utf8.count {
            let got = try bench.once(get("/cut/\(count)"))
            let isCut = got == nil || got?.isComplete == false
            #expect(isCut || got?.status == 502, "\(count): \(String(describing: got))")
            #expect(try bench.once(get("/own/\(count)"))?.text == "/own/\(count)")
        }
    }

    @Test(arguments: ["one field", "many fields"])
    func `a head of 400 kB is 502`(_ kind: String) throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            let fields =
                kind == "one field"
                ? "X: \(String(repeating: "a", count: 400_000))\r\n"
                : (0..<4000).map { "X-\($0): \(String(repeating: "a", count: 90))\r\n" }.joined()
            try peer.send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")
        }
        let bench = try Bench(upstream: upstream)
        let answer = try bench.once(get("/a"))
        #expect(answer?.status == 502)
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_malformed")
    }

    @Test(arguments: [true, false])
    func `an answer before the request is complete, then a close`(_ isReset: Bool) throws {
        let upstream = try ScriptedUpstream { peer in
            guard let request = try peer.requestHead() else { return }
            try peer.send(ScriptedUpstream.ok(request.target))
            if isReset { peer.wire.reset() }
        }
        let bench = try Bench(upstream: upstream)
        for index in 0..<20 {
            let client = try bench.client()
            try client.send("POST /early/\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
            _ = try? client.send(pattern(500_000))
            // The answer may be lost with the connection that it came on, but it is never another's.
            if let answer = try? client.response(), answer.status == 200 {
                #expect(answer.text == "/early/\(index)" || !answer.isComplete)
            }
            let next = try bench.once(get("/next/\(index)"))
            #expect(next?.text == "/next/\(index)")
        }
        let targets = upstream.requests.filter { $0.method == "POST" }.map(\.target)
        #expect(targets.count == Set(targets).count)
    }

    @Test func `two answers at once reach one client each`() throws {
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                // The second answer is on its way before anybody asked for it.
                try peer.send(ScriptedUpstream.ok(request.target) + ScriptedUpstream.ok("stolen"))
            }
        }
        let bench = try Bench(.init(loops: 2), upstream: upstream)
        for index in 0..<40 { #expect(try bench.once(get("/\(index)"))?.text == "/\(index)") }
    }
}
