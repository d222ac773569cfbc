// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// `hidctl attest explain` as a process, over all recorded evidence.
@Suite(.timeLimit(.minutes(10))) struct IssuerExplainTests {
    /// What is recorded of one piece of evidence.
    struct Entry: Decodable, Sendable, CustomStringConvertible {
        struct Root: Decodable, Sendable { var key: String }
        var file: String
        var verdict: String
        var certs: Int?
        var refTime: String?
        var notBefore: String?
        var challengeHex: String?
        var packages: [String]?
        var signerDigestsHex: [String]?
        var failReasons: [String]?
        var hwRootOfTrust: Root?
        var appId: String?
        var environment: String?

        var description: String { file }
        var path: String { Vectors.directory + "/attestation/" + file }
        /// Recorded as refused for nothing but the state of the boot loader.
        var isOnlyUnlocked: Bool {
            let reasons = failReasons ?? []
            return !reasons.isEmpty && reasons.allSatisfy { $0 == "unlocked" || $0.hasPrefix("bootState=") }
        }
    }

    private struct Manifest: Decodable {
        var android: [Entry]
        var ios: [Entry]
    }

    private static let manifest = try? Vectors.json("attestation/manifest.json", as: Manifest.self)
    static let android = manifest?.android ?? []
    static let apple = manifest?.ios ?? []
    static let missing = Comment(rawValue: Vectors.missingNote)

    private func explain(
        _ file: String, _ options: [String], isJSON: Bool = true
    ) throws -> (exit: Int32, text: String, json: JSONValue) {
        let outcome = try Pages.run("hidctl", ["attest", "explain", file] + options + (isJSON ? ["--json"] : []))
        return (outcome.exit, outcome.output, JSONValue(outcome.output) ?? .missing)
    }

    /// Everything that the record gives.
    private func options(_ entry: Entry, otherChallenge: Bool = false) -> [String] {
        var options = ["--platform", "android", "--at", entry.refTime ?? "2026-03-01T00:00:00Z"]
        if let hex = entry.challengeHex, !hex.isEmpty {
            options += ["--challenge-hex", otherChallenge ? "ff\(hex)" : hex]
        }
        for package in entry.packages ?? [] where !package.isEmpty { options += ["--package", package] }
        for digest in entry.signerDigestsHex ?? [] { options += ["--signer-digest", digest] }
        if entry.file.contains("attestkey") { options.append("--allow-attest-key") }
        return options
    }

    private func expectShape(_ json: JSONValue, _ entry: Entry) {
        #expect(json.names.isSuperset(of: ["verdict", "outcome", "reason", "reasons", "tier", "checks"]), "\(entry)")
        let results = json["checks"].elements.compactMap { $0["result"].text }
        #expect(results.count == json["checks"].elements.count && !results.isEmpty, "\(entry)")
        #expect(Set(results).isSubset(of: ["pass", "fail", "skipped"]), "\(entry)")
        let isPassed = json["verdict"].text == "pass"
        #expect(isPassed == (json["outcome"].text == "human"), "\(entry)")
        #expect(isPassed == json["reasons"].elements.isEmpty, "\(entry)")
        #expect(isPassed == (json["reason"] == .null), "\(entry)")
        if isPassed { #expect(!results.contains("fail"), "\(entry)") }
    }

    @Test(.enabled(if: Vectors.isAvailable, missing)) func `no recorded evidence is left out`() {
        #expect(Self.android.count == 56)
        #expect(Self.apple.count == 37)
    }

    @Test(.enabled(if: Vectors.isAvailable, missing), arguments: android)
    func `an Android chain comes out as recorded`(_ entry: Entry) throws {
        let found = try explain(entry.path, options(entry))
        let passes = entry.verdict == "pass"
        #expect(found.exit == (passes ? 0 : 1), "\(found.text)")
        #expect(found.json["verdict"].text == (passes ? "pass" : "fail"), "\(found.text)")
        expectShape(found.json, entry)
        let outcome = passes ? "human" : entry.isOnlyUnlocked && entry.verdict == "fail" ? "blocked" : "rejected"
        #expect(found.json["outcome"].text == outcome, "\(found.text)")
        if entry.certs == 1 { #expect(found.json["reason"].text == "chain_length") }
        guard passes, entry.challengeHex?.isEmpty == false else { return }
        let other = try explain(entry.path, options(entry, otherChallenge: true))
        #expect(other.exit == 1)
        #expect(other.json["reasons"] == .array([.string("nonce_mismatch")]))
    }

    @Test(.enabled(if: Vectors.isAvailable, missing))
    func `a phone with another system passes with its boot key alone`() throws {
        let entry = try #require(Self.android.first { $0.file.contains("grapheneos") })
        let key = try #require(entry.hwRootOfTrust?.key)
        let refused = try explain(entry.path, options(entry))
        #expect(refused.json["reasons"] == .array([.string("boot_self_signed")]))
        let found = try explain(entry.path, options(entry) + ["--verified-boot-key", key])
        #expect(found.exit == 0, "\(found.text)")
        #expect(found.json["tier"].text == "self-signed-allowed")
        let other = try explain(entry.path, options(entry) + ["--verified-boot-key", String(key.reversed())])
        #expect(other.exit == 1)
        #expect(other.json["outcome"].text == "blocked")
        let unasked = options(entry).filter { $0 != "--allow-attest-key" }
        let chained = try explain(entry.path, unasked + ["--verified-boot-key", key])
        #expect(chained.json["reason"].text == "attest_key_unsupported")
    }

    @Test(.enabled(if: Vectors.isAvailable, missing)) func `a revocation list takes effect`() throws {
        let list = Vectors.directory + "/attestation/roots/android-statuslist-synthetic.json"
        var reasons: [String] = []
        for entry in Self.android where entry.verdict == "pass" {
            let found = try explain(entry.path, options(entry) + ["--revocation-list", list])
            guard found.exit != 0 else { continue }
            #expect(found.json["outcome"].text == "blocked", "\(entry): \(found.text)")
            reasons += found.json["reasons"].elements.compactMap(\.text)
        }
        #expect(Set(reasons).isSubset(of: ["revoked", "suspended"]) && reasons.contains("revoked"), "\(reasons)")
    }

    @Test(.enabled(if: Vectors.isAvailable, missing), arguments: apple)
    func `Apple evidence comes out as recorded`(_ entry: Entry) throws {
        var options = ["--platform", "ios", "--at", entry.notBefore ?? "2026-03-01T00:00:00Z"]
        if let appID = entry.appId { options += ["--app-id", appID] }
        if let environment = entry.environment { options += ["--environment", environment] }
        let passes = entry.verdict == "pass"
        let found = try explain(entry.path, options)
        #expect(found.exit == (passes ? 0 : 1), "\(found.text)")
        expectShape(found.json, entry)
        #expect(found.json["outcome"].text == (passes ? "human" : "rejected"))
        guard passes, let appID = entry.appId else { return }
        let other = try explain(entry.path, ["--platform", "ios", "--at", options[3], "--app-id", appID + "x"])
        #expect(other.exit == 1)
        #expect(other.json["reasons"] == .array([.string("wrong_app")]))
        #expect(other.json["outcome"].text == "blocked")
    }

    @Test(.enabled(if: Vectors.isAvailable, missing)) func `the text for people says the same`() throws {
        for entry in [Self.android.first, Self.android.first { $0.verdict == "pass" }].compactMap({ $0 }) {
            let json = try explain(entry.path, options(entry))
            let text = try explain(entry.path, options(entry), isJSON: false)
            #expect(text.exit == json.exit)
            let lines = text.text.split(separator: "\n")
            #expect(lines.first?.hasPrefix("verdict  \(json.json["verdict"].text ?? ""), ") == true)
            for check in json.json["checks"].elements {
                let (name, result) = (check["name"].text ?? "", check["result"].text ?? "")
                #expect(lines.contains { $0.hasPrefix(result) && $0.contains(name) }, "\(name)")
            }
            #expect(text.text.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) })
        }
    }

    @Test(arguments: [
        [], ["--platform", "windows"], ["--platform", "android", "--at", "yesterday"],
        ["--platform", "android", "--challenge-hex", "xy"], ["--platform", "android", "--app-id", "A.b"],
        ["--platform", "ios", "--package", "com.example"], ["--platform", "ios", "--environment", "sandbox"],
        ["--platform", "ios", "--allow-attest-key"], ["--platform", "android", "--signer-digest"],
    ])
    func `wrong usage is exit 2`(_ options: [String]) throws {
        let folder = try TestFolder()
        let file = try folder.write("evidence", "{}")
        let found = try explain(file, options, isJSON: false)
        #expect(found.exit == 2, "\(found.text)")
        #expect(found.text.hasPrefix("hidctl: "))
    }

    @Test func `what is no evidence is exit 1 and named`() throws {
        let folder = try TestFolder()
        let none = folder.path + "/none.pem"
        #expect(try explain(none, ["--platform", "android"]).exit == 1)
        #expect(try explain(none, ["--platform", "android"], isJSON: false).text.contains("none.pem"))
        for (name, content) in [("empty", ""), ("text", "hello"), ("cut", "-----BEGIN CERTIFICATE-----\nMIIB")] {
            let file = try folder.write(name, content)
            for platform in ["android", "ios"] {
                let found = try explain(file, ["--platform", platform])
                #expect(found.exit == 1, "\(name) \(platform): \(found.text)")
            }
        }
        let root = try folder.write("root.pem", "no certificate")
        let file = try folder.write("chain.pem", try AndroidMaker().rootPEM)
        #expect(try explain(file, ["--platform", "android", "--extra-root", root]).exit == 1)
        #expect(try explain(file, ["--platform", "android", "--revocation-list", root]).exit == 1)
        let found = try explain(file, ["--platform", "android"])
        #expect(found.json["reason"].text == "chain_length", "\(found.text)")
    }
}
