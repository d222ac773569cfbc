// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDTesting
import Testing

/// Many callers at once: one exchange, no caller at the mercy of another.
@Suite(.timeLimit(.minutes(10))) struct SharingTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// Holds back the first challenge.
    private func hold() -> TaskGate {
        let gate = TaskGate()
        bench.server.run { _, number in
            if number == 0 { await gate.pass() }
            return .model
        }
        return gate
    }

    @Test func `a hundred callers share one exchange and one token`() async throws {
        let tokens = try await withThrowingTaskGroup(of: HumanIDToken.self) { group in
            for _ in 0..<100 { group.addTask { [sdk = bench.sdk] in try await sdk.getToken() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens.count == 100 && tokens.allSatisfy { $0 == tokens[0] })
        #expect(bench.server.types == ["challenge", "attestation"])
    }

    @Test func `a hundred callers share one failure, and the next call makes a new request`() async throws {
        let gate = TaskGate()
        bench.server.run { _, number in
            guard number == 0 else { return .model }
            await gate.pass()
            return .fail(.network("down"))
        }
        let sdk = bench.sdk
        let first = Task { await failure { () async throws(HumanIDError) in try await sdk.getToken() } }
        await gate.arrived(1)
        let others = (0..<99).map { _ in
            Task { await failure { () async throws(HumanIDError) in try await sdk.getToken() } }
        }
        gate.open()
        #expect(await first.value == .getTokenFailed(.network("down")))
        for other in others { #expect(await other.value == .getTokenFailed(.network("down"))) }
        #expect(bench.server.calls.count == 1)
        bench.clock.advance(.seconds(1))
        _ = try await sdk.getToken()
        #expect(bench.server.calls.count == 3)
    }

    @Test func `a caller that is cancelled returns at once and leaves the others their token`() async throws {
        let gate = hold()
        let sdk = bench.sdk
        let impatient = Task { await failure { () async throws(HumanIDError) in try await sdk.getToken() } }
        await gate.arrived(1)
        let patient = Task { try await sdk.getToken() }
        impatient.cancel()
        #expect(await impatient.value == .getTokenFailed(.cancelled))
        gate.open()
        #expect(try await patient.value.expiresIn == 30)
        #expect(bench.server.types == ["challenge", "attestation"])
    }

    @Test func `an exchange whose only caller is cancelled still ends in a kept token`() async throws {
        let gate = hold()
        let sdk = bench.sdk
        let caller = Task { await failure { () async throws(HumanIDError) in try await sdk.getToken() } }
        await gate.arrived(1)
        caller.cancel()
        #expect(await caller.value == .getTokenFailed(.cancelled))
        gate.open()
        _ = try await sdk.getToken()
        #expect(bench.server.types == ["challenge", "attestation"])
    }

    @Test func `a task that is cancelled before it calls asks nobody`() async throws {
        let sdk = bench.sdk
        let gate = TaskGate()
        let caller = Task {
            await gate.pass()
            return await failure { () async throws(HumanIDError) in try await sdk.getToken() }
        }
        caller.cancel()
        gate.open()
        #expect(await caller.value == .getTokenFailed(.cancelled))
        #expect(bench.server.calls.isEmpty && bench.sdk.backoffRemaining == nil)
    }

    @Test func `a server that hangs ends in a timeout, and the next call does not wait for it`() async throws {
        let gate = hold()
        let sdk = bench.sdk
        let caller = Task { await failure { () async throws(HumanIDError) in try await sdk.getToken() } }
        await gate.arrived(1)
        while bench.sdk.backoffRemaining == nil {
            // The timer may not have been started yet.
            bench.clock.advance(.seconds(31))
            await Task.yield()
        }
        #expect(await caller.value == .getTokenFailed(.timeout))
        bench.clock.advance(.seconds(60))
        let next = TaskGate()
        bench.server.run { _, _ in
            await next.pass()
            return .model
        }
        let second = Task { try await sdk.getToken() }
        await next.arrived(1)
        // What comes of the abandoned exchange ends nobody else's, and it asks no further.
        gate.open()
        for _ in 0..<2_000 { await Task.yield() }
        next.open()
        #expect(try await second.value.expiresIn == 30)
        #expect(bench.server.types == ["challenge", "challenge", "attestation"])
    }

    @Test func `a slow key delays neither another signature nor a token`() async throws {
        let sdk = bench.sdk
        let token = try await sdk.getToken()
        let gate = TaskGate()
        bench.keys.run { step, number in
            if step == .sign, number < 2 { await gate.pass() }
            return nil
        }
        let first = Task { try await sdk.signRequestBody([1]) }
        let second = Task { try await sdk.signRequestBody([2]) }
        // Both are at the key at once; a lock around it would let one wait for ever.
        await gate.arrived(2)
        let other = try await sdk.getToken()
        #expect(other != token)
        gate.open()
        #expect(try await first.value != second.value)
    }

    @Test func `requests signed at the same time never share a token`() async throws {
        let sdk = bench.sdk
        let shared = try await sdk.getToken()
        let signed = try await withThrowingTaskGroup(of: HumanIDSignedHeaders.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await sdk.signRequest(method: "POST", authority: "a", target: "/", body: [UInt8(number)])
                }
                group.addTask {
                    _ = try await sdk.getToken()
                    return try await sdk.signRequest(method: "POST", authority: "a", target: "/", body: [UInt8(number)])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let texts = Set(signed.map(\.token.value))
        #expect(texts.count == 40 && !texts.contains(shared.value))
    }

    @Test func `a token got ahead is for the next request, and for one alone`() async throws {
        try await bench.sdk.prefetchToken()
        try await bench.sdk.prefetchToken()
        #expect(bench.server.calls.count == 2)
        let first = try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
        #expect(bench.server.calls.count == 2)
        let second = try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
        #expect(bench.server.calls.count == 4 && first.token != second.token)
        try await bench.sdk.prefetchToken()
        let third = try await bench.sdk.getToken()
        #expect(bench.server.calls.count == 6 && third != second.token)
        // It was handed out, so a request of its own gets another.
        let fourth = try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
        #expect(fourth.token != third)
    }

    @Test func `a request of its own leaves the token that others share where it is`() async throws {
        let shared = try await bench.sdk.getToken()
        let own = try await bench.sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
        #expect(own.token != shared && bench.server.calls.count == 4)
        #expect(try await bench.sdk.getToken() == shared)
        #expect(bench.server.calls.count == 4)
    }

    @Test func `callers of every kind in one race come out with what they asked for`() async throws {
        let clock = bench.clock
        let sdk = bench.sdk
        let owned = Monitor<[String]>([])
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    switch number % 5 {
                    case 0: _ = try? await sdk.getToken()
                    case 1: try? await sdk.prefetchToken()
                    case 2: _ = try? await sdk.signRequestBody([1])
                    case 3: clock.advance(.milliseconds(300))
                    default:
                        let signed = try? await sdk.signRequest(method: "GET", authority: "a", target: "/", body: [])
                        if let signed { owned.withLock { $0.append(signed.token.value) } }
                    }
                }
            }
            for number in 0..<50 {
                group.addTask {
                    let task = Task { try? await sdk.getToken() }
                    if number % 2 == 0 { task.cancel() }
                    _ = await task.value
                }
            }
        }
        let tokens = owned.withLock { $0 }
        #expect(!tokens.isEmpty && Set(tokens).count == tokens.count)
    }
}
