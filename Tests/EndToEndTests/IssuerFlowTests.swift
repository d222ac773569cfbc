// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting
import Testing

/// Phones, hisd and the gateway together.
@Suite(.timeLimit(.minutes(10))) struct IssuerFlowTests {
    private func code(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as HumanIDError {
            guard case .rejected(let code, _)? = error.failure else { return "\(error)" }
            return code
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: ["v1", "v2"])
    func `a new device gets a token and its signed login passes the gateway`(_ profile: String) throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let phone = try SDKPhone(his)
        let (request, token) = try phone.login(profile: profile)
        #expect(token.verdict == "human")
        #expect(!token.isBlocked)
        let answer = try gateway.once(request)
        #expect(answer?.status == 200)
        let seen = try #require(gateway.upstream.requests.first)
        #expect(seen["X-HID-Verdict"] == "human")
        #expect(seen["X-HID-Device"] == token.hid)
        #expect(seen["X-HID-Level"] == "tee")
        #expect(TokenText.member("env", of: token.value).text == "test")
        #expect(TokenText.member("aud", of: token.value).text == "app-1")
        #expect(try his.metric("hisd_tokens_total{verdict=\"human\"}") == 1)
        let line = try #require(his.daemon.event("attestation"))
        #expect(line["outcome"].text == "human")
        #expect(line["hid"].text == token.hid.map { String($0.prefix(8)) })
        let log = his.daemon.child.lines.joined()
        #expect(!log.contains(token.value))
        #expect(!log.contains(try #require(token.hid)))
    }

    @Test func `a device comes back after a restart with a key proof and keeps its hid`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let file = his.folder.path + "/device.json"
        let first = try SDKPhone(his, file: file).login()
        #expect(try gateway.once(first.request)?.status == 200)
        #expect(his.stop() == 0)
        try his.restart()
        let second = try SDKPhone(his, file: file).login()
        #expect(second.token.hid == first.token.hid)
        #expect(second.token.value != first.token.value)
        // The gateway has the keys of the first run, and the second one signs with the same.
        #expect(try gateway.once(second.request)?.status == 200)
        #expect(try his.metric("hisd_key_proofs_total{result=\"accepted\"}") == 1)
        #expect(try his.metric("hisd_attestations_total{platform=\"test\",outcome=\"human\"}") == 0)
    }

    @Test func `an emulator gets no token, and a stranger's word counts nothing`() throws {
        let his = try IssuerBench()
        let emulator = try SDKPhone(his, claims: ["level": .text("software")])
        #expect(code { _ = try emulator.token() } == "attestation_rejected")
        let stranger = try ScriptedPhone("stranger", AuthorityEvidence(authority: .init()))
        let refused = try stranger.register(his.client())
        #expect(refused.status == 403)
        #expect(refused.code == "attestation_rejected")
        #expect(refused.json["token"] == .missing)
        #expect(try stranger.challenge(his.client()).keyStatus == "new")
        for reason in ["software_attestation", "test_signature"] {
            let line = his.daemon.child.firstLine { line -> JSONValue? in
                let json = JSONValue(line)
                return json?["event"].text == "attestation" && json?["reason"].text == reason ? json : nil
            }
            #expect(line?["outcome"].text == "rejected", "\(reason)")
        }
    }

    @Test func `a phone with an unlocked boot loader gets a token that the gateway refuses`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let phone = try SDKPhone(his, claims: ["level": .text("tee"), "locked": .flag(false)])
        let (request, token) = try phone.login()
        #expect(token.isBlocked)
        #expect(token.verdict == "blocked")
        let answer = try gateway.once(request)
        #expect(answer?.status == 403)
        let line = try #require(gateway.line(of: answer))
        #expect(line["decision"].text == "block")
        #expect(["hid.blocked", "hid.verdict_block"].contains(line["reason"].text))
        #expect(gateway.upstream.requests.isEmpty)
        // A key proof does not make it better.
        #expect(try phone.login().token.isBlocked)
    }

    @Test func `an operator's denial blocks the next token, and lifting it frees the device`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let phone = try SDKPhone(his)
        let first = try phone.login()
        let hid = try #require(first.token.hid)
        let body = "{\"hid\":\"\(hid)\",\"for\":\"1h\",\"reason\":\"fraud\"}"
        #expect(try his.admin("/api/denylist", method: "POST", body: body)?.status == 200)
        let second = try phone.login()
        #expect(second.token.isBlocked)
        #expect(try gateway.once(second.request)?.status == 403)
        // What was given before is the gateway's to judge: it is good until it expires.
        #expect(try gateway.once(first.request)?.status == 200)
        #expect(his.stop() == 0)
        try his.restart()
        #expect(try his.admin("/api/denylist")?.text.contains(hid) == true)
        let reason = "{\"reason\":\"mistake\"}"
        #expect(try his.admin("/api/denylist/\(hid)", method: "DELETE", body: reason)?.status == 200)
        #expect(try his.admin("/api/denylist/\(hid)", method: "DELETE", body: reason)?.status == 404)
    }

    @Test func `a login that is sent again is refused as a replay`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let (request, _) = try SDKPhone(his).login()
        #expect(try gateway.once(request)?.status == 200)
        let again = try gateway.once(request)
        #expect(again?.status == 403)
        #expect(gateway.line(of: again)?["reason"].text == "hid.replay")
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test func `a new key takes a device_id over, and the old key proves nothing any more`() throws {
        let his = try IssuerBench()
        let evidence = AuthorityEvidence(authority: his.authority)
        let client = try his.client()
        let old = try ScriptedPhone("phone-1", evidence)
        let registered = try old.register(client)
        #expect(registered.status == 200)
        #expect(try old.comeBack(client).hid == registered.hid)
        let new = try ScriptedPhone("phone-1", evidence)
        let taken = try new.register(client)
        #expect(taken.status == 200)
        #expect(taken.hid != registered.hid)
        let refused = try old.comeBack(client)
        #expect(refused.status == 403)
        #expect(refused.code == "key_proof_rejected")
        #expect(refused.json["token"] == .missing)
        #expect(try new.comeBack(client).hid == taken.hid)
        let shown = JSONValue(try his.admin("/api/devices/\(registered.hid ?? "")")?.text ?? "")
        #expect(shown?["retired"].text != nil)
        // The old key attested again keeps its hid.
        #expect(try old.register(client).hid == registered.hid)
        #expect(try new.comeBack(client).code == "key_proof_rejected")
    }

    @Test func `a challenge is for one use, one device and one platform`() throws {
        let his = try IssuerBench()
        let evidence = AuthorityEvidence(authority: his.authority)
        let client = try his.client()
        let phone = try ScriptedPhone("phone-1", evidence)
        let challenge = try phone.challenge(client)
        #expect(challenge.keyStatus == "new")
        #expect(challenge.json["expires_in"].number == 60)
        #expect(abs((challenge.json["server_time"].number ?? 0) - Double(Bench.now)) < 30)
        #expect(challenge.message["Cache-Control"] == "no-store")
        let other = try ScriptedPhone("phone-2", evidence)
        #expect(try IssuerReply(client.exchange(other.attestation(challenge))).code == "challenge_unknown")
        #expect(try IssuerReply(client.exchange(phone.attestation(challenge))).code == "challenge_unknown")
        let fresh = try phone.challenge(client)
        let request = try phone.attestation(fresh)
        #expect(try IssuerReply(client.exchange(request)).status == 200)
        #expect(try IssuerReply(client.exchange(request)).status == 409)
    }

    @Test func `rate limits answer 429 with Retry-After, and the SDK keeps quiet for that time`() throws {
        let his = try IssuerBench(.init(limits: "{ per_client: 2/m, per_device: 100/s }"))
        let phone = try ScriptedPhone("phone-1", AuthorityEvidence(authority: his.authority))
        #expect(try phone.register(his.client()).status == 200)
        let refused = try phone.challenge(his.client())
        #expect(refused.status == 429)
        #expect(refused.code == "rate_limited")
        let seconds = try #require(refused.message["Retry-After"].flatMap { Int($0) })
        #expect((1...31).contains(seconds))
        #expect(try his.metric("hisd_rate_limited_total{scope=\"client\"}") == 1)
        let quiet = try SDKPhone(his)
        for _ in 0..<3 { #expect(throws: HumanIDError.self) { try quiet.token() } }
        #expect(try his.metric("hisd_rate_limited_total{scope=\"client\"}") == 2, "it asked once")
        #expect(try his.publishedKeys().count == 2, "the key set has no limit")
    }
}
