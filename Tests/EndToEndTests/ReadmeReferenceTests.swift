// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDService
import HIDVerifier
import Testing

@testable import HIDGateway

/// The tables of the reference pages are complete, and hold nothing that is not there.
@Suite struct ReadmeReferenceTests {
    /// The first cells of a table, without their backquotes; each may be there once.
    private func names(_ heading: String, _ page: String) throws -> [String] {
        try Pages.rows(under: heading, of: page).map { $0[0].trimmingCharacters(in: ["`"]) }
    }

    @Test func `the verifier's table lists every reason with what is proven and its sentence`() throws {
        let rows = try Pages.rows(under: "Code", of: Pages.verifier + "ReasonCodes.md")
        let expected = Reason.allCases.map { ["`\($0.code)`", $0.isProven ? "yes" : "no", $0.explanation] }
        #expect(Set(rows) == Set(expected))
        #expect(rows.count == expected.count)
    }

    @Test func `the gateway's table lists every reason code once`() throws {
        let codes = try names("Code", Pages.gateway + "ReasonCodes.md")
        #expect(codes.sorted() == StopReason.allCodes)
    }

    @Test func `the gateway's table gives the sentences and statuses of refusals`() throws {
        let rows = try Pages.rows(under: "Code", of: Pages.gateway + "ReasonCodes.md")
        let plan = RoutePlan(defaults: DefaultsConfiguration(), upstream: 0)
        for reason in Reason.allCases {
            let answer = Refusal.answer(reason, on: plan)
            let status = answer.block == nil ? String(answer.status) : "block"
            #expect(rows.contains(["`\(reason.code)`", status, reason.explanation]), "\(reason.code)")
        }
    }

    @Test func `the table of log fields is what a line holds, in its order`() throws {
        var writer = JSONLineWriter()
        ExchangeRecord().write(to: &writer)
        let line = String(decoding: writer.bytes, as: UTF8.self)
        let flat = line.replacing(/\{"total".*?\}/, with: "0")
        let fields = flat.matches(of: /"([a-z_]+)":/).map { String($0.output.1) }
        #expect(try names("Field", Pages.gateway + "AccessLog.md") == fields)
    }

    @Test func `the page of the access log knows every word of its fields`() throws {
        let words = Pages.quoted(try Pages.text(Pages.gateway + "AccessLog.md"))
        for decision in Decision.allCases { #expect(words.contains(decision.rawValue)) }
        let source = try Pages.text("Sources/HIDGateway/Record/ExchangeRecord.swift")
        let ends = source.prefix { $0 != "}" }.matches(of: /case \w+ = "(\w+)"/).map { String($0.output.1) }
        #expect(ends.count >= 7)
        for end in ends { #expect(words.contains(end), "\(end)") }
    }

    @Test func `the table of metrics lists what the sources register`() throws {
        let named = try Pages.sources("Sources/HIDGateway").flatMap { text in
            text.matches(of: /"(hidgate_[a-z0-9_]+)"/).map { String($0.output.1) }
        }
        #expect(Set(try names("Metric", Pages.gateway + "Metrics.md")) == Set(named))
    }

    @Test func `the reference lists every key that the decoders read`() throws {
        let decoders = try ["HIDGateway", "HIDDaemon"].flatMap { try Pages.sources("Sources/\($0)/Configuration") }
        let keys = decoders.flatMap { text in
            text.matches(of: /(?:value|required|action)\("([a-z_]+)"\)/).map { String($0.output.1) }
        }
        #expect(keys.count > 60)
        #expect(Set(try names("Key", Pages.gateway + "Configuration.md")) == Set(keys))
        let page = Pages.quoted(try Pages.text(Pages.gateway + "Configuration.md"))
        for text in decoders {
            for call in text.matches(of: /notAvailable\(([^)]*)\)/) {
                for word in call.output.1.matches(of: /"([a-z_]+)"/) {
                    #expect(page.contains(String(word.output.1)), "\(word.output.1)")
                }
            }
        }
    }

    @Test func `modes, exit codes and the sections that need a restart are those of the code`() throws {
        let modes = Mode.allCases.map(\.rawValue)
        #expect(try names("Mode", Pages.gateway + "Modes.md") == modes)
        let readme = try Pages.text("README.md")
        for mode in modes { #expect(readme.contains("- `\(mode)`:")) }

        let operations = Pages.gateway + "Operations.md"
        let codes = [ExitCode.success, ExitCode.failure, ExitCode.usage, ExitCode.bug, ExitCode.configuration]
        #expect(try names("Code", operations) == codes.map(String.init))
        let source = try Pages.text("Sources/HIDGateway/Gateway.swift")
        let words = Pages.quoted(try Pages.text(operations))
        let sections = source.matches(of: /\{ return "([a-z_]+)" \}/).map { String($0.output.1) }
        #expect(sections.count >= 6)
        for section in sections { #expect(words.contains(section), "\(section)") }
    }
}
