// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// Limits of a client.
@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    @Test func `too many failed verifications a second are answered with 429, before any curve work`() throws {
        let sections = "limits: { failed_verifications: { per_client: 5, when: always } }"
        let bench = try Bench(.init(sections: sections))
        let client = try bench.client()
        let body = Array("{}".utf8)
        let other = try bench.signature([1])
        var statuses: [Int] = []
        // The count is one of a second; a busy machine may see the second change on the way.
        for _ in 0..<60 where statuses.last != 429 {
            let request = Bench.post(token: try bench.token(), signature: other, body: body)
            let answer = try client.exchange(request)
            statuses.append(answer?.status ?? 0)
            guard answer?.status == 429 else { continue }
            #expect(answer?["Retry-After"] == "1")
            #expect(bench.line(of: answer)?["reason"].text == "limit.failed_verifications")
            #expect(bench.line(of: answer)?["decision"].text == "reject")
        }
        #expect(statuses.last == 429)
        #expect(statuses.dropLast().allSatisfy { $0 == 403 })
        #expect(statuses.count > 5, "each failed request counts once: \(statuses)")
        #expect(try client.exchange(get("/public"))?.status == 200, "what is not critical is served on")
    }

    @Test func `connections of one client beyond the limit are answered with 503, and places come back`() throws {
        let bench = try Bench(.init(sections: "limits: { per_client: 3 }"))
        var clients = try (0..<3).map { _ in try bench.client() }
        for client in clients { #expect(try client.exchange(get("/a"))?.status == 200) }
        let extra = try bench.client()
        let answer = try extra.response()
        #expect(answer?.status == 503)
        #expect(answer?["Retry-After"] == "1")
        #expect(extra.isClosed())
        clients.removeLast().wire.close()
        let deadline = Deadline(in: .seconds(5))
        var status: Int?
        while status != 200, deadline.milliseconds > 0 { status = try? bench.client().exchange(get("/a"))?.status }
        #expect(status == 200)
    }
}
