// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct CBORTests {
    /// RFC 8949 appendix A, unsigned and negative integers.
    @Test(arguments: [
        ("00", UInt64(0)), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100),
        ("1903e8", 1000), ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000),
        ("1bffffffffffffffff", .max),
    ])
    func `unsigned integers of RFC 8949 appendix A`(_ hex: String, _ value: UInt64) throws {
        let item = try CBOR(Vectors.hex(hex))
        #expect(item.unsigned(item.root) == value)
        #expect(item.integer(item.root) == Int64(exactly: value))
        #expect(CBORValue.unsigned(value).encoded == Vectors.hex(hex))
    }

    @Test(arguments: [
        ("20", Int64(-1)), ("29", -10), ("3863", -100), ("3903e7", -1000), ("3b7fffffffffffffff", .min),
        ("3bffffffffffffffff", nil),
    ])
    func `negative integers of RFC 8949 appendix A`(_ hex: String, _ value: Int64?) throws {
        let item = try CBOR(Vectors.hex(hex))
        #expect(item.kind(item.root) == .negative)
        #expect(item.integer(item.root) == value)
        #expect(item.unsigned(item.root) == nil)
    }

    @Test(arguments: [
        ("f90000", 0.0), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1), ("f93e00", 1.5), ("f97bff", 65504.0),
        ("fa47c35000", 100000.0), ("fa7f7fffff", 3.4028234663852886e+38), ("fb7e37e43c8800759c", 1.0e+300),
        ("f90001", 5.960464477539063e-8), ("f90400", 0.00006103515625), ("f9c400", -4.0),
        ("fbc010666666666666", -4.1), ("f97c00", .infinity), ("f9fc00", -.infinity), ("fa7f800000", .infinity),
        ("faff800000", -.infinity), ("fb7ff0000000000000", .infinity), ("fbfff0000000000000", -.infinity),
    ])
    func `floats of RFC 8949 appendix A`(_ hex: String, _ value: Double) throws {
        let item = try CBOR(Vectors.hex(hex))
        #expect(item.float(item.root) == value)
        #expect(item.unsigned(item.root) == nil)
    }

    @Test(arguments: ["f97e00", "fa7fc00000", "fb7ff8000000000000"])
    func `NaN of RFC 8949 appendix A`(_ hex: String) throws {
        let item = try CBOR(Vectors.hex(hex))
        #expect(item.float(item.root)?.isNaN == true)
    }

    @Test(arguments: [("f4", UInt8(20)), ("f5", 21), ("f6", 22), ("f7", 23), ("f0", 16), ("f8ff", 255), ("f820", 32)])
    func `simple values of RFC 8949 appendix A`(_ hex: String, _ value: UInt8) throws {
        let item = try CBOR(Vectors.hex(hex))
        #expect(item.simple(item.root) == value)
    }

    @Test(arguments: [
        ("60", ""), ("6161", "a"), ("6449455446", "IETF"), ("62225c", "\"\\"), ("62c3bc", "\u{fc}"),
        ("63e6b0b4", "\u{6c34}"), ("64f0908591", "\u{10151}"),
    ])
    func `text strings of RFC 8949 appendix A`(_ hex: String, _ text: String) throws {
        let item = try CBOR(Vectors.hex(hex))
        let range = try #require(item.text(item.root))
        #expect(Array(item.bytes[range]) == Array(text.utf8))
        #expect(item.octets(item.root) == nil)
    }

    @Test func `byte strings, tags, arrays and maps of RFC 8949 appendix A`() throws {
        #expect(try octets("40") == [])
        #expect(try octets("4401020304") == [1, 2, 3, 4])
        for (hex, tag) in [("c11a514b67b0", UInt64(1)), ("d74401020304", 23), ("d818456449455446", 24)] {
            let item = try CBOR(Vectors.hex(hex))
            #expect(item.tagged(item.root)?.tag == tag)
        }
        for hex in ["c074323031332d30332d32315432303a30343a30305a", "c1fb41d452d9ec200000", "c249010000000000000000"] {
            _ = try CBOR(Vectors.hex(hex))
        }
        for hex in ["80", "83010203", "8301820203820405", "98190102030405060708090a0b0c0d0e0f101112131415161718181819"]
        {
            let item = try CBOR(Vectors.hex(hex))
            let last = try #require(item.elements(of: item.root))
            #expect([0, 3, 25].contains(last.count))
        }
        for hex in [
            "a0", "a201020304", "a26161016162820203", "826161a161626163",
            "a56161614161626142616361436164614461656145",
        ] {
            _ = try CBOR(Vectors.hex(hex))
        }
    }

    @Test func `a map finds its values by text and by integer`() throws {
        let item = try CBOR(Vectors.hex("a4616101616282020301022003"))
        let root = item.root
        let first = try #require(item.value(of: root, "a"))
        #expect(item.unsigned(first) == 1)
        let list = try #require(item.value(of: root, "b"))
        #expect(item.elements(of: list)?.compactMap { item.unsigned($0) } == [2, 3])
        #expect(item.encoding(list) == 6..<9)
        let one = try #require(item.value(of: root, 1))
        #expect(item.unsigned(one) == 2)
        let minus = try #require(item.value(of: root, -1))
        #expect(item.unsigned(minus) == 3)
        #expect(item.value(of: root, "c") == nil)
        #expect(item.value(of: list, "a") == nil)
        #expect(item.entries(of: list) == nil)
        #expect(item.elements(of: root) == nil)
    }

    @Test(arguments: [
        ("", CBORFault.truncated), ("5f42010243030405ff", .indefiniteLength),
        ("7f657374726561646d696e67ff", .indefiniteLength),
        ("9fff", .indefiniteLength), ("bf61610161629f0203ffff", .indefiniteLength), ("ff", .indefiniteLength),
        ("1800", .notShortest), ("1817", .notShortest), ("190000", .notShortest), ("1900ff", .notShortest),
        ("1a0000ffff", .notShortest), ("1b00000000ffffffff", .notShortest), ("5801aa", .notShortest),
        ("9801f6", .notShortest), ("b8010102", .notShortest), ("d80101", .notShortest), ("1c", .malformed),
        ("1d", .malformed), ("1e", .malformed), ("fc", .malformed), ("f800", .malformed), ("f81f", .malformed),
        ("f818", .malformed), ("61ff", .invalidText), ("62c080", .invalidText), ("63eda080", .invalidText),
        ("64f4908080", .invalidText), ("a1f400", .keyKind), ("a1800000", .keyKind), ("a1f9000000", .keyKind),
        ("a1c00000", .keyKind), ("a201020103", .duplicateKey), ("a2616101616102", .duplicateKey),
        ("a2410101410102", .duplicateKey), ("a220012002", .duplicateKey), ("0000", .trailingOctets),
        ("a000", .trailingOctets), ("8181818181", .tooDeep), ("c1c1c1c1c100", .tooDeep),
        ("a100a100a100a100a100a0", .tooDeep),
        ("9bffffffffffffffff", .truncated), ("bbffffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated),
        ("7b7fffffffffffffff", .truncated), ("a10", .truncated), ("bb8000000000000000", .truncated),
    ])
    func `what is not strict is refused`(_ hex: String, _ fault: CBORFault) {
        #expect(throws: fault) { try CBOR(Vectors.hex(hex)) }
    }

    @Test func `keys of different kinds with the same content are different keys`() throws {
        let item = try CBOR(Vectors.hex("a3616100416101000a"))
        #expect(item.entries(of: item.root)?.count == 3)
    }

    @Test func `one item ends where it says and the next can be read`() throws {
        let bytes = Vectors.hex("00a10102820304ff")
        let first = try CBOR(prefixOf: bytes)
        #expect(first.end == 1)
        let second = try CBOR(prefixOf: bytes, from: first.end)
        #expect(second.end == 4)
        let third = try CBOR(prefixOf: bytes, from: second.end)
        #expect(third.end == 7)
        #expect(third.encoding(third.root) == 4..<7)
        #expect(throws: CBORFault.indefiniteLength) { try CBOR(prefixOf: bytes, from: third.end) }
        #expect(throws: CBORFault.truncated) { try CBOR(prefixOf: bytes, from: 8) }
        #expect(throws: CBORFault.truncated) { try CBOR(prefixOf: bytes, from: 9) }
        #expect(throws: CBORFault.truncated) { try CBOR(prefixOf: bytes, from: -1) }
    }

    @Test func `limits hold at their borders`() throws {
        let list = CBORValue.array(Array(repeating: .unsigned(0), count: 9)).encoded
        _ = try CBOR(list, limits: .init(items: 10, octets: 10))
        #expect(throws: CBORFault.tooManyItems) { try CBOR(list, limits: .init(items: 9)) }
        #expect(throws: CBORFault.tooLong) { try CBOR(list, limits: .init(octets: 9)) }
        _ = try CBOR(Vectors.hex("8181818100"))
        let deep = [UInt8](repeating: 0x81, count: 64) + [0]
        _ = try CBOR(deep, limits: .init(depth: 64))
        // The bound of the recursion itself cannot be lifted.
        let deeper = [UInt8](repeating: 0x81, count: 100_000) + [0]
        #expect(throws: CBORFault.tooDeep) {
            try CBOR(deeper, limits: .init(depth: .max, items: .max, octets: .max))
        }
    }

    @Test func `a map of very many keys is read in one pass`() throws {
        let count = 60_000
        let pairs = (0..<count).map { (CBORValue.unsigned(UInt64($0)), CBORValue.unsigned(0)) }
        let bytes = CBORValue.map(pairs).encoded
        let item = try CBOR(bytes, limits: .init(items: .max, octets: .max))
        #expect(item.entries(of: item.root)?.count == count)
    }

    private func octets(_ hex: String) throws -> [UInt8]? {
        let item = try CBOR(Vectors.hex(hex))
        return item.octetArray(item.root)
    }
}

@Suite struct CBORFuzzTests {
    private static let sample = CBORValue.map([
        (.text("fmt"), .text("apple")), (.text("list"), .array([.bytes([1, 2, 3]), .negative(7), .unsigned(70_000)])),
        (.unsigned(5), .map([(.bytes([9]), .tag(32, .text("x"))), (.negative(0), .raw([0xF5]))])),
        (.negative(300), .raw([0xFB, 1, 2, 3, 4, 5, 6, 7, 8])),
    ]).encoded

    @Test func `a truncation at any length is told as one`() {
        for length in 0..<Self.sample.count {
            #expect(throws: CBORFault.truncated) { try CBOR(Array(Self.sample.prefix(length))) }
        }
    }

    @Test func `every change of one octet is read or refused`() {
        for index in Self.sample.indices {
            for value in UInt8.min...UInt8.max {
                var changed = Self.sample
                changed[index] = value
                if let item = try? CBOR(changed) { walk(item, item.root) }
            }
        }
    }

    @Test func `random octets are read or refused`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in UInt8.random(in: 0...255) }
            guard let item = try? CBOR(prefixOf: bytes) else { continue }
            #expect(item.end <= bytes.count)
            walk(item, item.root)
        }
    }

    /// Calls every accessor on every node.
    private func walk(_ item: CBOR, _ node: CBOR.Node) {
        _ = (item.unsigned(node), item.integer(node), item.octetArray(node), item.text(node), item.simple(node))
        _ = (item.float(node), item.value(of: node, "fmt"), item.value(of: node, 5), item.isText(node, "x"))
        let range = item.encoding(node)
        #expect(range.upperBound <= item.bytes.count && !range.isEmpty)
        for child in item.elements(of: node) ?? [] { walk(item, child) }
        for (key, value) in item.entries(of: node) ?? [] {
            walk(item, key)
            walk(item, value)
        }
        if let (_, inner) = item.tagged(node) { walk(item, inner) }
    }
}
