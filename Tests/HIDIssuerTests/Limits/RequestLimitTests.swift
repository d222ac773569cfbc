// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDService
import HIDTesting
import Testing

@testable import HIDIssuer

/// The limits as clients meet them.
@Suite(.timeLimit(.minutes(10))) struct RequestLimitTests {
    private let phone: Phone

    init() throws {
        phone = try Phone()
    }

    private func ask(
        _ world: IssuerWorld, from peer: String, fields: String = "", _ phone: Phone? = nil
    ) throws -> IssuerAnswer {
        let body = Array((phone ?? self.phone).challengeRequest.json.utf8)
        return try world.post(IssuerWorld.challengePath, body, fields: fields, from: peer)
    }

    @Test func `a client has so many requests, of both endpoints together, and then 429 with Retry-After`() throws {
        let world = try IssuerWorld { $0.rateLimits.perClient = Rate(count: 3, per: .seconds(60)) }
        let challenge = try world.challenge(phone)
        #expect(try world.verify(phone.testAttestation(challenge, by: world.authority)).status == 200)
        #expect(try world.post(IssuerWorld.verifyPath, Array("{".utf8)).status == 400)
        let answer = try ask(world, from: "192.0.2.1")
        #expect((answer.status, answer.code) == (429, "rate_limited"))
        #expect(answer.field("Retry-After") == "21")
        #expect(answer.json["error"]["request_id"].text == answer.field("X-Request-Id"))
        #expect(try ask(world, from: "192.0.2.2").status == 200)
        #expect(try world.get("/.well-known/jwks.json").status == 200)
        world.clock.advance(20)
        #expect(try ask(world, from: "192.0.2.1").status == 200)
        #expect(try ask(world, from: "192.0.2.1").status == 429)
        #expect(try world.metric("hisd_rate_limited_total{scope=\"client\"}") == 2)
        #expect(try world.metric("hisd_errors_total{code=\"rate_limited\"}") == 2)
    }

    @Test func `an IPv6 client is its network of 64 bits`() throws {
        let world = try IssuerWorld { $0.rateLimits.perClient = Rate(count: 2, per: .seconds(60)) }
        #expect(try ask(world, from: "2001:db8::1").status == 200)
        #expect(try ask(world, from: "2001:db8::ffff:ffff:ffff:ffff").status == 200)
        #expect(try ask(world, from: "2001:db8::dead").status == 429)
        #expect(try ask(world, from: "2001:db8:0:1::1").status == 200)
        for number in 1...3 { #expect(try ask(world, from: "192.0.2.\(number)").status == 200) }
        #expect(try ask(world, from: "::ffff:192.0.2.1").status == 200)
        #expect(try ask(world, from: "192.0.2.1").status == 429)
    }

    @Test func `what comes over a unix socket is no single client`() throws {
        let world = try IssuerWorld { $0.rateLimits.perClient = Rate(count: 1, per: .seconds(60)) }
        for _ in 1...3 { #expect(try ask(world, from: "unix").status == 200) }
        #expect(try ask(world, from: "192.0.2.1").status == 200)
        #expect(try ask(world, from: "192.0.2.1").status == 429)
    }

    @Test func `behind a trusted proxy the client is the one it names, and a client cannot name another`() throws {
        let world = try IssuerWorld { configuration in
            configuration.rateLimits.perClient = Rate(count: 1, per: .seconds(60))
            configuration.listeners[0].trustedProxies = [ServiceSurfaceTests.proxies]
        }
        func answer(_ forwarded: String, from peer: String = "10.0.0.1") throws -> Int {
            try ask(world, from: peer, fields: "X-Forwarded-For: \(forwarded)\r\n").status
        }
        #expect(try answer("198.51.100.1") == 200)
        #expect(try answer("198.51.100.1") == 429)
        #expect(try answer("198.51.100.2") == 200)
        #expect(try answer("6.6.6.6, 198.51.100.2") == 429, "the client's own entry is not believed")
        #expect(try answer("198.51.100.3, 10.0.0.2", from: "10.0.0.9") == 200)
        #expect(try answer("198.51.100.3") == 429)
        #expect(try answer("198.51.100.9", from: "192.0.2.1") == 200)
        #expect(try answer("198.51.100.10", from: "192.0.2.1") == 429, "nobody's proxy")
    }

    @Test func `a device has so many challenges`() throws {
        let world = try IssuerWorld { $0.rateLimits.perDevice = Rate(count: 2, per: .seconds(1)) }
        for _ in 0..<2 { _ = try world.challenge(phone) }
        let answer = try ask(world, from: "192.0.2.9")
        #expect((answer.status, answer.field("Retry-After")) == (429, "1"))
        #expect(world.store.calls(.issue) == 2)
        var other = phone
        other.deviceID = "phone-2"
        #expect(try ask(world, from: "192.0.2.9", other).status == 200)
        other = phone
        other.appID = "other-app"
        #expect(try ask(world, from: "192.0.2.9", other).status == 200)
        #expect(try world.metric("hisd_rate_limited_total{scope=\"device\"}") == 1)
    }

    @Test func `a device has so many verifications, and one too many costs it no challenge and us no curve`() throws {
        let world = try IssuerWorld { $0.rateLimits.perDevice = Rate(count: 2, per: .seconds(1)) }
        let (first, second) = (try world.challenge(phone), try world.challenge(phone))
        world.clock.advance(1)
        let third = try world.challenge(phone)
        #expect(try world.verify(phone.testAttestation(first, by: world.authority)).status == 200)
        #expect(try world.verify(phone.keyProof(second)).status == 200)
        let consumed = world.store.calls(.consume)
        let answer = try world.verify(phone.keyProof(third))
        #expect((answer.status, answer.code) == (429, "rate_limited"))
        #expect(world.store.calls(.consume) == consumed)
        world.clock.advance(1)
        #expect(try world.verify(phone.keyProof(third)).status == 200)
    }

    @Test func `attestations have a limit of their own that key proofs do not touch`() throws {
        let world = try IssuerWorld { $0.rateLimits.attestations = Rate(count: 2, per: .seconds(60)) }
        for _ in 0..<2 { #expect(try world.attest(phone).status == 200) }
        let challenge = try world.challenge(phone)
        let answer = try world.verify(phone.testAttestation(challenge, by: world.authority))
        #expect((answer.status, answer.field("Retry-After")) == (429, "31"))
        #expect(try world.verify(phone.keyProof(challenge)).status == 200)
        #expect(try world.metric("hisd_rate_limited_total{scope=\"attestation\"}") == 1)
        #expect(try world.metric("hisd_attestations_total{platform=\"test\",outcome=\"human\"}") == 2)
        world.clock.advance(30)
        #expect(try world.attest(phone).status == 200)
    }
}
