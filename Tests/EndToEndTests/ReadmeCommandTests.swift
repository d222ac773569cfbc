// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDGateway
import HIDService
import Testing

/// What the pages tell a reader to type does what they say.
@Suite struct ReadmeCommandTests {
    @Test(.timeLimit(.minutes(10)), arguments: Pages.all)
    func `every command in a shell block works`(_ page: String) throws {
        for line in try Pages.blocks("sh", of: page).flatMap({ $0.split(separator: "\n").map(String.init) }) {
            try check(line, page)
        }
    }

    private func check(_ line: String, _ page: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let arguments = words.dropFirst().map { $0.hasPrefix("/etc/hidgate/") ? String($0.dropFirst()) : $0 }
        switch words[0] {
        case let script where script.hasPrefix("scripts/"):
            #expect(FileManager.default.isExecutableFile(atPath: Pages.root.path + "/" + script), "\(page): \(line)")
            let text = try Pages.text(script)
            for option in arguments where option.hasPrefix("--") { #expect(text.contains(option), "\(page): \(line)") }
        case "hidctl", ".build/release/hidctl": try checkControl(Array(arguments), "\(page): \(line)")
        case ".build/release/hidgated", ".build/release/hisd":
            // Their addresses are fixed, so they are not started here; scripts/demo runs them.
            #expect(arguments.first == "--config" && Pages.exists(arguments[1]), "\(page): \(line)")
            let program = words[0].split(separator: "/").last.map(String.init) ?? ""
            #expect(try Pages.run(program, ["--help"]).output.contains("--config"))
        case "swift": #expect(line == "swift build -c release", "\(page): \(line)")
        case "systemctl":
            #expect(["enable", "reload", "restart"].contains(arguments[0]), "\(page): \(line)")
            for unit in arguments.dropFirst() where unit != "--now" {
                #expect(Pages.exists("systemd/\(unit).service"), "\(page): \(line)")
            }
        default: Issue.record("\(page): no test knows the command \(line)")
        }
    }

    /// Runs what needs no daemon and writes nothing; of the rest verb and options must exist.
    private func checkControl(_ arguments: [String], _ place: String) throws {
        let verb = Array(arguments.prefix { $0.allSatisfy { $0.isLetter } })
        guard ["keys", "device"].contains(verb.first) else {
            let outcome = try Pages.run("hidctl", arguments)
            #expect(outcome.exit == 0, "\(place): \(outcome.output)")
            return
        }
        let help = try Pages.run("hidctl", verb + ["--help"])
        #expect(help.exit == 0 && help.output.hasPrefix("hidctl \(verb.joined(separator: " ")):"), "\(place)")
        for option in arguments where option.hasPrefix("--") {
            #expect(help.output.contains("[\(option)") || help.output.contains(" \(option) "), "\(place): \(option)")
        }
    }

    @Test(arguments: Pages.all)
    func `every verb of hidctl that a page names exists`(_ page: String) throws {
        let verbs = [
            "check", "routes test", "token inspect", "device simulate", "attest explain", "keys list", "keys rotate",
        ]
        let help = try Pages.run("hidctl", ["--help"]).output
        for verb in verbs { #expect(help.contains(verb)) }
        for text in Pages.quoted(try Pages.text(page)) where text.hasPrefix("hidctl ") {
            let rest = text.dropFirst("hidctl ".count)
            #expect(verbs.contains { rest.hasPrefix($0) }, "\(page): \(text)")
        }
    }

    @Test(arguments: Pages.all)
    func `every link leads to a file of this repository`(_ page: String) throws {
        let folder = page.split(separator: "/").dropLast().joined(separator: "/")
        for part in try Pages.text(page).components(separatedBy: "](").dropFirst() {
            let target = String(part.prefix { $0 != ")" })
            guard !target.hasPrefix("https://") else { continue }
            #expect(Pages.exists(folder.isEmpty ? target : folder + "/" + target), "\(page): \(target)")
        }
    }

    @Test func `every path in the readme's table of folders exists`() throws {
        let rows = try Pages.rows(under: "Folder", of: "README.md")
        let folders = rows.flatMap { $0[0].components(separatedBy: ", ") }
        #expect(folders.count >= 8)
        for folder in folders { #expect(Pages.exists(folder), "\(folder)") }
    }

    @Test func `the readme and the guide for contributors are short`() throws {
        #expect(try Pages.lines("README.md").count <= 151)
        #expect(try Pages.lines(".github/CONTRIBUTING.md").count <= 101)
        for page in Pages.all where !page.hasPrefix("Sources/") {
            for line in try Pages.lines(page) where !line.hasPrefix("|") {
                #expect(line.count <= 120, "\(page): \(line)")
            }
        }
    }

    // MARK: Samples

    @Test func `the readme's rule is accepted beside the smallest configuration`() throws {
        let pair = try Pages.blocks("yaml", of: Pages.gateway + "Configuration.md")
        let rules = try Pages.blocks("yaml", of: "README.md")
        #expect(pair.count == 2 && rules.count == 1)
        for rule in rules + pair.dropFirst() {
            let found = try load(pair[0], rules: rule)
            #expect(found.1 == "")
            #expect(found.0?.routes.count == 1)
            #expect(found.0?.routes.first?.isCritical == true)
        }
    }

    @Test func `the sample under etc is accepted without a warning`() {
        let (configuration, diagnostics) = GatewayConfiguration.load(
            path: Pages.root.path + "/etc/hidgate/gateway.yaml")
        #expect(configuration != nil)
        #expect(diagnostics.rendered == "")
    }

    private func load(_ gateway: String, rules: String) throws -> (GatewayConfiguration?, String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hid-pages-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try gateway.write(to: folder.appendingPathComponent("gateway.yaml"), atomically: false, encoding: .utf8)
        try rules.write(to: folder.appendingPathComponent("rules.yaml"), atomically: false, encoding: .utf8)
        let (configuration, diagnostics) = GatewayConfiguration.load(path: folder.path + "/gateway.yaml")
        return (configuration, diagnostics.rendered)
    }
}
