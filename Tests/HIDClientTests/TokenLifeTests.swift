// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDTesting
import Testing

/// How long a token is kept and shown as fresh, by which clock.
@Suite(.timeLimit(.minutes(10))) struct TokenLifeTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `a token is given again while ten seconds of its life are left`() async throws {
        let first = try await bench.sdk.getToken()
        bench.clock.advance(.seconds(20))
        #expect(try await bench.sdk.getToken() == first)
        #expect(first.expiresIn == 10 && bench.server.calls.count == 2)
        bench.clock.advance(.nanoseconds(1))
        let second = try await bench.sdk.getToken()
        #expect(second != first && second.expiresIn == 30 && bench.server.calls.count == 4)
        #expect(first.expiresIn == 9 && !first.isExpired)
        bench.clock.advance(.seconds(9))
        #expect(first.expiresIn == 0 && first.isExpired)
        bench.clock.advance(.seconds(86_400))
        #expect(first.expiresIn == 0)
    }

    @Test func `the least life is configurable, and a dead token is never given`() async throws {
        let bench = try Bench { $0.minimumTokenLife = .zero }
        let first = try await bench.sdk.getToken()
        bench.clock.advance(.milliseconds(29_999))
        #expect(try await bench.sdk.getToken() == first)
        bench.clock.advance(.milliseconds(1))
        #expect(try await bench.sdk.getToken() != first)
        let eager = try Bench { $0.minimumTokenLife = .seconds(60) }
        #expect(try await eager.sdk.getToken() != eager.sdk.getToken())
    }

    @Test func `life counts from the moment of sending, so a slow answer costs some of it`() async throws {
        bench.server.run { [clock = bench.clock] call, _ in
            clock.advance(call.type == "challenge" ? .seconds(5) : .seconds(12))
            return .model
        }
        #expect(try await bench.sdk.getToken().expiresIn == 18)
    }

    @Test func `an answer that came after the token's end is told, and the next call asks again`() async throws {
        bench.server.run { [clock = bench.clock] call, _ in
            if call.type == "attestation" { clock.advance(.seconds(30)) }
            return .model
        }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(error == .getTokenFailed(.expiredOnArrival) && error?.isRetryable == true)
        bench.clock.advance(.seconds(1))
        bench.server.run { _, _ in .model }
        #expect(try await bench.sdk.getToken().expiresIn == 30)
    }

    @Test func `a monotonic clock that runs backwards makes no token fresher`() async throws {
        let first = try await bench.sdk.getToken()
        bench.clock.advance(.seconds(-500))
        #expect(first.expiresIn == 0)
        #expect(try await bench.sdk.getToken() != first)
        bench.clock.advance(.seconds(30))
        bench.server.run { [clock = bench.clock] call, _ in
            if call.type == "key_proof" { clock.advance(.seconds(-1)) }
            return .model
        }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(error == .getTokenFailed(.clockRanBackwards))
    }

    @Test(arguments: [-7_200, 7_200, -1_000_000_000, 1_000_000_000])
    func `a wall clock that is wrong or jumps changes nothing`(_ seconds: Int64) async throws {
        bench.clock.shiftWall(seconds)
        let first = try await bench.sdk.getToken()
        #expect(first.expiresIn == 30)
        bench.clock.shiftWall(-2 * seconds)
        #expect(first.expiresIn == 30)
        #expect(try await bench.sdk.getToken() == first)
        #expect(bench.server.calls.count == 2)
        bench.clock.advance(.seconds(21))
        bench.clock.shiftWall(3 * seconds)
        #expect(try await bench.sdk.getToken() != first)
        #expect(bench.server.calls.count == 4)
    }

    @Test func `a process that was suspended for forty seconds gets a new token`() async throws {
        let first = try await bench.sdk.getToken()
        bench.clock.advance(.seconds(40))
        #expect(first.isExpired)
        let second = try await bench.sdk.getToken()
        #expect(second != first && second.expiresIn == 30)
    }

    @Test func `the offset of the server's clock is kept, and only shown`() async throws {
        #expect(bench.sdk.serverTimeOffset == nil)
        _ = try await bench.sdk.getToken()
        #expect(bench.sdk.serverTimeOffset == .seconds(7))
        bench.clock.shiftWall(-3_600)
        bench.clock.advance(.seconds(25))
        _ = try await bench.sdk.getToken()
        #expect(bench.sdk.serverTimeOffset == .seconds(7 - 25 + 3_600))
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808"])
    func `an absurd server time does no harm`(_ time: String) async throws {
        bench.server.run { [server = bench.server] call, _ in
            guard call.type == "challenge" else { return .model }
            let text = String(decoding: server.answer(call.path, call.body).body, as: UTF8.self)
            return .ok(text.replacing("\(TestIssuer.now + 7)", with: time))
        }
        _ = try await bench.sdk.getToken()
        _ = bench.sdk.serverTimeOffset
    }

    @Test func `a life over sixty seconds counts as sixty`() async throws {
        bench.server.change { $0.life = 1_000_000 }
        #expect(try await bench.sdk.getToken().expiresIn == 60)
    }

    @Test func `the system's clock goes forward and its sleep ends with its task`() async {
        let clock = SystemClock()
        let first = clock.now()
        let second = SystemClock().now()
        #expect(first >= .zero && second >= first && clock.unixSeconds() > 1_700_000_000)
        let sleeper = Task { await clock.sleep(for: .seconds(3_600)) }
        sleeper.cancel()
        await sleeper.value
        await clock.sleep(for: .zero)
    }
}
