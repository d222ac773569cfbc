// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A file of Tests/Scenarios: a configuration, requests and what must become of them. Its README has the format.
package struct Scenario: Sendable, CustomStringConvertible {
    /// One request and its outcome.
    package struct Step: Sendable, CustomStringConvertible {
        package var line: Int
        package var method: String
        package var target: String
        package var words: [String: String] = [:]
        package var fields: [String] = []
        package var status = 0
        package var decision = ""
        /// nil: none may be given.
        package var reason: String?
        package var match: String?
        package var has: [String] = []
        package var lacks: [String] = []

        package var description: String { "line \(line): \(method) \(target)" }
    }

    package struct Malformed: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package let name: String
    package var mode = "block"
    package var hasKeys = true
    /// The items of `routes`.
    package var rules: [String] = []
    /// Further top-level lines of gateway.yaml.
    package var gateway: [String] = []
    package var steps: [Step] = []

    package var description: String { name }

    /// All scenarios, by name.
    package static let all: [Scenario] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Scenarios").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".scenario") }.sorted().compactMap { name in
            guard let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) else { return nil }
            return try? Scenario(name: String(name.dropLast(9)), text: text)
        }
    }()

    /// How many files there are, read or not.
    package static let fileCount: Int = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Scenarios").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.count { $0.hasSuffix(".scenario") }
    }()

    package init(name: String, text: String) throws {
        self.name = name
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.isEmpty || trimmed.hasPrefix("#") { continue }
            switch trimmed {
            case "rules:", "gateway:", "steps:": section = trimmed
            case "keys: none": hasKeys = false
            case let setting where section.isEmpty && setting.hasPrefix("mode: "): mode = String(setting.dropFirst(6))
            default: try take(String(line), trimmed, in: section, number: index + 1)
            }
        }
        guard !rules.isEmpty, !steps.isEmpty else { throw Malformed(description: "\(name): no rules or no steps") }
    }

    private mutating func take(_ line: String, _ trimmed: String, in section: String, number: Int) throws {
        switch section {
        case "rules:": rules.append(line)
        case "gateway:": gateway.append(String(line.dropFirst(2)))
        case "steps:": try takeStep(trimmed, number)
        default: throw Malformed(description: "\(name):\(number): \(trimmed)")
        }
    }

    private mutating func takeStep(_ text: String, _ number: Int) throws {
        let detail = text.split(separator: " ", maxSplits: 1).map(String.init)
        if let last = steps.indices.last, detail.count == 2, ["send", "has", "lacks"].contains(detail[0]) {
            switch detail[0] {
            case "send": steps[last].fields.append(detail[1])
            case "has": steps[last].has.append(detail[1])
            default: steps[last].lacks.append(detail[1])
            }
            return
        }
        let halves = text.components(separatedBy: " -> ")
        let request = halves[0].split(separator: " ").map(String.init)
        guard halves.count == 2, request.count >= 2 else { throw Malformed(description: "\(name):\(number): \(text)") }
        let outcome = halves[1].split(separator: " ").map(String.init)
        guard outcome.count >= 3, let status = Int(outcome[0]) else {
            throw Malformed(description: "\(name):\(number): \(text)")
        }
        var step = Step(line: number, method: request[0], target: request[1])
        for word in request.dropFirst(2) {
            let sides = word.split(separator: "=", maxSplits: 1).map(String.init)
            step.words[sides[0]] = sides.count == 2 ? sides[1] : ""
        }
        (step.status, step.decision) = (status, outcome[1])
        step.reason = outcome[2] == "-" ? nil : outcome[2]
        step.match = outcome.dropFirst(3).first
        steps.append(step)
    }

    /// The rule file.
    package var rulesText: String { "routes:\n" + rules.joined(separator: "\n") + "\n" }
}
