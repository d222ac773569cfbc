// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting
import Testing

/// Challenge, attestation, key proof: which calls lead to a token, and how many there are at most.
@Suite(.timeLimit(.minutes(10))) struct FlowTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `a new device attests its key, and proves it from then on`() async throws {
        let first = try await bench.sdk.getToken()
        #expect(bench.server.types == ["challenge", "attestation"])
        let second = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(2) == ["challenge", "key_proof"])
        #expect(first != second && first.hid == second.hid && first.hid?.count == 43)
        #expect(first.verdict == "human" && !first.isBlocked)
        #expect(bench.keys.count(.make) == 1 && bench.keys.count(.attest) == 1)
        for call in bench.server.calls {
            #expect(call.request.timeout == .seconds(10) && call.request.answerLimit == 65_536)
            #expect(call.body["device_id"].text == bench.server.calls[0].body["device_id"].text)
        }
    }

    @Test func `a device id of the configuration goes before that of the key holder`() async throws {
        let bench = try Bench(device: "phone-7")
        _ = try await bench.sdk.getToken()
        #expect(bench.server.calls.allSatisfy { $0.body["device_id"].text == "phone-7" })
        #expect(bench.keys.count(.deviceID) == 0)
    }

    @Test func `a key that the server does not know is attested with a fresh challenge`() async throws {
        let first = try await bench.sdk.getToken()
        bench.server.run { [server = bench.server] call, _ in
            if call.type == "key_proof" { server.forgetKeys() }
            return .model
        }
        let second = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(4) == ["challenge", "key_proof", "challenge", "attestation"])
        // The same key keeps its hid.
        #expect(first.hid == second.hid && bench.keys.count(.make) == 1)
        let ids = bench.server.calls.suffix(4).filter { $0.type != "challenge" }.map { $0.body["challenge_id"].text }
        #expect(Set(ids).count == 2)
    }

    @Test func `a rejected key proof leads to one attestation`() async throws {
        _ = try await bench.sdk.getToken()
        let other = try TestDevice()
        bench.server.change { state in
            for device in state.keys.keys { state.keys[device] = other.key.publicKey.subjectPublicKeyInfo }
        }
        _ = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(4) == ["challenge", "key_proof", "challenge", "attestation"])
    }

    @Test func `a device that lost its key attests a new one at once`() async throws {
        _ = try await bench.sdk.getToken()
        try await bench.keys.inner.deleteKey()
        _ = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(2) == ["challenge", "attestation"])
        #expect(bench.keys.count(.make) == 2)
    }

    @Test func `a key that can no longer sign is replaced and attested`() async throws {
        let first = try await bench.sdk.getToken()
        bench.keys.run { step, number in step == .sign && number == 0 ? .invalidated : nil }
        let second = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(3) == ["challenge", "challenge", "attestation"])
        #expect(bench.keys.count(.make) == 2 && first.hid != second.hid)
    }

    @Test func `a key that can no longer be loaded is replaced and attested`() async throws {
        _ = try await bench.sdk.getToken()
        bench.keys.run { [keys = bench.keys] step, _ in
            step == .load && keys.count(.make) == 1 ? .invalidated : nil
        }
        _ = try await bench.restarted().getToken()
        #expect(bench.server.types.suffix(2) == ["challenge", "attestation"] && bench.keys.count(.make) == 2)
    }

    @Test func `a stale challenge is replaced once`() async throws {
        bench.server.run { _, number in number == 1 ? .refuse(409, "challenge_unknown") : .model }
        _ = try await bench.sdk.getToken()
        #expect(bench.server.types == ["challenge", "attestation", "challenge", "attestation"])
    }

    @Test(arguments: ["key_unknown", "key_proof_rejected", "challenge_unknown"])
    func `a server that always says the same gets two challenges and not one more`(_ code: String) async throws {
        _ = try await bench.sdk.getToken()
        bench.server.run { call, _ in call.type == "challenge" ? .model : .refuse(409, code) }
        let sdk = try bench.restarted()
        let error = await failure { () async throws(HumanIDError) in try await sdk.getToken() }
        #expect(error == .getTokenFailed(.rejected(code: code, requestID: "r-1")))
        #expect(bench.server.types.dropFirst(2).count { $0 == "challenge" } == 2)
        #expect(bench.server.types.dropFirst(2).count == 4)
    }

    @Test func `a key that is never good does not lead to a third challenge`() async throws {
        bench.keys.run { step, _ in step == .attest ? .invalidated : nil }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(error == .getTokenFailed(.keyUnavailable(.invalidated)))
        #expect(bench.server.types == ["challenge", "challenge"])
    }

    @Test func `a rejected attestation is final`() async throws {
        bench.server.run { _, number in number == 1 ? .refuse(403, "attestation_rejected") : .model }
        let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
        #expect(error == .getTokenFailed(.rejected(code: "attestation_rejected", requestID: "r-1")))
        #expect(error?.isRetryable == false)
        #expect(bench.server.types == ["challenge", "attestation"])
    }

    @Test(arguments: [
        HumanIDKeyError.unsupported("simulator"), .unavailable("locked"), .corrupt("x"), .attestationFailed("x"),
    ])
    func `a key holder that cannot ends in its own error, unchanged`(_ cause: HumanIDKeyError) async throws {
        for failing in [ScriptedKeyHolder.Step.deviceID, .load, .make, .attest] {
            let bench = try Bench()
            bench.keys.run { step, _ in step == failing ? cause : nil }
            let error = await failure { () async throws(HumanIDError) in try await bench.sdk.getToken() }
            #expect(error == .getTokenFailed(.keyUnavailable(cause)), "\(failing)")
            // Nothing is asked of the server before the device has a key.
            #expect(bench.server.calls.count == (failing == .attest ? 1 : 0), "\(failing)")
        }
    }

    @Test func `a blocked token is a token`() async throws {
        bench.server.change { $0.claims = [("verdict", "\"blocked\""), ("blocked", "true")] }
        let token = try await bench.sdk.getToken()
        #expect(token.isBlocked && token.verdict == "blocked" && token.expiresIn == 30)
        let signature = try await bench.sdk.signRequestBody([1])
        #expect(!signature.isEmpty)
    }

    @Test(arguments: [
        ("\"bot\"", "true", true), ("\"human\"", "true", true), ("\"blocked\"", "false", true),
        ("\"bot\"", "false", false), ("7", "\"true\"", false),
    ])
    func `blocked is read from either claim`(_ verdict: String, _ flag: String, _ expected: Bool) async throws {
        bench.server.change { $0.claims = [("verdict", verdict), ("blocked", flag)] }
        #expect(try await bench.sdk.getToken().isBlocked == expected)
    }
}
