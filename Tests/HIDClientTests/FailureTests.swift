// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDTesting
import Synchronization
import Testing

/// What the server's refusals and faults become, and how long it is left alone after them.
@Suite(.timeLimit(.minutes(10))) struct FailureTests {
    /// The error of a call whose n-th request has that outcome.
    private func error(_ step: ModelServer.Step, at position: Int) async throws -> HumanIDFailure? {
        let bench = try Bench()
        bench.server.run { _, number in number == position ? step : .model }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        if let error {
            guard case .getTokenFailed = error else {
                Issue.record("\(error)")
                return nil
            }
            #expect(bench.sdk.backoffRemaining != nil)
        }
        return error?.failure
    }

    @Test(arguments: [0, 1])
    func `every outcome has its own error`(_ position: Int) async throws {
        let refused = { (code: String) in HumanIDFailure.rejected(code: code, requestID: "r-1") }
        let cases: [(ModelServer.Step, HumanIDFailure, Bool)] = [
            (.fail(.network("no route")), .network("no route"), true),
            (.fail(.timeout), .timeout, true),
            (.fail(.answerTooLarge), .badAnswer("over 65536 octets"), true),
            (
                .answer(.init(status: 200, body: [UInt8](repeating: 0x20, count: 65_537))),
                .badAnswer("over 65536 octets"), true
            ),
            (.refuse(400, "bad_request"), refused("bad_request"), false),
            (.refuse(404, "app_unknown"), refused("app_unknown"), false),
            (.refuse(403, "platform_not_enabled"), refused("platform_not_enabled"), false),
            (.refuse(429, "rate_limited"), .rateLimited(retryAfter: nil), true),
            (.refuse(429, "rate_limited", retryAfter: "17"), .rateLimited(retryAfter: .seconds(17)), true),
            (.answer(.init(status: 429, retryAfter: "3", body: [])), .rateLimited(retryAfter: .seconds(3)), true),
            (.refuse(503, "unavailable", retryAfter: "5"), .unavailable(retryAfter: .seconds(5)), true),
            (.answer(.init(status: 502, body: Array("<html>".utf8))), .unavailable(retryAfter: nil), true),
            (.answer(.init(status: 403, body: Array("<html>".utf8))), .badAnswer("status 403"), true),
            (.answer(.init(status: 302, body: [])), .badAnswer("status 302"), true),
            (.answer(.init(status: 204, body: [])), .badAnswer("status 204"), true),
            (.answer(.init(status: 0, body: [])), .badAnswer("status 0"), true),
            (
                .refuse(200, "bad_request"),
                .badAnswer(
                    position == 0
                        ? "member challenge_id or nonce of the challenge" : "member status of the token's answer"), true
            ),
        ]
        for (step, expected, isRetryable) in cases {
            let found = try await error(step, at: position)
            #expect(found == expected)
            #expect(found?.isRetryable == isRetryable, "\(expected)")
        }
    }

    @Test(arguments: ["", " 5", "+5", "5s", "-1", "1.5", "99999999999999999999", "Wed, 21 Oct 2026 07:28:00 GMT", "٥"])
    func `a Retry-After that is no number of seconds is none`(_ value: String) async throws {
        let found = try await error(.refuse(503, "unavailable", retryAfter: value), at: 0)
        #expect(found == .unavailable(retryAfter: nil))
    }

    @Test func `an error code or request id with odd characters is not passed on`() async throws {
        for code in ["", "a b", "a\\n", "\\u0000", String(repeating: "a", count: 65)] {
            #expect(try await error(.refuse(403, code), at: 0) == .badAnswer("status 403"))
        }
        let text = "{\"error\":{\"code\":\"app_unknown\",\"request_id\":\"\\u001b[31m\"}}"
        let found = try await error(.answer(.init(status: 404, body: Array(text.utf8))), at: 0)
        #expect(found == .rejected(code: "app_unknown", requestID: nil))
    }

    // MARK: - Back-off

    @Test func `calls fail fast with the stored error until the pause is over, which doubles`() async throws {
        let bench = try Bench()
        bench.server.run { _, _ in .fail(.network("down")) }
        var expected = Duration.milliseconds(500)
        for number in 1...12 {
            let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
            #expect(error == .getTokenFailed(.network("down")))
            #expect(bench.server.calls.count == number)
            #expect(bench.sdk.backoffRemaining == expected)
            bench.clock.advance(expected - .nanoseconds(1))
            #expect(await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() } == error)
            let signed = await failure { () async throws(HumanIDError) in
                try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
            }
            #expect(signed == error)
            #expect(bench.server.calls.count == number)
            bench.clock.advance(.nanoseconds(1))
            expected = min(expected * 2, .seconds(60))
        }
        bench.server.run { _, _ in .model }
        _ = try await bench.sdk.getToken()
        // A success forgets the failures.
        bench.clock.advance(.seconds(25))
        bench.server.run { _, _ in .fail(.timeout) }
        _ = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(bench.sdk.backoffRemaining == .milliseconds(500))
    }

    @Test func `the pause is between half and all of its length`() async throws {
        for (share, milliseconds) in [(0.0, 250), (0.5, 375), (0.999_999_999, 499), (-5, 250), (7, 500)] {
            let bench = try Bench(jitter: { share })
            bench.server.run { _, _ in .fail(.timeout) }
            _ = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
            let pause = try #require(bench.sdk.backoffRemaining)
            #expect(pause >= .milliseconds(milliseconds) && pause < .milliseconds(milliseconds + 1), "\(share)")
        }
    }

    @Test(arguments: [
        (1, 0.0, 1), (1, 1, 1), (100, 0, 100), (100, 1, 125), (290, 1, 300), (300, 0, 300), (999_999_999, 1, 300),
    ])
    func `Retry-After is honoured, stretched a little, and capped`(
        _ seconds: Int, _ share: Double, _ pause: Int
    ) async throws {
        let bench = try Bench(jitter: { share })
        bench.server.run { _, _ in .refuse(429, "rate_limited", retryAfter: "\(seconds)") }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(error?.retryAfter == .seconds(seconds))
        let remaining = try #require(bench.sdk.backoffRemaining)
        #expect(remaining >= .seconds(pause) && remaining < .seconds(pause + 1))
        bench.clock.advance(remaining)
        #expect(bench.sdk.backoffRemaining == nil)
    }

    @Test func `a kept token is given inside the pause, and a clock that runs backwards ends it`() async throws {
        let bench = try Bench()
        let token = try await bench.sdk.getToken()
        bench.server.run { _, _ in .fail(.timeout) }
        _ = await failure { () async throws(HumanIDError) in
            try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
        }
        #expect(bench.sdk.backoffRemaining != nil)
        #expect(try await bench.sdk.getToken() == token)
        bench.clock.advance(.seconds(-5_000))
        #expect(bench.sdk.backoffRemaining == nil)
        bench.server.run { _, _ in .model }
        _ = try await bench.sdk.getToken()
    }

    @Test func `absurd times in the configuration do no harm`() async throws {
        for time in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(-1)] {
            let bench = try Bench {
                $0.initialBackoff = time
                $0.maximumBackoff = time
                $0.maximumRetryAfter = time
                $0.minimumTokenLife = time
                $0.requestTimeout = time
            }
            bench.server.run { _, _ in .refuse(503, "unavailable", retryAfter: "999999999") }
            for _ in 0..<40 {
                _ = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
                bench.clock.advance(.seconds(86_400))
            }
            bench.server.run { _, _ in .model }
            _ = try await bench.sdk.getToken()
        }
    }

    @Test func `every error has words of its own`() {
        let keys: [HumanIDKeyError] = [
            .unsupported("a"), .unavailable("a"), .invalidated, .corrupt("a"), .attestationFailed("a"),
            .malformedSignature,
        ]
        let failures: [HumanIDFailure] = [
            .network("a"), .timeout, .rateLimited(retryAfter: nil), .rejected(code: "a", requestID: nil),
            .rejected(code: "a", requestID: "b"), .unavailable(retryAfter: nil), .badAnswer("a"), .expiredOnArrival,
            .clockRanBackwards, .noToken, .invalidRequest("x"), .cancelled,
        ]
        let all = failures + keys.map { .keyUnavailable($0) }
        let errors =
            all.flatMap { [HumanIDError.getTokenFailed($0), .signRequestBodyFailed($0)] } + [.unknownError("a")]
        #expect(Set(errors.map(\.description)).count == errors.count)
        #expect(
            errors.allSatisfy { !$0.description.hasSuffix(".") && $0.isRetryable == ($0.failure?.isRetryable ?? false) }
        )
        #expect(all.filter(\.isRetryable).count == 9)
    }
}
