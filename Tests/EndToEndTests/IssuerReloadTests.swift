// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// SIGHUP and SIGKILL of hisd.
@Suite(.timeLimit(.minutes(10))) struct IssuerReloadTests {
    private static let second = "\n  - { app_id: app-2, test: { authority_keys: [authority.pem] } }"

    private func challenge(_ appID: String) -> String {
        ScriptedPhone.post(
            "/v1/m/hid/c", "{\"app_id\":\"\(appID)\",\"device_id\":\"d\",\"platform\":\"test\"}")
    }

    @Test func `SIGHUP brings a new app, keeps the old ones after a bad file and open connections`() throws {
        let his = try IssuerBench()
        let client = try his.client()
        #expect(try IssuerReply(client.exchange(challenge("app-2"))).code == "app_unknown")
        try his.reload { $0.apps += Self.second }
        #expect(his.daemon.event("reload.done")?["apps"].number == 2)
        #expect(try IssuerReply(client.exchange(challenge("app-2"))).status == 200)

        try his.reload { $0.apps = "  - { app_id: app-3, tset: {} }" }
        let failed = try #require(his.daemon.event("reload.failed"))
        #expect(failed["level"].text == "error")
        #expect(failed["errors"].number ?? 0 >= 1)
        #expect(failed["first"].text?.contains("his.yaml:7:") == true, "\(failed)")
        #expect(try IssuerReply(client.exchange(challenge("app-2"))).status == 200)
        #expect(try IssuerReply(client.exchange(challenge("app-3"))).code == "app_unknown")
        #expect(try his.admin("/readyz")?.status == 200)
        // An app that goes takes its devices along, and they are there again with it.
        let phone = try ScriptedPhone("phone-1", AuthorityEvidence(authority: his.authority))
        let hid = try phone.register(client).hid
        #expect(hid != nil)
        try his.reload { $0.apps = String(Self.second.dropFirst()) }
        #expect(try IssuerBench.eventually { try phone.challenge(client).code == "app_unknown" })
        try his.reload { $0.apps = IssuerBench.testApp }
        #expect(try IssuerBench.eventually { try phone.challenge(client).status == 200 })
        #expect(try phone.comeBack(client).hid == hid)
    }

    @Test(arguments: ["listeners", "issuer", "signing_keys", "store", "token", "timeouts", "loops"])
    func `what needs a restart is named and nothing else of the file is taken`(_ section: String) throws {
        let his = try IssuerBench()
        try his.reload { setup in
            setup.apps += Self.second
            switch section {
            case "listeners": setup.listener = "{ address: \"127.0.0.1:1\" }"
            case "signing_keys": setup.keys = "other"
            case "store": setup.store = "{ kind: memory }"
            case "token": setup.sections = "token: { life: 20s }"
            case "timeouts": setup.sections = "timeouts: { header: 1s }"
            case "loops": setup.loops = 2
            default: break
            }
        }
        if section == "issuer" {
            let text = IssuerBench.configuration(his.setup).replacing("https://his.test", with: "https://other.test")
            try his.folder.write("his.yaml", text)
            his.daemon.child.signal(SIGHUP)
        }
        #expect(his.daemon.event("reload.needs_restart")?["section"].text == section)
        if section != "issuer" {
            #expect(try IssuerReply(his.client().exchange(challenge("app-2"))).code == "app_unknown")
        }
        #expect(try IssuerReply(his.client().exchange(challenge("app-1"))).status == 200)
    }

    /// A device whose registration was acknowledged.
    private struct Acknowledged: Sendable {
        var phone: ScriptedPhone
        var hid: String
    }

    @Test func `a registration that was acknowledged is there after SIGKILL`() throws {
        let his = try IssuerBench(.init(loops: 2))
        let evidence = AuthorityEvidence(authority: his.authority)
        let address = his.address
        let board = Monitor((acknowledged: [Acknowledged](), ended: 0))
        let writers = 4
        for writer in 0..<writers {
            Thread.detachNewThread {
                defer { board.withLock { $0.ended += 1 } }
                guard let client = try? RawClient(address) else { return }
                for index in 0..<100_000 {
                    guard let phone = try? ScriptedPhone("d-\(writer)-\(index)", evidence),
                        let answer = try? phone.register(client), answer.status == 200, let hid = answer.hid
                    else { return }
                    board.withLock { $0.acknowledged.append(Acknowledged(phone: phone, hid: hid)) }
                }
            }
        }
        #expect(board.wait { $0.acknowledged.count >= 80 ? true : nil } == true)
        his.daemon.child.signal(SIGKILL)
        #expect(his.daemon.child.exitCode() == -9)
        #expect(board.wait { $0.ended == writers ? true : nil } == true)
        try his.restart()
        let client = try his.client()
        let acknowledged = board.withLock { $0.acknowledged }
        #expect(acknowledged.count >= 80)
        for device in acknowledged {
            let challenge = try device.phone.challenge(client)
            #expect(challenge.keyStatus == "existing", "\(device.phone.deviceID) of \(acknowledged.count)")
            let answer = try IssuerReply(client.exchange(device.phone.keyProof(challenge)))
            #expect(answer.status == 200)
            #expect(answer.hid == device.hid)
        }
        #expect(his.stop() == 0)
    }

    @Test func `a challenge that was used before SIGKILL stays used`() throws {
        let his = try IssuerBench()
        let phone = try ScriptedPhone("d", AuthorityEvidence(authority: his.authority))
        let client = try his.client()
        let challenge = try phone.challenge(client)
        let unused = try phone.challenge(client)
        let request = try phone.attestation(challenge)
        #expect(try IssuerReply(client.exchange(request)).status == 200)
        his.daemon.child.signal(SIGKILL)
        #expect(his.daemon.child.exitCode() == -9)
        try his.restart()
        #expect(try IssuerReply(his.client().exchange(request)).code == "challenge_unknown")
        #expect(try IssuerReply(his.client().exchange(phone.keyProof(unused))).status == 200)
    }
}
