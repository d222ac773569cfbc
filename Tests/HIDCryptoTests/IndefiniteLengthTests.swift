// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct IndefiniteLengthTests {
    @Test(arguments: [
        ("0500", "0500"), ("3003020101", "3003020101"), ("30800201010000", "3003020101"),
        ("3080308002010100000000", "30053003020101"), ("24800401aa0402bbcc0000", "0403aabbcc"),
        ("24800000", "0400"), ("30800000", "3000"), ("a08024800401aa00000000", "a0030401aa"),
        // What has a definite length is copied, whatever lies in it.
        ("3004308000003080", ""), ("300430800000", "300430800000"), ("2403040100", "2403040100"),
    ])
    func `a shell of indefinite length becomes one of definite length`(_ hex: String, _ expected: String) throws {
        if expected.isEmpty {
            #expect(throws: DERFault.trailingOctets) { try IndefiniteLength.rewrite(Vectors.hex(hex)) }
        } else {
            #expect(try IndefiniteLength.rewrite(Vectors.hex(hex)) == Vectors.hex(expected))
        }
    }

    @Test(arguments: [
        ("", DERFault.truncated), ("30", .truncated), ("3080", .truncated), ("308000", .truncated),
        ("3080020101", .truncated), ("30800201010", .truncated), ("308002010100", .truncated),
        ("04800000", .indefiniteLength), ("308002800000", .indefiniteLength), ("2480050000000", .unexpectedTag),
        ("248024800401aa000000", .truncated), ("3080000000", .trailingOctets), ("1f8000", .tagNumber),
        ("3f80000000", .tagNumber), ("3085000000000100", .lengthForm), ("30ff00", .lengthForm), ("3082ff", .truncated),
        ("308200ff", .truncated), ("3084ffffffff", .truncated),
    ])
    func `a shell that is no BER is refused`(_ hex: String, _ fault: DERFault) {
        #expect(throws: fault) { try IndefiniteLength.rewrite(Vectors.hex(hex)) }
    }

    @Test func `parts of a string in parts are refused`() throws {
        // Nested parts become one string, which then is a part.
        #expect(try IndefiniteLength.rewrite(Vectors.hex("248024800401aa00000000")) == Vectors.hex("0401aa"))
        #expect(throws: DERFault.unexpectedTag) { try IndefiniteLength.rewrite(Vectors.hex("248024030401aa0000")) }
    }

    @Test func `depth is bounded and long contents get long lengths`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            (0..<depth).flatMap { _ in [0x30, 0x80] as [UInt8] } + [UInt8](repeating: 0, count: depth * 2)
        }
        _ = try IndefiniteLength.rewrite(nested(8))
        #expect(throws: DERFault.tooDeep) { try IndefiniteLength.rewrite(nested(9)) }
        #expect(throws: DERFault.tooDeep) { try IndefiniteLength.rewrite(nested(100_000)) }
        for count in [127, 128, 255, 256, 65535, 65536] {
            let inner = DERWriter.octetString([UInt8](repeating: 7, count: count))
            #expect(try IndefiniteLength.rewrite([0x30, 0x80] + inner + [0, 0]) == DERWriter.sequence(inner))
        }
    }

    @Test func `random octets are rewritten or refused`() {
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in
                [0x00, 0x04, 0x24, 0x30, 0x80, 0xA0, UInt8.random(in: 0...255)].randomElement() ?? 0
            }
            _ = try? IndefiniteLength.rewrite(bytes)
        }
    }
}
