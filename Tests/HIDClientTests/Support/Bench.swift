// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting
import HIDVerifier
import Synchronization
import Testing

/// An SDK with a software key, a model server and a clock that stands still.
struct Bench {
    let clock = ManualClock()
    let server: ModelServer
    let keys: ScriptedKeyHolder
    let sdk: HumanIDSDK

    init(
        device: String? = nil, _ change: (inout HumanIDConfig) -> Void = { _ in },
        jitter: @escaping @Sendable () -> Double = { 1 }
    ) throws {
        server = try ModelServer(clock: clock)
        keys = ScriptedKeyHolder(try SoftwareKeyHolder(authorityKey: server.authority.pem()))
        var config = try HumanIDConfig(serverURL: ModelServer.base, applicationID: "app-1", deviceID: device)
        change(&config)
        sdk = HumanIDSDK(config: config, keyHolder: keys, transport: server, clock: clock, jitter: jitter)
    }

    /// Another SDK with the same key, as after a restart of the application.
    func restarted() throws -> HumanIDSDK {
        let config = try HumanIDConfig(serverURL: ModelServer.base, applicationID: "app-1")
        return HumanIDSDK(config: config, keyHolder: keys, transport: server, clock: clock)
    }

    /// What a gateway says about a signed request: nil when it passes.
    func gateway(
        _ token: String, _ signature: String, body: [UInt8], target: String = "/login", accepting: SignatureProfiles
    ) throws -> Reason? {
        let policy = IssuerPolicy(
            issuer: server.issuer.issuer, audience: ["app-1"], keys: try KeySet(jwks: server.issuer.jwks))
        let verifier = try #require(
            RequestVerifier(tokens: TokenVerifier(issuers: [policy]), accepting: accepting))
        let request = SignedRequest(
            method: Array("POST".utf8), authority: Array("API.test:8443".utf8), target: Array(target.utf8))
        return verifier.check(
            request, token: Array(token.utf8), signature: Array(signature.utf8), body: body,
            now: clock.unixSeconds()
        ).reason
    }
}

/// The failure of a call; nil when it succeeds.
func failure<Value>(_ call: () async throws(HumanIDError) -> Value) async -> HumanIDError? {
    do throws(HumanIDError) {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}

/// A key holder in front of another one, whose steps a test can watch, delay and let fail.
final class ScriptedKeyHolder: HumanIDKeyHolder {
    enum Step: Sendable { case deviceID, load, make, delete, sign, attest }

    let inner: any HumanIDKeyHolder
    private let hook = Mutex<@Sendable (Step, Int) async -> HumanIDKeyError?>({ _, _ in nil })
    private let taken = Mutex<[Step]>([])

    init(_ inner: any HumanIDKeyHolder) {
        self.inner = inner
    }

    var platform: HumanIDPlatform { inner.platform }
    var steps: [Step] { taken.withLock { $0 } }
    func count(_ step: Step) -> Int { steps.count { $0 == step } }

    /// Is asked with each step, and how many of its kind came before, for an error in its place.
    func run(_ hook: @escaping @Sendable (Step, Int) async -> HumanIDKeyError?) {
        self.hook.withLock { $0 = hook }
    }

    private func note(_ step: Step) async throws(HumanIDKeyError) {
        let number = taken.withLock { taken in
            taken.append(step)
            return taken.count { $0 == step } - 1
        }
        let hook = hook.withLock { $0 }
        if let error = await hook(step, number) { throw error }
    }

    func deviceID() async throws(HumanIDKeyError) -> String {
        try await note(.deviceID)
        return try await inner.deviceID()
    }

    func loadKey() async throws(HumanIDKeyError) -> [UInt8]? {
        try await note(.load)
        return try await inner.loadKey()
    }

    func makeKey() async throws(HumanIDKeyError) -> [UInt8] {
        try await note(.make)
        return try await inner.makeKey()
    }

    func deleteKey() async throws(HumanIDKeyError) {
        try await note(.delete)
        try await inner.deleteKey()
    }

    func sign(_ message: [UInt8], with publicKey: [UInt8]) async throws(HumanIDKeyError) -> [UInt8] {
        try await note(.sign)
        return try await inner.sign(message, with: publicKey)
    }

    func attest(
        _ challenge: HumanIDChallenge, for publicKey: [UInt8]
    ) async throws(HumanIDKeyError) -> HumanIDEvidence {
        try await note(.attest)
        return try await inner.attest(challenge, for: publicKey)
    }
}
