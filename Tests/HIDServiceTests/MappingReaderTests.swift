// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct MappingReaderTests {
    private enum Colour: String, CaseIterable {
        case red
        case green
    }

    private func read(_ text: String, _ body: (MappingReader) -> Void) -> String {
        let reporter = Reporter()
        if let root = YAMLParser.parse(Array(text.utf8), file: "f", reporter: reporter) {
            ConfigurationValue(root, name: "", reporter: reporter).mapping(body)
        }
        return reporter.diagnostics.sorted.map { "\($0.mark.line):\($0.mark.column) \($0.message)" }
            .joined(separator: "\n")
    }

    @Test func `a fault leaves the default and the reader goes on`() {
        var (count, size) = (5, 7)
        let faults = read("count: x\nsize: 2KiB\ncolour: gren\nwhere: [a]\nflag: no\n") { map in
            count = map.value("count")?.integer(in: 1...10) ?? count
            size = map.value("size")?.size(in: 0...4096) ?? size
            _ = map.value("colour")?.word(Colour.self)
            _ = map.value("where")?.address()
            _ = map.value("flag")?.bool()
        }
        #expect((count, size) == (5, 2048))
        let expected = """
            1:8 'count' must be a whole number from 1 to 10, not 'x'
            3:9 'colour' must be red or green, not 'gren', did you mean 'green'?
            4:8 'where' must be an address like 127.0.0.1:8080 or unix:/path, not a list
            5:7 'flag' must be true or false, not 'no'
            """
        #expect(faults == expected)
    }

    @Test func `keys nobody asked for are unknown, those asked for and absent are hints`() {
        let faults = read("optoin: 1\nother: 2\nlater: 3\n") { map in
            #expect(map.value("option") == nil)
            #expect(map.required("needed") == nil)
            map.notAvailable("later", "even_later")
        }
        let expected = """
            1:1 missing key 'needed'
            1:1 unknown key 'optoin', did you mean 'option'?
            2:1 unknown key 'other'
            3:1 'later' is not available in this version
            """
        #expect(faults == expected)
    }

    @Test func `ranges of sizes and durations are inclusive`() {
        let faults = read("a: 10s\nb: 11s\nc: 10\nd: 11\n") { map in
            #expect(map.value("a")?.duration(in: .seconds(1) ... .seconds(10)) == .seconds(10))
            #expect(map.value("b")?.duration(in: .seconds(1) ... .seconds(10)) == nil)
            #expect(map.value("c")?.size(in: 0...10) == 10)
            #expect(map.value("d")?.size(in: 0...10) == nil)
        }
        #expect(
            faults == "2:4 'b' must be a duration from 1s to 10s, not '11s'\n"
                + "4:4 'd' must be a size from 0 to 10 octets, not '11'")
    }

    @Test func `rates and text`() {
        let faults = read("a: 50/s\nb: fast\nc: \"x\\u0085y\"\n") { map in
            #expect(map.value("a")?.rate() == Rate(count: 50, per: .seconds(1)))
            #expect(map.value("b")?.rate() == nil)
            #expect(map.value("c")?.string() == nil)
        }
        #expect(
            faults == "2:4 'b' must be a rate like 50/s, 10/m or 5/h, not 'fast'\n"
                + "3:4 'c' must be text without control characters, not 'x?y'")
    }
}
