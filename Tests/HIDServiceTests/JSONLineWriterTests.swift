// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct JSONLineWriterTests {
    private func line(_ body: (inout JSONLineWriter) -> Void) -> String {
        var writer = JSONLineWriter()
        writer.begin()
        body(&writer)
        writer.end()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `all kinds of values`() {
        let text = line {
            $0.time("time", millisecondsSince1970: 1_772_368_200_250)
            $0.string("bytes", [0x61, 0x62])
            $0.string("slice", ([0x61, 0x62, 0x63] as [UInt8])[1...])
            $0.string("text", "x")
            $0.constant("constant", "y")
            $0.string("empty", "")
            $0.integer("int", -42)
            $0.integer("least", Int64.min)
            $0.integer("zero", UInt8(0))
            $0.bool("yes", true)
            $0.bool("no", false)
            $0.null("null")
            $0.double("double", 0.5)
            $0.double("endless", .infinity)
            $0.beginObject("ms")
            $0.milliseconds("total", nanoseconds: 12_345_678)
            $0.milliseconds("verify", nanoseconds: 56_000)
            $0.endObject()
            $0.beginObject("none")
            $0.endObject()
            $0.beginArray("list")
            $0.element([0x61])
            $0.element([0x0A])
            $0.endArray()
            $0.integer("last", 1)
        }
        let expected =
            #"{"time":"2026-03-01T12:30:00.250Z","bytes":"ab","slice":"bc","text":"x","constant":"y","#
            + #""empty":"","int":-42,"least":-9223372036854775808,"zero":0,"yes":true,"no":false,"null":null,"#
            + #""double":0.5,"endless":null,"ms":{"total":12.345,"verify":0.056},"none":{},"#
            + #""list":["a","\u000a"],"last":1}"# + "\n"
        #expect(text == expected)
    }

    struct Escape: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var escaped: String

        init(_ name: String, _ bytes: [UInt8], _ escaped: String) {
            (testDescription, self.bytes, self.escaped) = (name, bytes, escaped)
        }
    }

    static let escapes = [
        Escape(
            "a forged line", Array("a\r\n{\"event\":\"x\"}".utf8), #"a\u000d\u000a{\u0022event\u0022:\u0022x\u0022}"#),
        Escape("a quote at the end", Array("a\"".utf8), #"a\u0022"#),
        Escape("a backslash", Array("\\\"".utf8), #"\u005c\u0022"#),
        Escape("NUL and the other controls", [0x00, 0x08, 0x09, 0x1F, 0x7F], #"\u0000\u0008\u0009\u001f\u007f"#),
        Escape("an escape sequence of a terminal", [0x1B, 0x5B, 0x32, 0x4A], #"\u001b[2J"#),
        Escape("two octets", Array("\u{E9}".utf8), #"\u00e9"#),
        Escape("three octets", Array("\u{20AC}".utf8), #"\u20ac"#),
        Escape("a line separator", Array("\u{2028}".utf8), #"\u2028"#),
        Escape("four octets make a pair", Array("\u{1F600}".utf8), #"\ud83d\ude00"#),
        Escape("the last code point", Array("\u{10FFFF}".utf8), #"\udbff\udfff"#),
        Escape("lone octets", [0x80, 0x61, 0xFF], #"\u0080a\u00ff"#),
        Escape("an overlong line feed", [0xC0, 0x8A], #"\u00c0\u008a"#),
        Escape("a surrogate", [0xED, 0xA0, 0x80], #"\u00ed\u00a0\u0080"#),
        Escape("a cut sequence", [0x61, 0xF0, 0x9F, 0x98], #"a\u00f0\u009f\u0098"#),
        Escape("a cut sequence before a quote", [0xE2, 0x82, 0x22], #"\u00e2\u0082\u0022"#),
    ]

    @Test(arguments: escapes) func `no octet can end a text or a line`(row: Escape) {
        #expect(line { $0.string("k", row.bytes) } == "{\"k\":\"\(row.escaped)\"}\n")
    }

    @Test func `every octet and every pair of octets gives one line of printable ASCII`() {
        var writer = JSONLineWriter()
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                writer.begin()
                writer.string("k", [first, second])
                writer.end()
                let text = writer.bytes.dropLast()
                let isClean = text.allSatisfy { (0x20...0x7E).contains($0) } && text.count { $0 == 0x22 } == 4
                guard isClean, writer.bytes.last == 0x0A else {
                    Issue.record("\(first) \(second)")
                    return
                }
            }
        }
    }

    @Test func `begin forgets the line before`() {
        var writer = JSONLineWriter()
        writer.begin()
        writer.beginObject("open")
        writer.integer("a", 1)
        writer.begin()
        writer.integer("b", 2)
        writer.end()
        #expect(writer.bytes == Array("{\"b\":2}\n".utf8))
    }

    static let times: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_827_696_007, "2000-02-29T12:34:56.007Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (1_798_761_599_000, "2026-12-31T23:59:59.000Z"), (-2_208_988_800_000, "1900-01-01T00:00:00.000Z"),
    ]

    @Test(arguments: times) func `times are RFC 3339 in UTC`(milliseconds: Int64, expected: String) {
        var bytes: [UInt8] = []
        var writer = TimestampWriter()
        writer.append(millisecondsSince1970: milliseconds, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        writer.append(millisecondsSince1970: milliseconds + 1000, to: &bytes)
        writer.append(millisecondsSince1970: milliseconds, to: &bytes)
        #expect(String(decoding: bytes.suffix(24), as: UTF8.self) == expected)
    }

    @Test(arguments: [Int64.min, Int64.max]) func `no time traps`(milliseconds: Int64) {
        var bytes: [UInt8] = []
        var writer = TimestampWriter()
        writer.append(millisecondsSince1970: milliseconds, to: &bytes)
        #expect(bytes.count == 24)
    }
}
