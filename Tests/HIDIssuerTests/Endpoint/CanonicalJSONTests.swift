// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import Testing

@testable import HIDIssuer

/// The text that a test authority signs: compact, members sorted by the octets of their names.
@Suite struct CanonicalJSONTests {
    private func canonical(_ text: String) throws -> String {
        let document = try StrictJSON(Array(text.utf8))
        var out: [UInt8] = []
        CanonicalJSON.append(document, document.root, to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test(arguments: [
        (#"{}"#, #"{}"#), (#" { } "#, #"{}"#), (#"[ ]"#, #"[]"#), (#"[1 , 2,[ ] ]"#, #"[1,2,[]]"#),
        (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#), (#"{"ab":1,"a":2,"":3}"#, #"{"":3,"a":2,"ab":1}"#),
        (#"{"a":{"d":1,"c":[{"z":1,"y":2}]}}"#, #"{"a":{"c":[{"y":2,"z":1}],"d":1}}"#),
        (#"{"a":true,"b":false,"c":null}"#, #"{"a":true,"b":false,"c":null}"#),
        // Upper case stands before lower case, and ASCII before everything else.
        (#"{"a":1,"B":2,"_":3,"é":4}"#, #"{"B":2,"_":3,"a":1,"é":4}"#),
        // U+FF01 before U+1F600: by octets, not by UTF-16.
        ("{\"\u{1F600}\":1,\"\u{FF01}\":2}", "{\"\u{FF01}\":2,\"\u{1F600}\":1}"),
        // Numbers as they came.
        ("[0,-0,1.0,1.50,1e3,1E+3,-7,12345678901234567890]", "[0,-0,1.0,1.50,1e3,1E+3,-7,12345678901234567890]"),
        // Names are sorted after unescaping, and written with the shortest escapes.
        (#"{"\u0062":1,"a":2}"#, #"{"a":2,"b":1}"#), (#"["\u0041\/\u00e9"]"#, "[\"A/\u{e9}\"]"),
        (#"["\u0000\u0001\u001f"]"#, #"["\u0000\u0001\u001f"]"#),
        (#"["\u0008\u0009\u000a\u000c\u000d"]"#, #"["\b\t\n\f\r"]"#),
        (#"["\"\\\u0022\u005c"]"#, #"["\"\\\"\\"]"#), (#"["\u007f"]"#, "[\"\u{7f}\"]"),
        (#"["\ud83d\ude00"]"#, "[\"\u{1F600}\"]"), ("[\"\u{301}e\u{301}\"]", "[\"\u{301}e\u{301}\"]"),
        (#""text""#, #""text""#), ("7", "7"), ("null", "null"),
    ])
    func `is written in one form`(text: String, expected: String) throws {
        let written = try canonical(text)
        #expect(Array(written.utf8) == Array(expected.utf8))
        #expect(try Array(canonical(written).utf8) == Array(written.utf8))
    }

    @Test func `an object of many members is sorted whatever their order`() throws {
        let names = (0..<60).map { "m\($0 * 37 % 60)" }
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let text = "{" + names.map { "\"\($0)\": \"\($0)\"" }.joined(separator: " , ") + "}"
        #expect(try canonical(text) == "{" + sorted.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}")
    }
}
