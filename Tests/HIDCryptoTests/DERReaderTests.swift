// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct DERReaderTests {
    private func fault(_ bytes: [UInt8]) -> DERFault? {
        var reader = DERReader(bytes)
        do throws(DERFault) {
            _ = try reader.next()
            try reader.finish()
            return nil
        } catch { return error }
    }

    private func only<Value>(
        _ bytes: [UInt8], _ read: (DERReader, DERValue) throws(DERFault) -> Value
    ) throws(DERFault) -> Value {
        var reader = DERReader(bytes)
        let value = try reader.next()
        try reader.finish()
        return try read(reader, value)
    }

    @Test(arguments: [
        ("", DERFault.truncated), ("30", .truncated), ("3080", .indefiniteLength), ("30800000", .indefiniteLength),
        ("30FF", .indefiniteLength), ("308100", .lengthForm), ("30817F", .lengthForm), ("30820080", .lengthForm),
        ("3085", .lengthForm), ("308500000000", .lengthForm), ("3084FFFFFFFF", .truncated),
        ("30010500", .trailingOctets),
        ("0402AA", .truncated), ("1F", .truncated), ("1F80", .tagNumber), ("1F1E00", .tagNumber),
        ("1F8101", .truncated), ("BFFFFFFFFF7F00", .tagNumber), ("BF801F00", .tagNumber), ("040000", .trailingOctets),
    ])
    func `a header that is not DER is refused`(_ hex: String, _ expected: DERFault) {
        #expect(fault(Vectors.hex(hex)) == expected)
    }

    @Test func `lengths and tag numbers come back at every size`() throws {
        for count in [0, 1, 127, 128, 255, 256, 65535, 65536] {
            let content = [UInt8](repeating: 0xA5, count: count)
            let octets = try only(DERWriter.octetString(content)) { $0.octets($1) }
            #expect(octets == content)
        }
        for number: UInt32 in [0, 30, 31, 127, 128, 701, 724, 16383, 16384, 0x0FFF_FFFF] {
            let value = try only(DERWriter.explicit(UInt64(number), DERWriter.null)) { $1 }
            #expect(value.tag == .context(number))
            #expect(value.content.count == 2)
        }
        #expect(fault(DERWriter.explicit(0x1000_0000, [])) == .tagNumber)
    }

    @Test func `a content that reaches out of its parent is refused`() throws {
        var outer = DERReader([0x30, 0x03, 0x04, 0x02, 0xAA, 0xBB])
        let sequence = try outer.next(.sequence)
        var inner = try outer.inside(sequence)
        #expect(throws: DERFault.truncated) { try inner.next() }
    }

    @Test func `nesting ends at the limit of the reader`() throws {
        for depth in [1, 4, 8] {
            var bytes: [UInt8] = []
            for _ in 0..<depth { bytes = DERWriter.sequence(bytes) }
            var reader = DERReader(bytes, depth: depth)
            try reader.check(reader.next())
            reader = DERReader(bytes, depth: depth - 1)
            let value = try reader.next()
            #expect(throws: DERFault.tooDeep) { try reader.check(value) }
        }
    }

    @Test func `a value that is not understood is checked to its last level`() throws {
        let good = DERWriter.sequence(DERWriter.integer(5), DERWriter.set(DERWriter.null, DERWriter.sequence([])))
        try only(good) { reader, value throws(DERFault) in try reader.check(value) }
        for bad in [[0x30, 0x80], [0x04, 0x05, 0x00], [0x1F, 0x03, 0x00], [0x30, 0x81, 0x00]] as [[UInt8]] {
            let bytes = DERWriter.sequence(DERWriter.integer(5), DERWriter.set(DERWriter.sequence(bad)))
            #expect(throws: DERFault.self) {
                try only(bytes) { reader, value throws(DERFault) in try reader.check(value) }
            }
        }
    }

    @Test(
        arguments: [
            0, 1, 127, 128, 255, 256, 32767, 32768, -1, -128, -129, .max, .min, 1_640_995_200,
        ] as [Int64])
    func `integers come back`(_ number: Int64) throws {
        let back = try only(DERWriter.integer(number)) { reader, value throws(DERFault) in try reader.integer(value) }
        #expect(back == number)
        let enumerated = try only(DERWriter.enumerated(number)) { reader, value throws(DERFault) in
            try reader.integer(value, .enumerated)
        }
        #expect(enumerated == number)
    }

    @Test(arguments: [
        ("0200", DERFault.value), ("02020000", .value), ("0202007F", .value), ("0202FF80", .value),
        ("0209008000000000000000", .range), ("020900FFFFFFFFFFFFFFFF", .range), ("0A0101", .unexpectedTag),
        ("0209010000000000000000", .range),
    ])
    func `an integer that is not the shortest or too long is refused`(_ hex: String, _ expected: DERFault) {
        #expect(throws: expected) {
            try only(Vectors.hex(hex)) { reader, value throws(DERFault) in try reader.integer(value) }
        }
    }

    @Test(arguments: [
        ("020100", "0"), ("020101", "1"), ("02020080", "80"), ("02020F00", "f00"), ("0203010000", "10000"),
        ("021100FFEEDDCCBBAA99887766554433221100", "ffeeddccbbaa99887766554433221100"),
        ("02100FEEDDCCBBAA99887766554433221100", "feeddccbbaa99887766554433221100"),
    ])
    func `a serial number is the shortest hex of an unsigned number`(_ hex: String, _ expected: String) throws {
        let text = try only(Vectors.hex(hex)) { reader, value throws(DERFault) in try reader.unsignedHex(value) }
        #expect(text == expected)
    }

    @Test func `a negative number is no serial number`() {
        #expect(throws: DERFault.range) {
            try only([0x02, 0x01, 0x80]) { reader, value throws(DERFault) in try reader.unsignedHex(value) }
        }
    }

    @Test func `a boolean is 0 or FF, and any octet where phones write it`() throws {
        for octet in UInt8.min ... .max {
            let bytes: [UInt8] = [0x01, 0x01, octet]
            let strict = try? only(bytes) { reader, value throws(DERFault) in try reader.boolean(value) }
            #expect(strict == (octet == 0 ? false : octet == 0xFF ? true : nil))
            let lenient = try only(bytes) { reader, value throws(DERFault) in try reader.lenientBoolean(value) }
            #expect(lenient == (octet != 0))
        }
        for bytes in [[0x01, 0x00], [0x01, 0x02, 0xFF, 0xFF]] as [[UInt8]] {
            #expect(throws: DERFault.value) {
                try only(bytes) { reader, value throws(DERFault) in try reader.lenientBoolean(value) }
            }
        }
    }

    @Test(arguments: [
        "1.2.840.10045.4.3.2", "2.5.4.3", "1.3.6.1.4.1.11129.2.1.17", "2.999.3", "0.9.2342",
    ])
    func `object identifiers come back in dotted decimal`(_ dotted: String) throws {
        let oid = try only(DERWriter.oid(dotted)) { reader, value throws(DERFault) in try reader.oid(value) }
        #expect(oid.description == dotted)
    }

    @Test(arguments: ["0600", "060180", "06025580", "06028001", "0603550480", "0603558004"])
    func `an object identifier with a cut or padded arc is refused`(_ hex: String) {
        #expect(throws: DERFault.value) {
            try only(Vectors.hex(hex)) { reader, value throws(DERFault) in try reader.oid(value) }
        }
    }

    @Test func `the identifier made from arcs is the one that is read`() throws {
        let read = try only(DERWriter.oid("1.2.840.113549.1.1.11")) { reader, value throws(DERFault) in
            try reader.oid(value)
        }
        #expect(read == OID(1, 2, 840, 113549, 1, 1, 11))
        #expect(OID(2, 5, 29, 15).octets == [0x55, 0x1D, 0x0F])
    }

    @Test(arguments: [
        ("03020520", UInt32?(1 << 2)), ("03020780", 1), ("03020080", 1), ("0303078000", 1), ("0303070080", 1 << 8),
        ("030100", 0), ("030101", nil), ("0300", nil), ("030208FF", nil), ("03020181", nil),
        ("03060000000000FF", nil), ("030500FFFFFFFF", .max), ("0306000102030405", nil),
    ])
    func `named bits are read also with trailing zeros`(_ hex: String, _ expected: UInt32?) {
        let bits = try? only(Vectors.hex(hex)) { reader, value throws(DERFault) in try reader.namedBits(value) }
        #expect(bits == expected)
    }

    @Test func `random octets end in a value or a fault`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0 ... .max) }
            var reader = DERReader(bytes, depth: 8)
            while let value = try? reader.next() {
                try? reader.check(value)
                _ = try? reader.integer(value)
                _ = try? reader.unsignedHex(value)
                _ = try? reader.oid(value)
                _ = try? reader.namedBits(value)
                _ = try? reader.octetBitString(value)
                _ = try? reader.time(value)
                _ = try? Certificate(bytes)
            }
        }
    }
}

@Suite struct CertificateTimeTests {
    private func utc(_ text: String) -> Int64? { CertificateTime.utc(Array(text.utf8)[...]) }
    private func generalized(_ text: String) -> Int64? { CertificateTime.generalized(Array(text.utf8)[...]) }

    @Test(arguments: [
        ("19700101000000Z", Int64(0)), ("19691231235959Z", -1), ("21060207062815Z", 4_294_967_295),
        ("99991231235959Z", 253_402_300_799), ("20000229000000Z", 951_782_400), ("00000101000000Z", -62_167_219_200),
        ("20260301000000Z", 1_772_323_200), ("19000301000000Z", -2_203_891_200),
    ])
    func `GeneralizedTime of the whole range`(_ text: String, _ seconds: Int64) {
        #expect(generalized(text) == seconds)
    }

    @Test(arguments: [
        ("700101000000Z", Int64(0)), ("500101000000Z", -631_152_000), ("491231235959Z", 2_524_607_999),
        ("691231235959Z", -1), ("260524000000Z", 1_779_580_800),
    ])
    func `UTCTime has years 1950 to 2049`(_ text: String, _ seconds: Int64) {
        #expect(utc(text) == seconds)
    }

    @Test(arguments: [
        "20260229000000Z", "20261301000000Z", "20260001000000Z", "20260100000000Z", "20260132000000Z",
        "20260101240000Z", "20260101006000Z", "20260101000060Z", "20260101000000", "2026010100000Z", "20260101000000z",
        "20260101000000.0Z", "20260101000000+0000", "+0260101000000Z", "2026010100000 Z", "", "21000229000000Z",
    ])
    func `a date that does not exist or another form is refused`(_ text: String) {
        #expect(generalized(text) == nil)
        // A sign in front goes away with the century, and 2000 had a leap day that 2100 has not.
        let hasShortForm = text.first == "+" || text.hasPrefix("2100")
        #expect((utc(String(text.dropFirst(2))) == nil) == !hasShortForm)
    }

    @Test func `every day of the calendar comes back`() throws {
        for day: Int64 in stride(from: -40_000, through: 120_000, by: 97) {
            let seconds = day * 86400 + (day & 0xFFFF) % 86400
            var reader = DERReader(DERWriter.time(seconds))
            let value = try reader.next(.generalizedTime)
            #expect(try reader.time(value) == seconds)
        }
    }
}
