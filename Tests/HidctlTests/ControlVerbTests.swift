// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDDaemon
import HIDTesting
import Testing

@testable import hidctl

@Suite struct ControlVerbTests {
    @Test func `a good file is one line, a faulty one its faults and exit 1`() throws {
        let folder = try ControlConfiguration.folder(try TestIssuer().jwks)
        let good = hidctl("check", "\(folder.path)/gateway.yaml")
        #expect(good.exit == 0 && good.stderr.contains("is critical for host"))
        let summary = "4 routes (4 critical), 1 upstream, 1 issuer, 1 warning"
        #expect(good.stdout == "\(folder.path)/gateway.yaml: ok, \(summary)\n")
        try folder.write("rules.yaml", "routes:\n  - { name: a, match: { path: /a }, critcal: true }\n")
        let bad = hidctl("check", "\(folder.path)/gateway.yaml")
        #expect(bad.exit == 1 && bad.stdout.isEmpty)
        let fault = "\(folder.path)/rules.yaml:2:37: error: unknown key 'critcal', did you mean 'critical'?\n"
        #expect(bad.stderr.hasPrefix(fault))
        let json = try PrintedJSON(hidctl("check", "\(folder.path)/gateway.yaml", "--json").stdout)
        #expect(json.boolean("files", "0", "ok") == false)
        #expect(json.integer("files", "0", "diagnostics", "0", "column") == 37)
        #expect(json.text("files", "0", "diagnostics", "0", "severity") == "error")
    }

    @Test func `a missing file is a fault like any other`() throws {
        let outcome = hidctl("check", "/no/such", "--json")
        #expect(outcome.exit == 1)
        #expect(try PrintedJSON(outcome.stdout).text("files", "0", "file") == "/no/such")
    }

    @Test func `unknown names exit with 2 and a hint`() {
        #expect(hidctl("chek").stderr == "hidctl: unknown verb 'chek', did you mean 'check'?; try 'hidctl --help'\n")
        #expect(hidctl("check", "x", "--josn").exit == 2)
        #expect(hidctl().exit == 2)
        #expect(hidctl("token", "inspect", "x", "--issuer", "i").exit == 2)
        #expect(hidctl("device", "simulate", "--issuer-key", "/dev/null").exit == 2)
    }

    @Test(arguments: ["check", "routes test", "token inspect", "device simulate"])
    func `every verb has a help of its own`(verb: String) {
        let words = verb.split(separator: " ").map(String.init)
        let environment = ControlEnvironment(now: { 0 }, readInput: { _ in [] })
        let outcome = HidctlProgram.run(arguments: words + ["--help"], environment: environment)
        #expect(outcome.exit == 0)
        #expect(outcome.stdout.hasPrefix("hidctl \(verb)"))
        #expect(outcome.stdout.contains("--json"))
    }

    @Test func `the version is one line`() {
        #expect(hidctl("--version").stdout == "hidctl \(ProductVersion.text)\n")
    }

    @Test func `octets that are not UTF-8 come through a String unharmed`() {
        for octets in [[0x2F, 0xE9], Array("/caf\u{E9}".utf8), Array("\u{10FFE9}".utf8), [0xFF, 0xFE, 0x00]]
            as [[UInt8]]
        {
            #expect(RawArgument.octets(RawArgument.string(octets)) == octets)
        }
    }
}

@Suite struct RouteTestVerbTests {
    @Test func `routes test shows what guarded forwards unchanged and what it refuses`() throws {
        let folder = try ControlConfiguration.folder(try TestIssuer().jwks)
        let guarded = ControlConfiguration.gateway.replacing("mode: monitoring", with: "path_policy: guarded")
        try folder.write("gateway.yaml", guarded)
        let path = "\(folder.path)/gateway.yaml"
        let passed = hidctl("routes", "test", "GET", "http://a.test/files/a%2Fb;c?d", "--config", path)
        #expect(passed.exit == 0)
        #expect(passed.stdout.contains("/files/a%2Fb;c (ambiguous, forwarded as it came)"))
        let json = try PrintedJSON(
            hidctl("routes", "test", "--json", "GET", "http://a.test/files/a%2Fb", "--config", path).stdout)
        #expect(json.text("policy") == "guarded" && json.text("forwarded") == "/files/a%2Fb")
        #expect(json.boolean("ambiguous") == true && json.text("canonical") == nil)
        let refused = hidctl("routes", "test", "--json", "GET", "http://a.test/x/..%2Fadmin", "--config", path)
        #expect(refused.exit == 1)
        #expect(try PrintedJSON(refused.stdout).text("refused", "code") == "path.ambiguous")
    }

    @Test(arguments: PathCase.load("paths.jsonl"))
    func `routes test says of every vector what the vector says`(row: PathCase) throws {
        let folder = try ControlConfiguration.folder(try TestIssuer().jwks)
        let outcome = hidctl(
            "routes", "test", "--json", "--config", "\(folder.path)/gateway.yaml", "--host", "api.example.test",
            row.method ?? "GET", "--", RawArgument.string(octets(row.target)))
        let json = try PrintedJSON(outcome.stdout)
        #expect(json.text("canonical") == row.expect.canonical)
        #expect(json.text("refused", "code") == row.reason)
        #expect(outcome.exit == (row.expect.action == "reject" ? 1 : 0))
        if let fold = row.fold, !fold.contains("\u{FFFD}") { #expect(json.text("fold") == fold) }
        guard let critical = row.critical, row.expect.action != "reject" else { return }
        #expect(json.boolean("critical") == critical)
        if critical { #expect(json.text("match") == row.critical_by) }
    }

    @Test func `a URL shows its rule, and a method that is not listed is refused with 405`() throws {
        let folder = try ControlConfiguration.folder(try TestIssuer().jwks)
        let config = "\(folder.path)/gateway.yaml"
        let good = hidctl("routes", "test", "POST", "https://pay.test/./pay?x=%2F", "--config", config)
        #expect(good.exit == 0)
        #expect(
            good.stdout == """
                request    POST /./pay?x=%2F
                host       pay.test
                canonical  /pay (normalised)
                fold       /pay
                match      canonical: the path that is forwarded is the rule's
                route      pay (critical)
                mode       block
                demands    token and signature (v1 or v2)
                method     POST is listed (POST)
                upstream   api at http://127.0.0.1:9000

                """)
        let bad = hidctl("routes", "test", "PUT", "https://pay.test/pay", "--config", config, "--json")
        let json = try PrintedJSON(bad.stdout)
        #expect(bad.exit == 1 && json.boolean("method_listed") == false)
        #expect(json.integer("refused", "status") == 405)
        let fold = hidctl("routes", "test", "GET", "http://pay.test/API/v1/LOGIN", "--config", config, "--json")
        #expect(try PrintedJSON(fold.stdout).text("match") == "fold")
    }
}

@Suite struct TokenInspectVerbTests {
    private let issuer: TestIssuer
    private let folder: ConfigurationFolder
    private let claims: TestClaims

    init() throws {
        issuer = try TestIssuer()
        folder = try ControlConfiguration.folder(issuer.jwks)
        claims = issuer.claims(for: try TestDevice())
    }

    private func inspect(_ claims: TestClaims, _ options: String...) throws -> (exit: Int32, json: PrintedJSON) {
        let token = String(decoding: try issuer.mint(claims), as: UTF8.self)
        let environment = ControlEnvironment(now: { TestIssuer.now }, readInput: { _ in Array("  \(token)\n".utf8) })
        let outcome = HidctlProgram.run(
            arguments: ["token", "inspect", "-", "--json"] + options, environment: environment)
        let signature = try #require(token.split(separator: ".").last)
        #expect(!outcome.stdout.contains(signature))
        return (outcome.exit, try PrintedJSON(outcome.stdout))
    }

    @Test func `without keys a token is decoded and not judged`() throws {
        let (exit, json) = try inspect(claims)
        #expect(exit == 0 && json.text("verdict") == "not_verified")
        #expect(json.text("header", "kid") == "k1" && json.text("claims", "aud") == "app-1")
        let doubled = try inspect(claims.appending("hid", "\"x\""))
        #expect(doubled.exit == 1 && doubled.json.text("reason") == "hid.claims_dup")
    }

    @Test func `with keys it is verified at the given time`() throws {
        let jwks = "\(folder.path)/jwks.json"
        #expect(try inspect(claims, "--jwks", jwks).exit == 0)
        #expect(try inspect(claims, "--config", "\(folder.path)/gateway.yaml").json.text("verdict") == "accepted")
        let late = try inspect(claims, "--jwks", jwks, "--at", "1800000040")
        #expect(late.exit == 1 && late.json.text("reason") == "hid.expired")
        let foreign = try inspect(claims, "--jwks", jwks, "--issuer", "https://other.test")
        #expect(foreign.json.text("reason") == "hid.iss")
        let bot = try inspect(claims.with("verdict", "\"bot\""), "--jwks", jwks)
        #expect(bot.exit == 1 && bot.json.text("reason") == "hid.verdict_block")
    }

    @Test func `what is no token is refused with its reason`() {
        let outcome = hidctl("token", "inspect", "abc")
        #expect(outcome.exit == 1)
        #expect(outcome.stdout.contains("refused: hid.token_parts\n"))
    }
}
