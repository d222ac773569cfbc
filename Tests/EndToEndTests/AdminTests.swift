// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// The admin listener.
@Suite(.timeLimit(.minutes(10))) struct AdminTests {
    /// Samples of the Prometheus text format by their name with labels; records what is no such format.
    private func samples(_ text: String) -> [String: Double] {
        var types: [String: String] = [:]
        var samples: [String: Double] = [:]
        #expect(text.hasSuffix("\n"))
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE ") {
                #expect(types.updateValue(String(words[3]), forKey: String(words[2])) == nil, "\(line) twice")
                continue
            }
            if line.hasPrefix("# HELP ") { continue }
            let match = line.wholeMatch(
                of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\.)*",?)*\})? (\S+)/)
            guard let match, let value = Double(match.3) else {
                Issue.record("no sample: \(line)")
                continue
            }
            let name = String(match.1)
            let families =
                [name]
                + ["_bucket", "_sum", "_count"].filter { name.hasSuffix($0) }
                .map { String(name.dropLast($0.count)) }
            #expect(families.contains { types[$0] != nil }, "\(name) has no TYPE before it")
            #expect(samples.updateValue(value, forKey: name + (match.2 ?? "")) == nil, "\(line) twice")
        }
        return samples
    }

    @Test func `metrics are Prometheus text and count what was sent`() throws {
        let bench = try Bench(.init(sections: VerificationTests.limits, loops: 2))
        for _ in 0..<5 { #expect(try bench.once(get("/a"))?.status == 200) }
        for _ in 0..<3 { #expect(try bench.once(try bench.good())?.status == 200) }
        for _ in 0..<2 { #expect(try bench.once(Bench.post(body: [1]))?.status == 403) }
        #expect(try bench.once("GET /a HTTP/1.1\r\n\r\n")?.status == 400)
        // A line is written after its exchange was counted.
        #expect(bench.daemon.accessLine { $0["status"].number == 400 } != nil)
        let answer = try #require(try bench.admin("/metrics"))
        #expect(answer.status == 200)
        #expect(answer["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        let values = samples(answer.text)
        #expect(values["hidgate_requests_total{decision=\"pass\"}"] == 8)
        #expect(values["hidgate_requests_total{decision=\"block\"}"] == 2)
        #expect(values["hidgate_requests_total{decision=\"reject\"}"] == 1)
        #expect(values["hidgate_reasons_total{reason=\"hid.token_missing\"}"] == 2)
        #expect(values["hidgate_reasons_total{reason=\"http.host_missing\"}"] == 1)
        #expect(values["hidgate_responses_total{class=\"2xx\"}"] == 8)
        #expect(values["hidgate_responses_total{class=\"4xx\"}"] == 3)
        #expect(values["hidgate_verdicts_total{verdict=\"human\"}"] == 3)
        #expect(values["hidgate_replay_marks"] == 3)
        #expect(values["hidgate_sessions"] == 1)
        #expect(values["hidgate_request_seconds_count"] == 11)
        #expect(values["hidgate_request_seconds_bucket{le=\"+Inf\"}"] == 11)
        #expect(values["hidgate_access_log_dropped_total"] == 0)
    }

    @Test func `healthz and readyz answer, and readyz waits for keys`() throws {
        let bench = try Bench()
        #expect(try bench.admin("/healthz")?.status == 200)
        #expect(try bench.admin("/readyz")?.status == 200)
        #expect(try bench.admin("/nothing")?.status == 404)
        #expect(try bench.admin("/healthz", method: "POST")?.status == 405)
        #expect(try bench.admin("/healthz", method: "PUT")?["Allow"] == "GET, HEAD")
        #expect(try bench.admin("/api/routes", method: "PUT")?["Allow"] == "GET, HEAD, POST, DELETE")
        let server = try ScriptedUpstream(
            ScriptedUpstream.answering { _ in "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n" })
        let keyless = try Bench(.init(jwks: "url: \"\(server.url)/jwks.json\""))
        #expect(keyless.daemon.event("jwks.load_failed") != nil)
        let answer = try keyless.admin("/readyz")
        #expect(answer?.status == 503)
        #expect(answer.flatMap { JSONValue($0.text) }?["status"].text == "not_ready")
        #expect(try keyless.admin("/healthz")?.status == 200)
    }

    @Test func `sessions are grouped by hid with counts and addresses`() throws {
        let bench = try Bench(.init(sections: VerificationTests.limits))
        for _ in 0..<3 { #expect(try bench.once(try bench.good())?.status == 200) }
        let wrong = Bench.post(token: try bench.token(), signature: try bench.signature([1]), body: [2])
        #expect(try bench.once(wrong)?.status == 403)
        let other = "d-e2e-other-9876543210abcd"
        let token = try bench.token { $0["hid"] = "\"\(other)\"" }
        let last = try bench.once(Bench.post(token: token, signature: try bench.signature([1]), body: [1]))
        #expect(last?.status == 200)
        #expect(bench.line(of: last) != nil)
        func list(_ query: String = "") throws -> [JSONValue] {
            let answer = try #require(try bench.admin("/api/sessions\(query)"))
            #expect(answer.status == 200, "\(query): \(answer.text)")
            return try #require(JSONValue(answer.text))["sessions"].elements
        }
        let all = try list()
        #expect(all.map { $0["hid"].text } == [other, Bench.hid], "newest first")
        let session = all[1]
        #expect(session["requests"].number == 4)
        #expect(session["passed"].number == 3)
        #expect(session["blocked"].number == 1)
        #expect(session["would_block"].number == 0)
        #expect(session["addresses"] == .array([.string("127.0.0.1")]))
        #expect(session["denied"] == .null)
        #expect(bench.line(of: last)?["session"] == all[0]["id"])
        #expect(try list("?hid=\(other)").count == 1)
        #expect(try list("?outcome=blocked").map { $0["hid"].text } == [Bench.hid])
        #expect(try list("?address=127.0.0.1").count == 2)
        #expect(try list("?address=10.0.0.1").isEmpty)
        #expect(try list("?since=1h").count == 2)
        #expect(try list("?since=\(Bench.now + 100)").isEmpty)
        let page = try #require(JSONValue(try bench.admin("/api/sessions?limit=1")?.text ?? ""))
        #expect(page["sessions"].elements.count == 1)
        let next = try #require(page["next"].text)
        #expect(try list("?limit=1&cursor=\(next)").map { $0["hid"].text } == [Bench.hid])
        #expect(try bench.admin("/api/sessions?outcome=odd")?.status == 400)
        #expect(try bench.admin("/api/sessions/\(session["id"].text ?? "")")?.status == 200)
        #expect(try bench.admin("/api/sessions/none")?.status == 404)
    }

    @Test func `the API wants the bearer token and no browser of another site`() throws {
        let folder = try TestFolder()
        let secret = "0123456789abcdef-secret"
        let file = try folder.write("token", secret + "\n")
        let bench = try Bench(.init(admin: "{ address: \"127.0.0.1:0\", token_file: \"\(file)\" }"))
        let good = "Authorization: Bearer \(secret)\r\n"
        #expect(try bench.admin("/api/sessions", fields: good)?.status == 200)
        let missing = try bench.admin("/api/sessions")
        #expect(missing?.status == 401)
        #expect(missing?["WWW-Authenticate"] == "Bearer")
        #expect(JSONValue(missing?.text ?? "")?["error"]["code"].text == "unauthorized")
        #expect(try bench.admin("/api/sessions", fields: "Authorization: Bearer \(secret)x\r\n")?.status == 401)
        #expect(try bench.admin("/api/sessions", fields: "Authorization: Basic \(secret)\r\n")?.status == 401)
        #expect(try bench.admin("/api/sessions", fields: good + good)?.status == 401)
        #expect(try bench.admin("/api/sessions", fields: good + "Origin: https://evil.test\r\n")?.status == 403)
        let rebound = try RawClient(try #require(bench.daemon.admin)).exchange(
            "GET /api/sessions HTTP/1.1\r\nHost: evil.test\r\n\(good)\r\n")
        #expect(rebound?.status == 403)
        #expect(try bench.admin("/metrics")?.status == 200)
        #expect(try bench.admin("/api/routes", fields: good)?.text.contains("\"login\"") == true)
        #expect(!bench.daemon.child.lines.joined().contains(secret))
    }
}
