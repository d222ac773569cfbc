// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// The access log is a contract: CONFIG.md, "Access log".
@Suite(.timeLimit(.minutes(10))) struct AccessLogTests {
    private static let names: Set<String> = [
        "time", "request_id", "support_code", "client", "listener", "protocol", "method", "host", "path", "route",
        "match", "mode", "decision", "reason", "hid", "session", "status", "upstream", "server", "upstream_reused",
        "attempts", "upstream_status", "bytes_in",
        "bytes_out", "ms", "end",
    ]

    private func expectShape(_ line: JSONValue) {
        #expect(Self.names.subtracting(line.names) == [])
        for name in ["time", "request_id", "client", "listener", "protocol", "mode", "decision"] {
            #expect(line[name].text != nil, "\(name) is \(line[name])")
        }
        for name in ["status", "bytes_in", "bytes_out"] {
            #expect(line[name].number != nil, "\(name) is \(line[name])")
        }
        for name in [
            "support_code", "method", "host", "path", "route", "match", "reason", "hid", "session", "upstream", "end",
        ] {
            #expect(line[name].text != nil || line[name] == .null, "\(name) is \(line[name])")
        }
        #expect(line["ms"].names.isSuperset(of: ["total", "verify", "upstream"]))
        #expect(line["ms"]["total"].number != nil)
        #expect(line["time"].text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }

    @Test func `a line has every member and the right values`() throws {
        let bench = try Bench()
        let request = Bench.post(
            "/api/v1/login?secret=1", token: try bench.token(), signature: try bench.signature([1]), body: [1])
        let answer = try bench.once(request)
        let line = try #require(bench.line(of: answer))
        expectShape(line)
        #expect(line["client"].text == "127.0.0.1")
        #expect(line["protocol"].text == "HTTP/1.1")
        #expect(line["method"].text == "POST")
        #expect(line["host"].text == "api.test")
        #expect(line["path"].text == "/api/v1/login")
        #expect(line["route"].text == "login")
        #expect(line["match"].text == "canonical")
        #expect(line["mode"].text == "block")
        #expect(line["decision"].text == "pass")
        #expect(line["hid"].text == String(Bench.hid.prefix(8)))
        #expect(line["session"].text?.count == 32)
        #expect(line["status"].number == 200)
        #expect(line["upstream"].text == "api")
        #expect(line["server"].text.map { "http://\($0)" } == bench.upstream.url)
        #expect(line["upstream_reused"] == .bool(false))
        #expect(line["attempts"].number == 1)
        #expect(line["upstream_status"].number == 200)
        #expect(line["bytes_in"].number == Double(request.count))
        #expect(line["support_code"] == .null)
        #expect(line["end"] == .null)
        #expect((line["ms"]["verify"].number ?? 0) > 0)
    }

    @Test func `every way out writes one line with every member`() throws {
        let bench = try Bench(.init(sections: VerificationTests.limits))
        var count = 0
        for refusal in RefusalCase.all {
            _ = try bench.once(try refusal.make(bench))
            count += 1
        }
        for text in ["GET /a HTTP/1.1\r\n\r\n", "\u{1}\r\n\r\n", get("/%zz"), get("/a", method: "TRACE")] {
            _ = try bench.once(text)
            count += 1
        }
        _ = try bench.once(get("/last"))
        #expect(bench.daemon.accessLine { $0["path"].text == "/last" } != nil)
        let lines = bench.daemon.accessLines
        #expect(lines.count == count + 1)
        #expect(Set(lines.compactMap { $0["request_id"].text }).count == count + 1)
        for line in lines { expectShape(line) }
    }

    @Test(arguments: [
        "GET /x HTTP/1.1\r\n\r\n", "TRACE /x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `a refused request does not show the path of the one before it`(_ second: String) throws {
        let bench = try Bench()
        let client = try bench.client()
        #expect(try client.exchange(get("/first"))?.status == 200)
        let answer = try client.exchange(second)
        #expect(answer?.status == (second.hasPrefix("TRACE") ? 405 : 400))
        let line = try #require(bench.line(of: answer))
        #expect(line["decision"].text == "reject")
        #expect(line["path"].text != "/first")
        #expect(line["host"].text != "api.test")
        #expect(line["route"] == .null)
        #expect(line["hid"] == .null)
    }

    @Test func `no token and no signature is ever logged`() throws {
        let bench = try Bench(.init(sections: VerificationTests.limits, mode: "monitoring"))
        var secrets: [String] = [Bench.hid]
        for refusal in RefusalCase.all {
            let request = try refusal.make(bench)
            let head = String(decoding: request, as: UTF8.self).split(separator: "\r\n")
            for line in head where line.lowercased().hasPrefix("x-hid-") {
                let value = line.split(separator: " ").last.map(String.init) ?? ""
                if value.count >= 12 { secrets += [value, String(value.suffix(40))] }
            }
            _ = try bench.once(request)
        }
        _ = try bench.once(get("/last"))
        #expect(bench.daemon.accessLine { $0["path"].text == "/last" } != nil)
        let log = bench.daemon.child.lines.joined(separator: "\n")
        for secret in secrets { #expect(!log.contains(secret), "\(secret) is in the log") }
    }

    @Test func `the request id of a trusted proxy is taken over, another's is not`() throws {
        let bench = try Bench()
        let answer = try bench.once(get("/a", fields: "X-Request-Id: abc-123\r\n"))
        #expect(answer?["X-Request-Id"] != "abc-123")
        #expect(answer?["X-Request-Id"] == bench.upstream.requests.first?["X-Request-Id"])
    }
}
