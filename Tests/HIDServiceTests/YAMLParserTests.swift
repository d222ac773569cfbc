// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct YAMLParserTests {
    private func parse(_ text: String, limits: YAMLLimits = YAMLLimits()) -> (node: YAMLNode?, faults: String) {
        parse(Array(text.utf8), limits: limits)
    }

    private func parse(_ bytes: [UInt8], limits: YAMLLimits = YAMLLimits()) -> (node: YAMLNode?, faults: String) {
        let reporter = Reporter()
        let node = YAMLParser.parse(bytes, file: "f", limits: limits, reporter: reporter)
        return (node, reporter.diagnostics.rendered)
    }

    private func scalar(_ text: String, _ style: YAMLNode.Style, _ line: Int, _ column: Int) -> YAMLNode {
        YAMLNode(content: .scalar(text: text, style: style), mark: Mark(file: "f", line: line, column: column))
    }

    @Test func `nodes know where they start, counted from 1`() throws {
        let (node, faults) = parse("a: b\nlist:\n  - 'no'\n  - no\n")
        #expect(faults == "")
        guard case .mapping(let entries) = try #require(node).content else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries.map(\.key) == ["a", "list"])
        #expect(entries.map(\.keyMark.line) == [1, 2])
        #expect(entries[0].value == scalar("b", .plain, 1, 4))
        #expect(entries[1].value.content == .sequence([scalar("no", .quoted, 3, 5), scalar("no", .plain, 4, 5)]))
        #expect(entries[1].value.mark == Mark(file: "f", line: 3, column: 3))
    }

    @Test func `columns are characters, not octets`() throws {
        let (node, _) = parse("\"\u{E9}\u{1F600}\": b\n")
        guard case .mapping(let entries) = try #require(node).content else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries[0].value.mark.column == 7)
    }

    @Test func `null is an empty plain scalar, a tilde or the word, never a quoted one`() throws {
        for (text, expected) in [
            ("", true), ("~", true), ("null", true), ("''", false), ("'null'", false), ("NULL", false),
        ] {
            let (node, _) = parse("a: \(text)\n")
            guard case .mapping(let entries) = try #require(node).content else {
                Issue.record("not a mapping")
                continue
            }
            #expect(entries[0].value.isNull == expected, "\(text)")
        }
    }

    @Test func `a file may be as long as its limit and no longer`() {
        var limits = YAMLLimits()
        limits.bytes = 8
        #expect(parse("a: bcdef", limits: limits).node != nil)
        let (node, faults) = parse("a: bcdefg", limits: limits)
        #expect(node == nil)
        #expect(faults == "f:1:1: error: the file is longer than 8 octets\n")
    }

    @Test func `a file of more than 1 MiB is refused before it is read`() {
        let (node, faults) = parse([UInt8](repeating: 0x61, count: 1 << 20 | 1))
        #expect(node == nil)
        #expect(faults == "f:1:1: error: the file is longer than 1048576 octets\n")
    }

    @Test func `32 levels are accepted and 33 are not`() {
        #expect(parse(String(repeating: "[", count: 31) + "x" + String(repeating: "]", count: 31)).node != nil)
        let (node, faults) = parse(String(repeating: "[", count: 32) + "x" + String(repeating: "]", count: 32))
        #expect(node == nil)
        #expect(faults.hasPrefix("f:1:33: error: nested deeper than 32 levels\n"))
    }

    @Test(.timeLimit(.minutes(10))) func `a megabyte of brackets is refused at once`() {
        let (node, faults) = parse([UInt8](repeating: 0x5B, count: 1 << 20))
        #expect(node == nil)
        #expect(faults.hasPrefix("f:1:33: error: nested deeper than 32 levels\n"))
    }

    @Test func `a bomb of aliases is refused at its first alias`() {
        let bomb = "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\n"
        let (node, faults) = parse(bomb)
        #expect(node == nil)
        #expect(faults.contains("f:2:8: error: aliases are not accepted\n"))
    }

    struct Invalid: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var column: Int
    }

    static let invalid = [
        Invalid(testDescription: "a lone continuation octet", bytes: [0x61, 0x80], column: 2),
        Invalid(testDescription: "an overlong slash", bytes: [0xC0, 0xAF], column: 1),
        Invalid(testDescription: "an overlong form of three octets", bytes: [0xE0, 0x80, 0xAF], column: 1),
        Invalid(testDescription: "a surrogate", bytes: [0x61, 0x62, 0xED, 0xA0, 0x80], column: 3),
        Invalid(testDescription: "beyond U+10FFFF", bytes: [0xF4, 0x90, 0x80, 0x80], column: 1),
        Invalid(testDescription: "a cut sequence", bytes: [0x61, 0xE2, 0x82], column: 2),
        Invalid(testDescription: "UTF-16 with its mark", bytes: [0xFF, 0xFE, 0x61, 0x00], column: 1),
        Invalid(
            testDescription: "Latin-1 after a character of two octets", bytes: [0xC3, 0xA9, 0xE9, 0x0A], column: 2),
    ]

    @Test(arguments: invalid) func `what is not UTF-8 is refused where it starts`(row: Invalid) {
        let (node, faults) = parse([0x23, 0x0A] + row.bytes)
        #expect(node == nil)
        #expect(faults.hasPrefix("f:2:\(row.column): error: not UTF-8\n"))
    }

    @Test func `a NUL is refused`() {
        let (node, faults) = parse([0x61, 0x3A, 0x20, 0x00, 0x62])
        #expect(node == nil)
        #expect(faults == "f:1:4: error: control characters are not allowed\na: ?b\n   ^\n")
    }

    @Test func `each duplicate key is reported and the first one counts`() throws {
        let (node, faults) = parse("a: 1\n'a': 2\na: 3\n")
        guard case .mapping(let entries) = try #require(node).content else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries.map(\.value) == [scalar("1", .plain, 1, 4)])
        let expected = """
            f:2:1: error: duplicate key 'a', first on line 1
            'a': 2
            ^
            f:3:1: error: duplicate key 'a', first on line 1
            a: 3
            ^

            """
        #expect(faults == expected)
    }

    @Test(arguments: 0..<200) func `cut and broken texts never crash`(seed: Int) {
        let text = Array(
            "a: {b: [c, 'd', \"e\\n\"], &x f: !t *x}\n- |\n  g\n? [h]\n: i\n%YAML 1.1\n---\n...\n\u{E9}\t\0".utf8)
        var random = SplitMix(state: UInt64(seed))
        var bytes = text
        for _ in 0..<Int.random(in: 1...20, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            bytes[index] = text[Int.random(in: 0..<text.count, using: &random)]
        }
        let (node, faults) = parse(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
        #expect(node != nil || faults.contains(": error: "))
    }
}

/// A small generator of repeatable numbers.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
