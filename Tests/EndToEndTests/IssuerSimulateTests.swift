// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

/// `hidctl device simulate --his` against a real server and a real gateway.
@Suite(.timeLimit(.minutes(10))) struct IssuerSimulateTests {
    private func simulate(_ his: IssuerBench, _ options: [String]) throws -> Pages.Outcome {
        try Pages.run(
            "hidctl",
            [
                "device", "simulate", "--his", his.url, "--authority-key", his.folder.path + "/authority-key.pem",
                "--audience", "app-1",
            ] + options)
    }

    private func login(_ gateway: Bench) -> [String] {
        ["--url", IssuerBench.url(gateway.address) + "/api/v1/login", "--body", "{\"user\":1}"]
    }

    @Test(arguments: ["v1", "v2"]) func `a simulated phone logs in`(_ profile: String) throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let text = try simulate(his, login(gateway) + ["--profile", profile, "--expect", "200"])
        #expect(text.exit == 0, "\(text.output)")
        for word in ["authority", "hid ", profile, "200"] { #expect(text.output.contains(word), "\(text.output)") }
        let found = try simulate(his, login(gateway) + ["--profile", profile, "--expect", "200", "--json"])
        #expect(found.exit == 0, "\(found.output)")
        let json = try #require(JSONValue(found.output))
        #expect(json["requests"].elements.first?["status"].number == 200)
        #expect(gateway.upstream.requests.last?["X-HID-Device"] == json["hid"].text)
        #expect(gateway.upstream.requests.count == 2)
        #expect(try simulate(his, login(gateway) + ["--expect", "403"]).exit == 1)
        for key in try FileManager.default.contentsOfDirectory(atPath: his.folder.path) where key.hasSuffix("key.pem") {
            let secret = try String(contentsOfFile: his.folder.path + "/" + key, encoding: .utf8)
            #expect(!text.output.contains(secret.split(separator: "\n")[1]))
        }
    }

    @Test func `a device file makes a returning device`() throws {
        let his = try IssuerBench()
        let file = his.folder.path + "/phone.json"
        var hids: Set<String> = []
        for _ in 0..<3 {
            let found = try simulate(his, ["--device-key", file, "--json"])
            #expect(found.exit == 0, "\(found.output)")
            let json = JSONValue(found.output)
            hids.insert(json?["hid"].text ?? "")
            #expect(TokenText.member("verdict", of: json?["token"].text).text == "human")
        }
        #expect(hids.count == 1)
        #expect(try his.metric("hisd_key_proofs_total{result=\"accepted\"}") == 2)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(JSONValue(try simulate(his, ["--json"]).output)?["hid"].text.map(hids.contains) == false)
        // A file that others may read is not used.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let open = try simulate(his, ["--device-key", file])
        #expect(open.exit == 1)
        #expect(open.output.contains("0600"), "\(open.output)")
    }

    @Test func `a given device id is the server's`() throws {
        let his = try IssuerBench()
        let found = try simulate(his, ["--device-id", "phone-7", "--json"])
        let hid = try #require(JSONValue(found.output)?["hid"].text)
        let shown = JSONValue(try his.admin("/api/devices/\(hid)")?.text ?? "")
        #expect(shown?["device_id"].text == "phone-7")
        #expect(shown?["app_id"].text == "app-1")
        // Another key for the same id: the first one is retired.
        #expect(try simulate(his, ["--device-id", "phone-7"]).exit == 0)
        #expect(JSONValue(try his.admin("/api/devices/\(hid)")?.text ?? "")?["retired"].text != nil)
    }

    @Test func `emulators and unlocked phones are played by options`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let emulator = ["--level", "software", "--expect-error", "attestation_rejected"]
        let refused = try simulate(his, emulator + login(gateway))
        #expect(refused.exit == 0, "\(refused.output)")
        #expect(refused.output.contains("no token"))
        let json = try simulate(his, emulator + ["--json"])
        #expect(json.exit == 0)
        #expect(JSONValue(json.output)?["error"].text == "attestation_rejected")
        #expect(gateway.upstream.requests.isEmpty)
        let unexpected = try simulate(his, ["--level", "software"])
        #expect(unexpected.exit == 1)
        #expect(unexpected.output.contains("attestation_rejected"), "\(unexpected.output)")
        #expect(try simulate(his, ["--expect-error", "attestation_rejected"]).exit == 1)
        #expect(try simulate(his, ["--level", "software", "--expect-error", "key_unknown"]).exit == 1)
        let blocked = try simulate(his, login(gateway) + ["--verdict", "blocked", "--expect", "403"])
        #expect(blocked.exit == 0, "\(blocked.output)")
        #expect(blocked.output.contains("verdict blocked, by the server"), "\(blocked.output)")
        let unknown = try Pages.run(
            "hidctl",
            [
                "device", "simulate", "--his", his.url, "--authority-key", his.folder.path + "/authority-key.pem",
                "--audience", "app-9", "--expect-error", "app_unknown",
            ])
        #expect(unknown.exit == 0, "\(unknown.output)")
    }

    @Test(arguments: ["body", "signature", "token"]) func `what is spoilt is refused`(_ part: String) throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let found = try simulate(his, login(gateway) + ["--tamper", part, "--expect", "403"])
        #expect(found.exit == 0, "\(found.output)")
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test func `a repeated request is a replay, and parts can be left out`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let statuses = ["--repeat", "3", "--expect", "200", "--expect", "403"]
        let found = try simulate(his, login(gateway) + statuses)
        #expect(found.exit == 0, "\(found.output)")
        for part in ["--no-token", "--no-signature"] {
            let bare = try simulate(his, login(gateway) + [part, "--expect", "403"])
            #expect(bare.exit == 0, "\(bare.output)")
        }
        #expect(gateway.upstream.requests.count == 1)
    }

    private static let curl = "/usr/bin/curl"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: curl), "there is no curl"))
    func `the printed curl command logs in`() throws {
        let his = try IssuerBench()
        let gateway = try his.gateway()
        let printed = try simulate(his, login(gateway) + ["--print-curl"])
        #expect(printed.exit == 0)
        #expect(printed.output.hasPrefix("curl "), "\(printed.output)")
        #expect(printed.output.split(separator: "\n").count == 1)
        #expect(gateway.upstream.requests.isEmpty)
        let run = try Pages.run(
            executable: URL(fileURLWithPath: "/bin/bash"),
            ["-c", printed.output.replacing("curl -i", with: "curl -s -i")])
        #expect(run.output.hasPrefix("HTTP/1.1 200"), "\(run.output)")
        let headers = try simulate(his, login(gateway) + ["--print-headers"])
        let lines = headers.output.split(separator: "\n").map { $0.prefix { $0 != ":" } }
        #expect(lines == ["X-HID-Token", "X-HID-Signature"])
    }

    @Test func `an authority is made once, for the server's configuration`() throws {
        let folder = try TestFolder()
        let (key, out) = (folder.path + "/new-key.pem", folder.path + "/authority.pem")
        // Without a server there is no token, but the files are there.
        let first = try Pages.run(
            "hidctl",
            [
                "device", "simulate", "--his", "http://127.0.0.1:1", "--authority-key", key, "--authority-out", out,
                "--no-token",
            ])
        #expect(first.exit == 0, "\(first.output)")
        #expect(first.output.contains("(made)"))
        let attributes = try FileManager.default.attributesOfItem(atPath: key)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let pem = try Data(contentsOf: URL(fileURLWithPath: out))
        let point = try P256PublicKey(pem: Array(pem)).point
        let made = try P256PrivateKey(pem: Array(Data(contentsOf: URL(fileURLWithPath: key))))
        #expect(made.publicKey.point == point)
    }

    @Test(arguments: [
        ["--his", "http://127.0.0.1:1"], ["--his", "http://his.example.com", "--authority-key", "KEY"],
        ["--his", "nonsense", "--authority-key", "KEY"], ["--expect-error", "app_unknown"],
        ["--device-id", "d"], ["--his", "http://127.0.0.1:1", "--authority-key", "KEY", "--issuer-key", "KEY"],
        ["--his", "http://127.0.0.1:1", "--authority-key", "KEY", "--verdict", "bot"],
        ["--his", "http://127.0.0.1:1", "--authority-key", "KEY", "--audience", "no app"],
        ["--his", "http://127.0.0.1:1", "--authority-key", "KEY", "--device-id", "a/b"],
        ["--his", "http://127.0.0.1:1", "--authority-key", "KEY", "--print-curl", "--print-headers"],
    ])
    func `wrong usage is exit 2`(_ options: [String]) throws {
        let folder = try TestFolder()
        let key = folder.path + "/key.pem"
        let found = try Pages.run("hidctl", ["device", "simulate"] + options.map { $0 == "KEY" ? key : $0 })
        #expect(found.exit == 2, "\(found.output)")
        #expect(found.output.hasPrefix("hidctl: "), "\(found.output)")
    }

    @Test func `a server that is not there, and a key that is none, are exit 1`() throws {
        let folder = try TestFolder()
        let key = try folder.write("key.pem", "no key")
        let broken = try Pages.run(
            "hidctl", ["device", "simulate", "--his", "http://127.0.0.1:1", "--authority-key", key])
        #expect(broken.exit == 1)
        #expect(broken.output.contains("key.pem"))
        let silent = try Pages.run(
            "hidctl",
            [
                "device", "simulate", "--his", "http://127.0.0.1:1", "--authority-key", folder.path + "/made.pem",
                "--json",
            ])
        #expect(silent.exit == 1)
        #expect(silent.output.contains("no token: "), "\(silent.output)")
    }
}
