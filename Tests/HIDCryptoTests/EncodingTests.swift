// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct EncodingTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64 of RFC 4648 section 10`(_ plain: String, _ text: String) {
        let bytes = Array(plain.utf8)
        let url = Array(text.utf8)
        let padded = url + Array(repeating: UInt8(ascii: "="), count: (4 - url.count % 4) % 4)
        #expect(Base64URL.encode(bytes) == url)
        #expect(Base64URL.decode(url) == bytes)
        #expect(Base64.encode(bytes) == padded)
        #expect(Base64.decode(padded) == bytes)
    }

    @Test func `all octets survive both alphabets at every length`() {
        for count in 0...257 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: [
        ("A", Base64Fault.length), ("AAAAA", .length), ("AB", .unusedBits), ("AAB", .unusedBits), ("AA==", .alphabet),
        ("A+AA", .alphabet), ("A/AA", .alphabet), ("AA A", .alphabet), ("AAA\n", .alphabet), ("AA.A", .alphabet),
        ("AAA\u{e9}", .alphabet), ("AA=A", .alphabet), ("AAA?", .alphabet),
    ])
    func `base64url refuses what no encoder writes`(_ text: String, _ fault: Base64Fault) {
        var output: [UInt8] = [1, 2, 3]
        #expect(Base64URL.decode(Array(text.utf8), appendingTo: &output) == fault)
        #expect(output == [1, 2, 3])
    }

    @Test(arguments: [
        "AA", "AAA", "AB==", "AAB=", "A===", "====", "=", "AA=A", "AAAA====", "AAAA=", "AAAA==", "A-AA", "A_AA",
        "AAA A===",
        "AA\nA", "AA==AAAA",
    ])
    func `standard base64 refuses what no encoder writes`(_ text: String) {
        #expect(Base64.decode(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        ("0", UInt64(0)), ("007", 7), ("18446744073709551615", .max), ("18446744073709551616", nil), ("", nil),
        ("+5", nil), ("-0", nil), (" 1", nil), ("1 ", nil), ("1_0", nil), ("0x1", nil), ("\u{661}", nil), ("1.0", nil),
        ("99999999999999999999999999", nil),
    ])
    func `integers are digits only`(_ text: String, _ expected: UInt64?) {
        #expect(StrictInteger.parse(text) == expected)
    }

    @Test func `integer options hold`() {
        #expect(StrictInteger.parse("007", leadingZeros: false) == nil)
        #expect(StrictInteger.parse("0", leadingZeros: false) == 0)
        #expect(StrictInteger.parse("65535", maximum: 65535) == 65535)
        #expect(StrictInteger.parse("65536", maximum: 65535) == nil)
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 of FIPS 180-4`(_ text: String, _ hex: String) {
        let bytes = Array(text.utf8)
        #expect(SHA256.digest(bytes) == Vectors.hex(hex))
        var hasher = SHA256Hasher()
        for byte in bytes { hasher.update(byte) }
        let digest = hasher.finish()
        #expect(digest.indices.map { digest[$0] } == Vectors.hex(hex))
        hasher.update(bytes)
        let again = hasher.finish()
        #expect(again.indices.map { again[$0] } == Vectors.hex(hex))
        var storage = [UInt8](repeating: 0, count: 32)
        var view = storage.mutableSpan
        let isWritten = SHA256.hash(bytes.span, into: &view)
        #expect(isWritten)
        #expect(storage == Vectors.hex(hex))
    }

    @Test func `secrets are compared in full`() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2], [1, 2]))
        #expect(!constantTimeEqual([1, 2], [1, 3]))
        #expect(!constantTimeEqual([1, 2], [1]))
    }

    @Test func `random octets have the wanted number and differ`() throws {
        #expect(try SecureRandom.bytes(0).isEmpty)
        let first = try SecureRandom.bytes(32)
        #expect(first.count == 32)
        #expect(try SecureRandom.bytes(32) != first)
    }
}
