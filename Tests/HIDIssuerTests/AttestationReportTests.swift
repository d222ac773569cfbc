// SPDX-License-Identifier: Apache-2.0
import HIDIssuer
import HIDTesting
import Testing

@Suite struct AttestationReportTests {
    private func report(_ reasons: [AttestationReason], hasKey: Bool = true) -> AttestationReport {
        var report = AttestationReport()
        report.pass("object", "12 octets")
        report.skip("nonce", "no challenge was given")
        for reason in reasons { report.fail("part", reason, "seen \"\u{fc}\"\n") }
        if hasKey {
            var key = AttestedKey(subjectPublicKeyInfo: [1], level: .secureEnclave)
            key.facts = [AttestedKey.Fact("os_version", "26.2")]
            report.key = key
            report.tier = .secureEnclave
        }
        return report
    }

    private func json(_ report: AttestationReport) throws -> JSONValue {
        try #require(JSONValue(String(decoding: report.jsonLine, as: UTF8.self)))
    }

    @Test func `a passing report in JSON`() throws {
        let value = try json(report([]))
        #expect(value.names == ["verdict", "outcome", "reason", "reasons", "tier", "checks", "facts"])
        #expect(value["verdict"].text == "pass")
        #expect(value["outcome"].text == "human")
        #expect(value["reason"] == .null)
        #expect(value["reasons"] == .array([]))
        #expect(value["tier"].text == "secure-enclave")
        #expect(value["checks"].elements.map { $0["name"].text } == ["object", "nonce"])
        #expect(value["checks"].elements.map { $0["result"].text } == ["pass", "skipped"])
        #expect(value["checks"].elements.first?["detail"].text == "12 octets")
        #expect(value["facts"].elements.first?["name"].text == "os_version")
        #expect(value["facts"].elements.first?["value"].text == "26.2")
        #expect(report([]).jsonLine.last == 0x0A)
    }

    @Test func `blocked and rejected both fail, and the worst reason comes first`() throws {
        let blocked = try json(report([.wrongApp]))
        #expect(blocked["verdict"].text == "fail")
        #expect(blocked["outcome"].text == "blocked")
        #expect(blocked["reason"].text == "wrong_app")
        let rejected = try json(report([.wrongApp, .nonceMismatch, .wrongApp]))
        #expect(rejected["outcome"].text == "rejected")
        #expect(rejected["reason"].text == "nonce_mismatch")
        #expect(rejected["reasons"].elements.map(\.text) == ["wrong_app", "nonce_mismatch"])
        #expect(rejected["checks"].elements.last?["detail"].text == "seen \"\u{fc}\"\n")
        let keyless = try json(report([.malformed], hasKey: false))
        #expect(keyless["tier"] == .null)
        #expect(keyless["facts"] == .array([]))
    }

    @Test func `the text for people has one printable line a check`() {
        let text = report([.wrongApp, .nonceMismatch]).text
        #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x0A })
        let lines = text.split(separator: "\n")
        #expect(lines.count == 8)
        #expect(lines.first == "verdict  fail, rejected")
        #expect(lines.dropFirst().first == "reasons  wrong_app, nonce_mismatch")
        #expect(lines.contains { $0.hasPrefix("skipped  nonce") })
        #expect(lines.last?.hasSuffix("26.2") == true)
        #expect(report([]).text.hasPrefix("verdict  pass, human\ntier"))
    }

    @Test(arguments: [
        ("2026-03-01T12:30:00Z", 1_772_368_200 as Int64?), ("1970-01-01T00:00:00Z", 0),
        ("2021-01-23T12:13:35.801Z", 1_611_404_015), ("1969-12-31T23:59:59.999999999Z", -1),
        ("2024-02-29T00:00:00Z", 1_709_164_800), ("2023-02-29T00:00:00Z", nil), ("2026-03-01T12:30:00", nil),
        ("2026-03-01T12:30:00z", nil), ("2026-03-01 12:30:00Z", nil), ("2026-03-01T12:30:00+00:00", nil),
        ("2026-03-01T24:00:00Z", nil), ("2026-03-01T12:60:00Z", nil), ("2026-03-01T12:30:60Z", nil),
        ("2026-03-01T12:30:00.Z", nil), ("2026-03-01T12:30:00,5Z", nil), ("2026-03-01T12:30:00.5xZ", nil),
        ("2026-3-01T12:30:00Z", nil), ("2026-13-01T12:30:00Z", nil), ("2026-00-01T12:30:00Z", nil), ("", nil),
        ("Z", nil),
        ("+026-03-01T12:30:00Z", nil), ("2026-03-01T12:30:00.0000000000Z", nil),
    ])
    func `times are read in one form`(_ text: String, _ seconds: Int64?) {
        #expect(InternetTime.seconds(Array(text.utf8)) == seconds)
    }

    @Test(arguments: [0, -1, 1_772_368_200, 253_402_300_799, -62_135_596_800] as [Int64])
    func `a time that is written reads back`(_ seconds: Int64) {
        #expect(InternetTime.seconds(Array(InternetTime.text(seconds).utf8)) == seconds)
    }

    @Test func `times out of the calendar are written as numbers`() {
        #expect(InternetTime.text(.max) == "9223372036854775807")
        #expect(InternetTime.text(.min) == "-9223372036854775808")
    }
}
