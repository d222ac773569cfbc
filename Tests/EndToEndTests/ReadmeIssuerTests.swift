// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDDaemon
import HIDGateway
import HIDService
import HIDTesting
import Testing

@testable import HIDIssuer

/// The pages about hisd are complete, and hold nothing that is not there.
@Suite struct ReadmeIssuerTests {
    private static let folder = Pages.issuer

    /// The first cells of a table, without their backquotes.
    private func names(_ heading: String, _ page: String) throws -> [String] {
        try Pages.rows(under: heading, of: Self.folder + page).map { $0[0].trimmingCharacters(in: ["`"]) }
    }

    private func sources(_ folders: String...) throws -> [String] {
        try folders.flatMap { try Pages.sources("Sources/" + $0) }
    }

    @Test func `the tables of reasons list every reason once, with its outcome`() throws {
        let rows = try Pages.rows(under: "Code", of: Self.folder + "Attestation.md")
        let expected = AttestationReason.allCases.map { ["`\($0.rawValue)`", $0.outcome.rawValue] }
        #expect(rows.map { Array($0.prefix(2)) }.sorted { $0[0] < $1[0] } == expected.sorted { $0[0] < $1[0] })
        for row in rows {
            #expect(row.count == 4 && row[2].hasSuffix(".") && row[3].hasSuffix("."), "\(row)")
        }
        let outcomes = try names("Outcome", "Attestation.md")
        #expect(outcomes == AttestationOutcome.allCases.map(\.rawValue))
    }

    @Test func `the table of errors is the list of the code, in its order`() throws {
        let rows = try Pages.rows(under: "Code", of: Self.folder + "Endpoints.md")
        let expected = IssuerError.allCases.map { ["`\($0.rawValue)`", "\($0.status)"] }
        #expect(rows.map { Array($0.prefix(2)) } == expected)
    }

    @Test func `the endpoints of the page are those that are served`() throws {
        let source = try Pages.text("Sources/HIDIssuer/Endpoint/IssuerService.swift")
        let paths = source.matches(of: /Octets\.equal\(target, "([^"]+)"\)/).map { String($0.output.1) }
        let named = try names("Request", "Endpoints.md").map { String($0.split(separator: " ")[1]) }
        #expect(paths.count == 3 && paths == named)
    }

    @Test func `the table of metrics lists what the sources register`() throws {
        let named = try sources("HIDIssuer").flatMap { text in
            text.matches(of: /"(hisd_[a-z0-9_]+)"/).map { String($0.output.1) }
        }
        let listed = try names("Metric", "Metrics.md")
        #expect(Set(listed) == Set(named) && listed.count == Set(listed).count)
    }

    @Test func `the table of events lists what the sources log`() throws {
        let events = try sources("HIDIssuer", "HIDDaemon").flatMap { text in
            text.matches(of: /(?:info|warning|error)\(\s*"([a-z0-9_]+(?:\.[a-z_]+)*)"/).map { String($0.output.1) }
                + text.matches(of: /log\.write\([^"]*?"([a-z_.]+)"/).map { String($0.output.1) }
        }
        let listed = try names("Event", "LogEvents.md")
        #expect(events.count > 25)
        #expect(Set(listed) == Set(events) && listed.count == Set(listed).count)
    }

    @Test func `the table of kinds lists every event of the registry`() throws {
        let kinds = try sources("HIDIssuer").flatMap { text in
            text.matches(of: /(?:event|note)\("([a-z_]+)", |kind: "([a-z_]+)"/).map {
                String($0.output.1 ?? $0.output.2 ?? "")
            }
        }
        let rows = try Pages.rows(under: "Kind", of: Self.folder + "AdminAPI.md")
        #expect(Set(rows.flatMap { Pages.quoted($0[0]) }) == Set(kinds))
        #expect(kinds.count >= 8)
    }

    @Test func `the reference lists every key that the decoders read`() throws {
        let decoders = try sources("HIDIssuer/Configuration", "HIDDaemon/Configuration")
        let keys = decoders.flatMap { text in
            text.matches(of: /(?:value|required)\("([a-z_]+)"\)/).map { String($0.output.1) }
        }
        #expect(Set(keys).count > 40)
        #expect(Set(try names("Key", "Configuration.md")) == Set(keys))
        let page = Pages.quoted(try Pages.text(Self.folder + "Configuration.md"))
        for call in decoders.flatMap({ text in text.matches(of: /notAvailable\(([^)]*)\)/).map(\.output.1) }) {
            for word in call.matches(of: /"([a-z_]+)"/) {
                #expect(page.contains(String(word.output.1)), "\(word.output.1)")
            }
        }
    }

    @Test func `the smallest file of the page is accepted and has the defaults of the page`() throws {
        let blocks = try Pages.blocks("yaml", of: Self.folder + "Configuration.md")
        let smallest = try #require(blocks.first)
        let loaded = try load(smallest)
        let configuration = try #require(loaded)
        var defaults: [String: String] = [:]
        for row in try Pages.rows(under: "Key", of: Self.folder + "Configuration.md") {
            defaults[row[0].trimmingCharacters(in: ["`"])] = row[1]
        }
        let durations = [
            "life": configuration.tokenLife, "header": configuration.timeouts.header,
            "body_idle": configuration.timeouts.bodyIdle, "keep_alive": configuration.timeouts.keepAlive,
            "write": configuration.timeouts.write, "drain": configuration.timeouts.drain,
            "max_age": RevocationListConfiguration().maximumAge,
        ]
        for (key, duration) in durations {
            #expect(ScalarText.duration((defaults[key] ?? "").utf8) == duration, "\(key)")
        }
        #expect(defaults["when_stale"] == RevocationListConfiguration().whenStale.rawValue)
        #expect(defaults["environment"] == AppleAppConfiguration().environment.rawValue)
        #expect(defaults["attest_key"] == "\(configuration.attestation.allowsAttestKey)")
        #expect(defaults["sdk_keys_only"] == "\(configuration.attestation.sdkKeysOnly)")
        let rates = [
            "per_client": configuration.rateLimits.perClient, "per_device": configuration.rateLimits.perDevice,
            "attestations": configuration.rateLimits.attestations,
        ]
        for (key, rate) in rates {
            #expect(ScalarText.rate(Array((defaults[key] ?? "").utf8)) == rate, "\(key)")
        }
    }

    private func load(_ text: String) throws -> HIDIssuer.IssuerConfiguration? {
        let folder = try ConfigurationFolder(["his.yaml": text])
        let (configuration, diagnostics) = HIDIssuer.IssuerConfiguration.load(path: folder.path + "/his.yaml")
        #expect(diagnostics.rendered == "")
        return configuration
    }

    @Test func `the samples under etc fit together`() throws {
        let (his, diagnostics) = HIDIssuer.IssuerConfiguration.load(path: Pages.root.path + "/etc/hidgate/his.yaml")
        // The snapshot comes with an installation, which this machine may not have.
        let others = diagnostics.sorted.filter { !$0.message.hasPrefix("'snapshot': cannot read") }
        #expect(others.map(\.message) == [])
        let issuer = try #require(his)
        let (gateway, _) = GatewayConfiguration.load(path: Pages.root.path + "/etc/hidgate/gateway.yaml")
        let trusted = try #require(gateway?.issuers.first)
        #expect(trusted.issuer == issuer.issuer)
        #expect(issuer.apps.keys.sorted() == trusted.audience)
        #expect(issuer.tokenLife <= trusted.maximumLife)
        let text = try Pages.text("etc/hidgate/gateway.yaml")
        #expect(text.contains("url: http://\(issuer.listeners[0].address.text)/.well-known/jwks.json"))
    }

    @Test func `every key of his yaml is in the sample`() throws {
        let sample = try Pages.text("etc/hidgate/his.yaml")
        for key in Set(try names("Key", "Configuration.md")).subtracting(["snapshot"]) {
            #expect(sample.contains("\(key):") || sample.contains("{ \(key)"), "\(key)")
        }
    }

    @Test func `exit codes and the sections that need a restart are those of the code`() throws {
        let codes = [ExitCode.success, ExitCode.failure, ExitCode.usage, ExitCode.bug, ExitCode.configuration]
        #expect(try names("Code", "Operations.md") == codes.map(String.init))
        let source = try Pages.text("Sources/HIDIssuer/Issuer.swift")
        let sections = source.matches(of: /\{ return "([a-z_]+)" \}/).map { String($0.output.1) }
        #expect(sections.count >= 9)
        let words = Pages.quoted(try Pages.text(Self.folder + "Operations.md"))
        for section in sections { #expect(words.contains(section), "\(section)") }
    }

    @Test func `the page of the test platform knows every claim and its words`() throws {
        let rows = try Pages.rows(under: "Claim", of: Self.folder + "TestPlatform.md")
        let source = try Pages.text("Sources/HIDIssuer/Attestation/Test/TestClaims.swift")
        let claims = source.matches(of: /document\.member\("([a-z]+)"/).map { String($0.output.1) }
        #expect(Set(rows.map { $0[0].trimmingCharacters(in: ["`"]) }) == Set(claims))
        for row in rows {
            for reason in Pages.quoted(row[3]) { #expect(AttestationReason(rawValue: reason) != nil, "\(reason)") }
        }
        let boot = try #require(rows.first { $0[0] == "`boot`" })
        #expect(Pages.quoted(boot[1]) == TestClaims.Boot.allCases.map(\.rawValue))
    }
}
