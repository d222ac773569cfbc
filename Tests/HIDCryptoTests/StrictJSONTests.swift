// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct StrictJSONTests {
    private func parse(_ text: String) throws(StrictJSONFault) -> StrictJSON {
        try StrictJSON(Array(text.utf8))
    }

    private func fault(_ text: String) -> StrictJSONFault? {
        do throws(StrictJSONFault) {
            _ = try parse(text)
            return nil
        } catch {
            return error
        }
    }

    private struct SuiteLine: Decodable {
        let name: String
        let rfc8259: String
        let hex: String
    }

    /// The "either" files whose number is a finite Double; cases.md wants all others refused.
    private static let acceptedEither: Set<String> = [
        "i_number_double_huge_neg_exp.json", "i_number_real_underflow.json", "i_number_too_big_neg_int.json",
        "i_number_too_big_pos_int.json", "i_number_very_big_negative_int.json",
    ]

    /// RFC 8259 only says SHOULD; PROTOCOL.md section 3 refuses what can be read in two ways.
    private static let refusedDuplicates: Set<String> = [
        "y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json",
    ]

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `the JSON test suite is accepted and refused as cases.md says`() throws {
        let lines = try Vectors.jsonLines("tokens/json_suite.jsonl", as: SuiteLine.self)
        #expect(lines.count == 316)
        for line in lines {
            let bytes = Vectors.hex(line.hex)
            if Self.refusedDuplicates.contains(line.name) {
                #expect(throws: StrictJSONFault.duplicateMember) { try StrictJSON(bytes) }
                continue
            }
            let isAccepted = (try? StrictJSON(bytes)) != nil
            switch line.rfc8259 {
            case "accept": #expect(isAccepted, "\(line.name)")
            case "reject": #expect(!isAccepted, "\(line.name)")
            default: #expect(isAccepted == Self.acceptedEither.contains(line.name), "\(line.name)")
            }
        }
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"alg":1,"\u0061lg":2}"#, #"{"\u0061":1,"\u0061":2}"#, #"{"x":{"b":[],"c":1,"b":0}}"#,
        #"{"":1,"":2}"#, #"{"é":1,"\u00e9":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#, #"{"a/":1,"a\/":2}"#,
    ])
    func `a member named twice is refused`(_ text: String) {
        #expect(fault(text) == .duplicateMember)
    }

    @Test func `names that are only canonically equivalent are different`() throws {
        let json = try parse("{\"\u{E9}\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}")
        #expect(json.count(of: json.root) == 4)
    }

    @Test(arguments: [
        ("", StrictJSONFault.syntax), ("\u{FEFF}{}", .syntax), ("{} x", .syntax), ("{},", .syntax), ("[1,]", .syntax),
        ("{\"a\":1,}", .syntax), ("{a:1}", .syntax), ("{'a':1}", .syntax), ("[NaN]", .syntax), ("[Infinity]", .syntax),
        ("[01]", .syntax), ("[-]", .syntax), ("[+1]", .syntax), ("[.5]", .syntax), ("[1.]", .syntax), ("[1e]", .syntax),
        ("[0x1]", .syntax), ("// c\n{}", .syntax), ("\"\u{1}\"", .syntax), ("\"\\x\"", .syntax),
        ("\"\\u12g4\"", .syntax),
        ("\"", .syntax), ("\"\\", .syntax), ("\"\\u", .syntax), ("{\"a\"", .syntax), ("{\"a\":", .syntax),
        ("[", .syntax),
        ("tru", .syntax), ("nul", .syntax), ("True", .syntax), ("1 2", .syntax), ("\u{C}1", .syntax),
        ("\"\\ud800\"", .loneSurrogate), ("\"\\udc00\"", .loneSurrogate), ("\"\\ud800\\u0041\"", .loneSurrogate),
        ("\"\\ud800x\"", .loneSurrogate), ("[1e999]", .numberRange), ("[-1e999]", .numberRange),
        (String(repeating: "[", count: 17) + String(repeating: "]", count: 17), .tooDeep),
        (String(repeating: "{\"a\":", count: 17) + "1" + String(repeating: "}", count: 17), .tooDeep),
        (String(repeating: "[", count: 100_000), .tooDeep),
    ])
    func `a text that is no strict JSON is refused`(_ text: String, _ expected: StrictJSONFault) {
        #expect(fault(text) == expected)
    }

    @Test func `16 levels and 64 members are the limit`() {
        #expect(fault(String(repeating: "[", count: 16) + String(repeating: "]", count: 16)) == nil)
        let members = { (count: Int) in "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(fault(members(64)) == nil)
        #expect(fault(members(65)) == .tooManyMembers)
        #expect((try? StrictJSON(Array(members(65).utf8), limits: .init(members: 65))) != nil)
        #expect((try? StrictJSON(Array("[[1]]".utf8), limits: .init(depth: 1))) == nil)
    }

    @Test(arguments: [
        ("0", Int64(0)), ("7", 7), ("-7", -7), ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551616", nil), ("1.0", nil),
        ("1e3", nil), ("-0", nil), ("1e300", nil), ("100000000000000000000", nil), ("\"1\"", nil), ("true", nil),
        ("null", nil),
    ])
    func `only what is written as an integer and fits is one`(_ text: String, _ expected: Int64?) throws {
        let json = try parse(text)
        #expect(json.integer(json.root) == expected)
    }

    @Test func `values are found and unescaped`() throws {
        let json = try parse(
            #" { "a" : "x\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00z" , "\u0062":[1, true,null,{"c":false}], "d":1.5} "#)
        let text = try #require(json.member("a", of: json.root))
        #expect(json.textBytes(text) == Array("x\"\\/\u{8}\u{c}\n\r\té€😀z".utf8))
        let list = try #require(json.member("b", of: json.root))
        let elements = json.elements(of: list)
        #expect(elements.map { json.kind($0) } == [.integer, .true, .null, .object])
        let inner = try #require(json.member("c", of: elements[3]))
        #expect(json.boolean(inner) == false)
        #expect(json.member("c", of: json.root) == nil)
        #expect(json.members(of: json.root).map { Array(json.bytes[$0.name]) } == [[0x61], [0x62], [0x64]])
        let number = try #require(json.member("d", of: json.root))
        #expect(json.numberText(number).map { Array(json.bytes[$0]) } == Array("1.5".utf8))
        #expect(json.integer(number) == nil && json.text(number) == nil && json.boolean(number) == nil)
    }

    @Test func `no cut and no flipped bit traps the reader`() {
        let text = Array(#"{"a":["\u00e9é😀\ud83d\ude00",-1.5e+3,{"b":{}},[[]]],"c":null,"d":true,"e":"\\"}"#.utf8)
        #expect((try? StrictJSON(text)) != nil)
        for count in 0..<text.count { #expect((try? StrictJSON(Array(text.prefix(count)))) == nil) }
        for index in text.indices {
            for bit in 0..<8 {
                var flipped = text
                flipped[index] ^= 1 << bit
                guard let json = try? StrictJSON(flipped) else { continue }
                #expect(json.bytes.count == text.count)
            }
        }
    }
}

@Suite struct StrictJSONManyMembersTests {
    @Test func `a member twice is found on both sides of the border between the two ways to look`() throws {
        let limits = StrictJSON.Limits(depth: 4, members: 1000)
        for count in [2, 63, 64, 65, 66, 200] {
            let names = (0..<count).map { "\"m\($0)\":{\"a\":\($0)}" }
            let good = Array("{\(names.joined(separator: ","))}".utf8)
            #expect(try StrictJSON(good, limits: limits).count(of: StrictJSON(good, limits: limits).root) == count)
            for twice in [0, count / 2, count - 1] {
                let bad = Array("{\(names.joined(separator: ",")),\"\\u006d\(twice)\":0}".utf8)
                #expect(throws: StrictJSONFault.duplicateMember) { try StrictJSON(bad, limits: limits) }
            }
        }
    }
}
