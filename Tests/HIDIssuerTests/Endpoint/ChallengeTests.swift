// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HIDDaemon
import HIDStore
import HIDTesting
import Testing

@testable import HIDIssuer

/// `POST /v1/m/hid/c`, and how long and for whom a challenge is good.
@Suite(.timeLimit(.minutes(10))) struct ChallengeTests {
    private let world: IssuerWorld
    private let phone: Phone

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
    }

    @Test func `an answer has the five members of the protocol and is not to be stored`() throws {
        let answer = try world.post(IssuerWorld.challengePath, Array(phone.challengeRequest.json.utf8))
        #expect(answer.status == 200)
        #expect(answer.json.names == ["challenge_id", "nonce", "key_status", "expires_in", "server_time"])
        #expect(answer.json["nonce"].text?.utf8.count == 43)
        #expect(answer.json["key_status"].text == "new")
        #expect(answer.json["expires_in"].number == 60)
        #expect(answer.json["server_time"].number == Double(ManualClock.start))
        #expect(answer.answer.contentType == "application/json")
        #expect(answer.field("Cache-Control") == "no-store")
        #expect(answer.field("X-Request-Id")?.utf8.count == 32)
        #expect(try world.metric("hisd_challenges_total") == 1)
    }

    @Test func `no two challenges are alike`() throws {
        let given = try (0..<200).map { _ in try world.challenge(phone) }
        #expect(Set(given.map(\.id)).count == 200)
        #expect(Set(given.map(\.nonce)).count == 200)
        #expect(given.allSatisfy { $0.nonceOctets.count == 32 })
    }

    @Test func `a device with a key in force is told so, another device or app is not`() throws {
        #expect(try world.attest(phone).status == 200)
        #expect(try world.challenge(phone).keyStatus == "existing")
        var other = phone
        other.deviceID = "phone-2"
        #expect(try world.challenge(other).keyStatus == "new")
        other = phone
        other.appID = "other-app"
        #expect(try world.challenge(other).keyStatus == "new")
    }

    @Test func `an unknown app is 404, a platform that is not enabled 403, and nothing is kept of either`() throws {
        var stranger = phone
        stranger.appID = "no-such-app"
        let unknown = try world.post(IssuerWorld.challengePath, Array(stranger.challengeRequest.json.utf8))
        #expect((unknown.status, unknown.code) == (404, "app_unknown"))
        for (app, platform) in [("other-app", "ios"), ("other-app", "android"), ("phones-only", "test")] {
            stranger.appID = app
            stranger.platform = platform
            let refused = try world.post(IssuerWorld.challengePath, Array(stranger.challengeRequest.json.utf8))
            #expect((refused.status, refused.code) == (403, "platform_not_enabled"), "\(app) \(platform)")
        }
        #expect(world.store.calls(.issue) == 0)
    }

    // MARK: - Use

    @Test(arguments: [(0 as Int64, "ok"), (59, "ok"), (60, "challenge_unknown"), (61, "challenge_unknown")])
    func `a challenge is good for sixty seconds`(age: Int64, code: String) throws {
        let challenge = try world.challenge(phone)
        world.clock.advance(age)
        let answer = try world.verify(phone.testAttestation(challenge, by: world.authority))
        #expect(answer.code == code)
        #expect(answer.status == (code == "ok" ? 200 : 409))
    }

    @Test(arguments: [(59 as Int64, "ok"), (60, "challenge_unknown"), (61, "challenge_unknown")])
    func `a key proof has no more time than an attestation`(age: Int64, code: String) throws {
        #expect(try world.attest(phone).status == 200)
        let challenge = try world.challenge(phone)
        world.clock.advance(age)
        #expect(try world.verify(phone.keyProof(challenge)).code == code)
    }

    @Test func `a challenge that has expired is used up like any other`() throws {
        let challenge = try world.challenge(phone)
        world.clock.advance(60)
        #expect(try world.verify(phone.testAttestation(challenge, by: world.authority)).code == "challenge_unknown")
        world.clock.step(to: ManualClock.start)
        #expect(try world.verify(phone.testAttestation(challenge, by: world.authority)).code == "challenge_unknown")
    }

    @Test func `a challenge is used once, also when the first use was refused`() throws {
        let challenge = try world.challenge(phone)
        let good = try phone.testAttestation(challenge, by: world.authority)
        #expect(try world.verify(good).code == "ok")
        #expect(try world.verify(good).code == "challenge_unknown")
        let second = try world.challenge(phone)
        let forged = try phone.testAttestation(second, by: Phone().key)
        #expect(try world.verify(forged).code == "attestation_rejected")
        #expect(try world.verify(phone.testAttestation(second, by: world.authority)).code == "challenge_unknown")
    }

    @Test func `of many who come at once with one challenge one gets a token`() throws {
        for _ in 0..<10 {
            let challenge = try world.challenge(phone)
            let body = try phone.testAttestation(challenge, by: world.authority)
            let codes = Monitor<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let code = try? world.verify(body).code
                codes.withLock { $0.append(code ?? "thrown") }
            }
            let all = codes.withLock { $0.sorted() }
            #expect(all == Array(repeating: "challenge_unknown", count: 7) + ["ok"])
        }
    }

    @Test func `an unknown challenge is refused`() throws {
        let challenge = GivenChallenge(
            id: "AAAAAAAAAAAAAAAAAAAAAA", nonce: String(repeating: "A", count: 43), keyStatus: "")
        let answer = try world.verify(phone.testAttestation(challenge, by: world.authority))
        #expect((answer.status, answer.code) == (409, "challenge_unknown"))
    }

    @Test(arguments: ["device_id", "app_id", "platform"])
    func `a challenge is bound to device, app and platform, and a wrong use costs it`(member: String) throws {
        let challenge = try world.challenge(phone)
        var other = phone
        switch member {
        case "device_id": other.deviceID = "phone-2"
        case "app_id": other.appID = "other-app"
        default: other.platform = Phone.ios
        }
        let wrong =
            member == "platform"
            ? try other.appleAttestation(challenge, by: world.apple, key: TestSigningKey())
            : try other.testAttestation(challenge, by: world.authority)
        #expect(try world.verify(wrong).code == "challenge_unknown")
        #expect(try world.verify(phone.testAttestation(challenge, by: world.authority)).code == "challenge_unknown")
    }

    @Test(arguments: ["app_id", "device_id", "platform", "type", "public_key", "claims", "signature"])
    func `a bad request that names its challenge has used it`(member: String) throws {
        let challenge = try world.challenge(phone)
        let good = try phone.testAttestation(challenge, by: world.authority)
        #expect(try world.verify(good.with(member, nil)).code == "bad_request")
        #expect(try world.verify(good).code == "challenge_unknown")
    }

    @Test func `a request for an unknown app has used its challenge, too`() throws {
        let challenge = try world.challenge(phone)
        let good = try phone.testAttestation(challenge, by: world.authority)
        #expect(try world.verify(good.with("app_id", "\"no-such-app\"")).code == "app_unknown")
        #expect(try world.verify(good).code == "challenge_unknown")
        let second = try world.challenge(phone)
        let phones = try phone.testAttestation(second, by: world.authority).with("app_id", "\"phones-only\"")
        #expect(try world.verify(phones).code == "platform_not_enabled")
        #expect(try world.verify(phone.testAttestation(second, by: world.authority)).code == "challenge_unknown")
    }

    @Test func `what is no JSON has used nothing`() throws {
        let challenge = try world.challenge(phone)
        let good = try phone.testAttestation(challenge, by: world.authority)
        #expect(try world.post(IssuerWorld.verifyPath, Array(good.json.utf8.dropLast())).code == "bad_request")
        #expect(try world.verify(good.with("challenge_id", "7")).code == "bad_request")
        #expect(try world.verify(good.appending("type", "\"attestation\"")).code == "bad_request")
        #expect(try world.verify(good).code == "ok")
    }
}
