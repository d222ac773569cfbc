// SPDX-License-Identifier: Apache-2.0
package import HIDService

/// How a report reads, for programs and for people.
extension AttestationReport {
    /// Writes the members of a report into an object that is open.
    ///
    /// `verdict` (`pass` only for `human`), `outcome`, `reason`, `reasons`, `tier`, `checks` and `facts`.
    package func append(to line: inout JSONLineWriter) {
        line.string("verdict", verdict)
        line.string("outcome", outcome.rawValue)
        if let reason { line.string("reason", reason.rawValue) } else { line.null("reason") }
        line.beginArray("reasons")
        for reason in reasons { line.element(Array(reason.rawValue.utf8)) }
        line.endArray()
        if let tier { line.string("tier", tier.rawValue) } else { line.null("tier") }
        line.beginArray("checks")
        for check in checks {
            line.beginElement()
            line.constant("name", check.name)
            line.string("result", check.result.rawValue)
            line.string("detail", check.detail)
            line.endObject()
        }
        line.endArray()
        line.beginArray("facts")
        for fact in key?.facts ?? [] {
            line.beginElement()
            line.string("name", fact.name)
            line.string("value", fact.value)
            line.endObject()
        }
        line.endArray()
    }

    /// The report as one line of JSON with its line feed.
    package var jsonLine: [UInt8] {
        var line = JSONLineWriter()
        line.begin()
        append(to: &line)
        line.end()
        return line.bytes
    }

    /// The report as lines for a terminal: printable ASCII and line feeds only.
    package var text: String {
        var lines = ["verdict  \(verdict), \(outcome.rawValue)"]
        if !reasons.isEmpty { lines.append("reasons  " + reasons.map(\.rawValue).joined(separator: ", ")) }
        if let tier { lines.append("tier     \(tier.rawValue)") }
        for check in checks {
            let result = check.result.rawValue.padded(to: 7)
            let name = "\(check.name)".padded(to: check.detail.isEmpty ? 0 : 22)
            lines.append("\(result)  \(name)" + (check.detail.isEmpty ? "" : "  " + check.detail.printable))
        }
        for fact in key?.facts ?? [] {
            lines.append("fact     " + fact.name.padded(to: 22) + "  " + fact.value.printable)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var verdict: String { outcome == .human ? "pass" : "fail" }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - utf8.count))
    }

    /// Printable ASCII; every other octet is a question mark.
    fileprivate var printable: String {
        String(decoding: utf8.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}
