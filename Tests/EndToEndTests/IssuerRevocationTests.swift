// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

/// Android phones, and the list of revoked attestation keys.
@Suite(.timeLimit(.minutes(10))) struct IssuerRevocationTests {
    /// The list's web server, whose answer a test can change.
    private final class ListServer: Sendable {
        let answer: Monitor<String>
        let server: ScriptedUpstream

        init(_ text: String = ListServer.list("1234")) throws {
            let answer = Monitor(text)
            self.answer = answer
            server = try ScriptedUpstream(ScriptedUpstream.answering { _ in answer.withLock { $0 } })
        }

        static func list(_ serials: String..., status: String = "REVOKED") -> String {
            let entries = serials.map { "\"\($0)\":{\"status\":\"\(status)\",\"reason\":\"KEY_COMPROMISE\"}" }
            return ScriptedUpstream.ok(
                "{\"entries\":{\(entries.joined(separator: ","))}}", fields: "Cache-Control: max-age=3600\r\n")
        }

        func set(_ text: String) { answer.withLock { $0 = text } }
    }

    private func bench(
        _ maker: AndroidMaker, _ list: String, folder: TestFolder? = nil, apps: String = AndroidMaker.app
    ) throws -> IssuerBench {
        let folder = try folder ?? TestFolder()
        try folder.write("root.pem", maker.rootPEM)
        let attestation = "{ android_roots: [root.pem], revocation_list: { \(list) } }"
        return try IssuerBench(.init(apps: apps, attestation: attestation), folder: folder)
    }

    private func phone(_ maker: AndroidMaker, _ name: String = "pixel") throws -> ScriptedPhone {
        try ScriptedPhone(name, AndroidEvidence(maker: maker))
    }

    private func loaded(_ his: IssuerBench) throws -> Bool {
        try IssuerBench.eventually { try his.metric("hisd_revocation_entries") ?? 0 > 0 }
    }

    @Test func `a batch that is revoked takes its phones' good standing, also after a restart`() throws {
        let maker = try AndroidMaker()
        let server = try ListServer()
        let his = try bench(maker, "url: \"\(server.server.url)/status\", file: status.json")
        #expect(try loaded(his))
        let phone = try phone(maker)
        let client = try his.client()
        let first = try phone.register(client)
        #expect(first.status == 200)
        #expect(first.token("verdict").text == "human")
        #expect(first.token("lvl").text == "tee")
        #expect(first.token("plt").text == "android")
        #expect(first.token("env").text == "production")
        #expect(try phone.comeBack(client).token("verdict").text == "human")
        #expect(try his.metric("hisd_revocation_alarm") == 0)

        server.set(ListServer.list("1234", AndroidMaker.batchSerial))
        his.daemon.child.signal(SIGHUP)
        #expect(his.daemon.event("device.revoked")?["hid"].text == first.hid.map { String($0.prefix(8)) })
        let second = try phone.comeBack(client)
        #expect(second.status == 200)
        #expect(second.hid == first.hid)
        #expect(second.token("verdict").text == "blocked")
        #expect(second.token("blocked") == .bool(true))
        let newcomer = try self.phone(maker, "newcomer").register(client)
        #expect(newcomer.token("verdict").text == "blocked")
        // To attest again does not help, and another app's name would not either.
        #expect(try phone.register(client).token("verdict").text == "blocked")

        #expect(his.stop() == 0)
        server.server.stop()
        try his.restart()
        #expect(try phone.comeBack(his.client()).token("verdict").text == "blocked")
        #expect(try self.phone(maker, "third").register(his.client()).token("verdict").text == "blocked")
        #expect(FileManager.default.fileExists(atPath: his.folder.path + "/status.json"))
    }

    @Test func `a revoked phone is refused by the gateway`() throws {
        let maker = try AndroidMaker()
        let server = try ListServer(ListServer.list(AndroidMaker.batchSerial, status: "SUSPENDED"))
        let his = try bench(maker, "url: \"\(server.server.url)/status\"")
        #expect(try loaded(his))
        let gateway = try his.gateway()
        let phone = try phone(maker)
        let answer = try phone.register(his.client())
        #expect(his.daemon.event("attestation")?["reason"].text == "suspended")
        let token = try #require(answer.json["token"].text)
        let signature = TestDevice.base64(try phone.key.signDER(digest: SHA256.digest([1])))
        let request = Bench.post(token: token, signature: signature, body: [1])
        let refused = try gateway.once(request)
        #expect(refused?.status == 403)
        #expect(["hid.blocked", "hid.verdict_block"].contains(gateway.line(of: refused)?["reason"].text))
    }

    @Test(arguments: ["gone", "status", "redirect", "garbage", "cut", "empty", "shape", "serial"])
    func `a bad answer keeps the old list and raises the alarm`(_ kind: String) throws {
        let maker = try AndroidMaker()
        let server = try ListServer(ListServer.list(AndroidMaker.batchSerial))
        let his = try bench(maker, "url: \"\(server.server.url)/status\", file: status.json")
        #expect(try loaded(his))
        #expect(try phone(maker).register(his.client()).token("verdict").text == "blocked")
        let whole = "{\"entries\":{\"1\":{\"status\":\"REVOKED\"}}}"
        let answer =
            switch kind {
            case "status": "HTTP/1.1 500 Oops\r\nContent-Length: \(whole.utf8.count)\r\n\r\n\(whole)"
            case "redirect": "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
            case "garbage": ScriptedUpstream.ok("<html>")
            case "cut": ScriptedUpstream.ok(String(whole.dropLast()))
            case "empty": ScriptedUpstream.ok("{\"entries\":{}}")
            case "shape": ScriptedUpstream.ok("{\"entries\":[]}")
            case "serial": ScriptedUpstream.ok("{\"entries\":{\"xyz\":{\"status\":\"REVOKED\"}}}")
            default: ""
            }
        server.set(answer)
        if kind == "gone" { server.server.stop() }
        his.daemon.child.signal(SIGHUP)
        let failed = try #require(his.daemon.event("revocations.not_loaded"))
        #expect(failed["level"].text == "error")
        #expect(failed["keeps_old_list"] == .bool(true))
        #expect(try his.metric("hisd_revocation_alarm") == 1)
        #expect(try his.metric("hisd_revocation_failures_total") ?? 0 >= 1)
        #expect(try his.metric("hisd_revocation_entries") == 1)
        #expect(try phone(maker, "other").register(his.client()).token("verdict").text == "blocked")
        #expect(try his.admin("/readyz")?.status == 200)
        guard kind != "gone" else { return }
        server.set(ListServer.list("1", "2", "3"))
        his.daemon.child.signal(SIGHUP)
        #expect(try IssuerBench.eventually { try his.metric("hisd_revocation_entries") == 3 })
        #expect(try his.metric("hisd_revocation_alarm") == 0)
        #expect(try phone(maker, "third").register(his.client()).token("verdict").text == "human")
    }

    @Test func `a list that is too old is 503 for new Android phones alone`() throws {
        let maker = try AndroidMaker()
        let server = try ListServer()
        let apps = AndroidMaker.app.replacing(" } }", with: " }, test: { authority_keys: [authority.pem] } }")
        let his = try bench(maker, "url: \"\(server.server.url)/status\", max_age: 2s", apps: apps)
        #expect(try loaded(his))
        let known = try phone(maker, "known")
        #expect(try known.register(his.client()).status == 200)
        #expect(try IssuerBench.eventually { try his.admin("/readyz")?.status == 503 })
        #expect(try his.admin("/readyz")?.text.contains("revocation list") == true)
        #expect(try his.metric("hisd_revocation_alarm") == 1)
        let refused = try phone(maker, "new").register(his.client())
        #expect(refused.status == 503)
        #expect(refused.code == "unavailable")
        #expect(refused.json["token"] == .missing)
        #expect(refused.message["Retry-After"] != nil)
        #expect(try known.comeBack(his.client()).token("verdict").text == "human")
        let tested = try ScriptedPhone("tested", AuthorityEvidence(authority: his.authority))
        #expect(try tested.register(his.client()).status == 200)
        // A fresh list ends it.
        his.daemon.child.signal(SIGHUP)
        #expect(try IssuerBench.eventually { try phone(maker, "new").register(his.client()).status == 200 })
    }

    @Test(arguments: ["closed", "open"]) func `without any list it is as when_stale says`(_ word: String) throws {
        let maker = try AndroidMaker()
        let gone = try Wire.listen(on: .port(0))
        let port = gone.port
        gone.close()
        let his = try bench(maker, "url: \"http://127.0.0.1:\(port)/status\", when_stale: \(word)")
        #expect(his.daemon.event("revocations.not_loaded")?["keeps_old_list"] == .bool(false))
        let answer = try phone(maker).register(his.client())
        #expect(answer.status == (word == "open" ? 200 : 503))
        #expect(try his.admin("/readyz")?.status == (word == "open" ? 200 : 503))
        #expect(try his.metric("hisd_revocation_alarm") == 1)
        #expect(try his.metric("hisd_revocation_age_seconds") == -1)
    }

    @Test func `a file that somebody else keeps is read when it changes`() throws {
        let maker = try AndroidMaker()
        let folder = try TestFolder()
        func write(_ serials: String) throws {
            try folder.write("status.json", "{\"entries\":{\"\(serials)\":{\"status\":\"REVOKED\"}}}")
        }
        try write("1234")
        // Times of files are compared by the second.
        let past = Date(timeIntervalSinceNow: -60)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: folder.path + "/status.json")
        let his = try bench(maker, "file: status.json", folder: folder)
        let phone = try phone(maker)
        #expect(try phone.register(his.client()).token("verdict").text == "human")
        try write(AndroidMaker.batchSerial)
        #expect(his.daemon.event("device.revoked") != nil, "no signal is needed")
        #expect(try phone.comeBack(his.client()).token("verdict").text == "blocked")
    }

    @Test func `a SIGHUP while the list is fetched is not lost`() throws {
        let maker = try AndroidMaker()
        let gate = Gate()
        let count = Monitor(0)
        let server = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 { gate.wait() }
                try peer.send(ListServer.list(number < 3 ? "1234" : AndroidMaker.batchSerial))
            }
        }
        let his = try bench(maker, "url: \"\(server.url)/status\"")
        #expect(try loaded(his))
        let phone = try phone(maker)
        #expect(try phone.register(his.client()).token("verdict").text == "human")
        his.daemon.child.signal(SIGHUP)
        #expect(server.requests(2).count == 2)
        his.daemon.child.signal(SIGHUP)
        let reloads = { his.daemon.child.lines.filter { $0.contains("\"reload.done\"") }.count }
        #expect(IssuerBench.eventually { reloads() == 2 })
        gate.open()
        #expect(his.daemon.event("device.revoked") != nil)
        #expect(server.requests.count == 3)
    }
}
