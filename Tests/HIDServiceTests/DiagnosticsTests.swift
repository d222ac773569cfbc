// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct DiagnosticsTests {
    @Test func `faults are sorted by file, line and column and stay in order at one place`() {
        let reporter = Reporter()
        reporter.error("six", at: Mark(file: "b", line: 1, column: 1))
        reporter.error("three", at: Mark(file: "a", line: 2, column: 10))
        reporter.warning("two", at: Mark(file: "a", line: 2, column: 9))
        reporter.error("five", at: Mark(file: "a", line: 10, column: 1))
        reporter.error("one", at: Mark(file: "a", line: 1, column: 3))
        reporter.error("four", at: Mark(file: "a", line: 2, column: 10))
        let expected = """
            a:1:3: error: one
            a:2:9: warning: two
            a:2:10: error: three
            a:2:10: error: four
            a:10:1: error: five
            b:1:1: error: six

            """
        #expect(reporter.diagnostics.rendered == expected)
        #expect(reporter.diagnostics.errorCount == 5)
        #expect(reporter.diagnostics.warningCount == 1)
    }

    @Test func `the caret line repeats the tabs before the caret`() {
        let reporter = Reporter()
        reporter.addSource(file: "f", bytes: Array("a\n\tb:\tc\r\n".utf8))
        reporter.error("x", at: Mark(file: "f", line: 2, column: 5))
        #expect(reporter.diagnostics.rendered == "f:2:5: error: x\n\tb:\tc\n\t  \t^\n")
    }

    @Test func `a caret may stand behind the last character and a line may be missing`() {
        let reporter = Reporter()
        reporter.addSource(file: "f", bytes: Array("ab\n".utf8))
        reporter.error("x", at: Mark(file: "f", line: 1, column: 9))
        reporter.error("y", at: Mark(file: "f", line: 7, column: 1))
        #expect(reporter.diagnostics.rendered == "f:1:9: error: x\nab\n  ^\nf:7:1: error: y\n")
    }

    @Test func `a source line cannot steer the terminal`() {
        let reporter = Reporter()
        reporter.addSource(file: "f", bytes: Array("a\u{1B}[2J\u{202E}b\u{7F}\n".utf8))
        reporter.error("unknown key \("k\u{1B}[2J".quoted)", at: Mark(file: "f", line: 1, column: 1))
        #expect(reporter.diagnostics.rendered == "f:1:1: error: unknown key 'k?[2J'\na?[2J?b?\n^\n")
    }

    @Test func `a quoted text is cut after 80 characters`() {
        #expect(String(repeating: "x", count: 81).quoted == "'" + String(repeating: "x", count: 80) + "...'")
        #expect(String(repeating: "x", count: 80).quoted == "'" + String(repeating: "x", count: 80) + "'")
    }

    @Test(arguments: [
        ("methd", "methods"), ("metohds", "methods"), ("METHODS", "methods"), ("pth", "path"), ("hots", "host"),
        ("ost", "host"),
    ])
    func `a mistyped name finds the one that was meant`(typed: String, meant: String) {
        #expect(NearestName.of(typed, in: ["host", "path", "methods"]) == meant)
    }

    @Test(arguments: ["", "x", "frobnicate", "mthd", "ab"])
    func `a name far from all gets no hint`(typed: String) {
        #expect(NearestName.of(typed, in: ["host", "path", "methods"]) == nil)
    }
}
