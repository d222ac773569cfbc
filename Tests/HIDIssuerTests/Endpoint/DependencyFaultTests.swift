// SPDX-License-Identifier: Apache-2.0
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// What happens when store, workers, keys or lists fail: no decision is made, and none is made up.
@Suite(.timeLimit(.minutes(10))) struct DependencyFaultTests {
    private let world: IssuerWorld
    private let phone: Phone

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
    }

    private func expectUnavailable(_ answer: IssuerAnswer) {
        #expect((answer.status, answer.code) == (503, "unavailable"))
        #expect(answer.field("Retry-After") == "1")
        #expect(!answer.text.contains("fire"))
        #expect(world.logged("request.unavailable").contains { $0.contains("fire") })
    }

    @Test func `no challenge without a store`() throws {
        world.store.fail(.issue)
        expectUnavailable(try world.post(IssuerWorld.challengePath, Array(phone.challengeRequest.json.utf8)))
        world.store.fail()
        #expect(try world.attest(phone).code == "ok")
    }

    @Test func `when the challenge cannot be used up nothing is decided, and it is good later`() throws {
        #expect(try world.attest(phone).code == "ok")
        let (first, second) = (try world.challenge(phone), try world.challenge(phone))
        world.store.fail(.consume)
        expectUnavailable(try world.verify(phone.testAttestation(first, by: world.authority)))
        expectUnavailable(try world.verify(phone.keyProof(second)))
        world.store.fail()
        #expect(try world.verify(phone.testAttestation(first, by: world.authority)).code == "ok")
        #expect(try world.verify(phone.keyProof(second)).code == "ok")
    }

    @Test(arguments: [Phone.test, Phone.android, Phone.ios])
    func `no token for a key that could not be registered`(platform: String) throws {
        let phone = try Phone(platform)
        world.store.fail(.register)
        let answer = try world.attest(phone)
        expectUnavailable(answer)
        #expect(!answer.text.contains("token\""))
        #expect(try world.metric("hisd_tokens_total{verdict=\"human\"}") == 0)
        world.store.fail()
        #expect(try world.prove(phone).code == "key_unknown")
        #expect(try world.attest(phone).code == "ok")
    }

    @Test(arguments: FailingIssuerStore.Verb.allCases)
    func `whatever verb fails, a flow gives its token or 503`(verb: FailingIssuerStore.Verb) throws {
        let phone = try Phone(Phone.android)
        world.store.fail(verb)
        let answer = try world.post(IssuerWorld.challengePath, Array(phone.challengeRequest.json.utf8))
        guard answer.status == 200 else { return #expect(answer.code == "unavailable") }
        let challenge = GivenChallenge(
            id: try #require(answer.json["challenge_id"].text), nonce: try #require(answer.json["nonce"].text),
            keyStatus: "")
        let verified = try world.verify(phone.androidAttestation(challenge))
        let isNeeded = verb == .consume || verb == .register
        #expect(verified.code == (isNeeded ? "unavailable" : "ok"), "\(verb)")
    }

    @Test func `a store that is full says so with 503`() throws {
        let limits = IssuerStoreLimits(challenges: 3, devices: 1, denials: 1, events: 1)
        let world = try IssuerWorld(store: FailingIssuerStore(MemoryIssuerStore(limits: limits)))
        #expect(try world.attest(phone).code == "ok")
        #expect(try world.attest(Phone(deviceID: "phone-2")).code == "unavailable")
        #expect(try world.prove(phone).code == "ok")
        for _ in 0..<3 { _ = try world.challenge(phone) }
        let fourth = try world.post(IssuerWorld.challengePath, Array(phone.challengeRequest.json.utf8))
        #expect(fourth.code == "unavailable")
    }

    // MARK: - Workers

    @Test func `when all workers are busy the challenge is kept for later`() throws {
        let world = try IssuerWorld(workers: 1, workerLimit: 3)
        #expect(try world.attest(phone).code == "ok")
        let challenge = try world.challenge(phone)
        let gate = Gate()
        // A job ends after its answer.
        #expect(Eventually.holds { world.context.workers.depth == 0 })
        for _ in 0..<3 { #expect(world.context.workers.submit { _ in gate.wait() }) }
        let answer = try world.verify(phone.keyProof(challenge))
        #expect((answer.status, answer.code) == (503, "unavailable"))
        #expect(answer.field("Retry-After") == "1")
        #expect(world.store.calls(.consume) == 1)
        gate.open()
        #expect(Eventually.holds { world.context.workers.depth == 0 })
        #expect(try world.verify(phone.keyProof(challenge)).code == "ok")
    }

    // MARK: - Signing keys and clocks

    @Test func `a clock that is set back or forward neither stops the issuer nor revives a challenge`() throws {
        #expect(try world.attest(phone).code == "ok")
        let challenge = try world.challenge(phone)
        for moment in [ManualClock.start - 3600, ManualClock.start + 400_000_000, 0] as [Int64] {
            world.clock.step(to: moment)
            let token = try world.token(world.prove(phone))
            #expect(token.issuedAt == moment)
        }
        world.clock.step(to: ManualClock.start + 60)
        #expect(try world.verify(phone.keyProof(challenge)).code == "challenge_unknown")
    }

    // MARK: - Revocation lists

    @Test(arguments: [RevocationListConfiguration.Staleness.closed, .open])
    func `without a fresh list Android devices wait or pass, and all others pass`(
        staleness: RevocationListConfiguration.Staleness
    ) throws {
        var list = RevocationListConfiguration()
        list.file = "/nonexistent/list.json"
        list.whenStale = staleness
        let world = try IssuerWorld(revocations: list)
        let android = try world.attest(Phone(Phone.android))
        #expect(android.code == (staleness == .open ? "ok" : "unavailable"))
        #expect(try world.attest(Phone(Phone.ios, deviceID: "phone-2")).code == "ok")
        #expect(try world.attest(Phone(deviceID: "phone-3")).code == "ok")
    }
}
