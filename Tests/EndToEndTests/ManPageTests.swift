// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// The manual pages name every verb and option that there is, and no other.
@Suite struct ManPageTests {
    static let pages = ["man/hidgated.8", "man/hisd.8", "man/hidctl.1"]
    static let groff = URL(fileURLWithPath: "/usr/bin/groff")

    /// The long options in a text, by a pattern whose first capture is the name.
    private func options(_ text: String, _ pattern: Regex<(Substring, Substring)>) -> Set<String> {
        Set(text.matches(of: pattern).map { String($0.output.1) })
    }

    private func described(_ text: String) -> Set<String> {
        options(text, /Fl Fl ([a-z-]+)/)
    }

    private func known(_ program: String, _ arguments: [String]) throws -> Set<String> {
        let help = try Pages.run(program, arguments + ["--help"])
        #expect(help.exit == 0)
        return options(help.output, /--([a-z][a-z-]*)/)
    }

    @Test(arguments: ["hidgated", "hisd"])
    func `the page of a daemon has its options`(_ daemon: String) throws {
        #expect(described(try Pages.text("man/\(daemon).8")) == (try known(daemon, [])).union(["help"]))
    }

    @Test func `the page of hidctl has a section for each verb with all of its options`() throws {
        let help = try Pages.run("hidctl", ["--help"]).output
        let verbs = help.split(separator: "\n").drop { $0 != "verbs:" }.dropFirst()
            .prefix { $0 != "options:" }
            .compactMap { $0.firstMatch(of: /^  ([a-z]+(?: [a-z]+)?)(?: [A-Z\[-]|  |$)/).map { String($0.output.1) } }
        #expect(verbs.count >= 7)
        let parts = try Pages.text("man/hidctl.1").components(separatedBy: "\n.Ss ").dropFirst()
        let sections = parts.map { part in
            (verb: String(part.prefix { $0 != "\n" }).components(separatedBy: " Ar ")[0], text: part)
        }
        #expect(sections.map(\.verb).sorted() == verbs.sorted())
        for section in sections {
            let expected = try known("hidctl", section.verb.split(separator: " ").map(String.init))
            let everywhere: Set<String> = ["json", "help"]
            var found = described(section.text.components(separatedBy: "\n.Sh ")[0])
            if section.verb == "keys list" {
                // Said once for both verbs.
                found.formUnion(described(try Pages.text("man/hidctl.1").components(separatedBy: "Both verbs find")[1]))
            }
            #expect(found.union(everywhere) == expected.union(everywhere), "\(section.verb)")
        }
    }

    @Test(arguments: pages)
    func `a page names its program, its exit codes and only files that a unit or sample has`(_ page: String) throws {
        let text = try Pages.text(page)
        let name = try #require(page.split(separator: "/").last?.split(separator: ".").first)
        #expect(text.contains(".Nm \(name)\n") && text.contains(".Sh EXIT STATUS"))
        for line in text.components(separatedBy: "\n") { #expect(line.count <= 120, "\(page): \(line)") }
        for match in text.matches(of: /Pa \/(etc\/hidgate\/[a-z.\/]+)/) {
            #expect(Pages.exists(String(match.output.1)), "\(match.output.1)")
        }
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: groff.path), "groff is not installed"),
        arguments: pages)
    func `a page is formatted without a warning`(_ page: String) throws {
        let outcome = try Pages.run(executable: Self.groff, ["-mandoc", "-ww", "-Tutf8", "-z", page])
        #expect(outcome.exit == 0 && outcome.output == "")
    }
}
