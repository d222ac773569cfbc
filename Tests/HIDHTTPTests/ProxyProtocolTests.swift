// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDHTTP

@Suite struct ProxyProtocolTests {
    private static func parse(_ octets: [UInt8]) -> ProxyHeaderProgress { ProxyProtocol.parse(octets.span) }

    private static func endpoint(_ text: String, _ port: UInt16) throws -> PeerEndpoint {
        PeerEndpoint(address: try #require(PeerAddress(text: Array(text.utf8)), "\(text)"), port: port)
    }

    private static func connection(
        _ source: (String, UInt16), _ destination: (String, UInt16)
    ) throws -> ProxyHeader.Connection {
        ProxyHeader.Connection(
            source: try endpoint(source.0, source.1), destination: try endpoint(destination.0, destination.1))
    }

    private static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil) -> [UInt8] {
        let length = length ?? rest.count
        return ProxyProtocol.signature
            + [command, family, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)] + rest
    }

    private static func tlv(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        [type, UInt8(value.count >> 8), UInt8(value.count & 255)] + value
    }

    private static let four: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xDC, 0x04, 0x01, 0xBB]

    /// With a checksum over all of it.
    private static func summed(_ extensions: [UInt8] = []) -> [UInt8] {
        var header = binary(0x21, 0x11, four + extensions + tlv(3, [0, 0, 0, 0]))
        let sum = CRC32C.checksum(header.span)
        for index in 0..<4 {
            header[header.count - 4 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * index))
        }
        return header
    }

    private static let good: [[UInt8]] = [
        Array("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n".utf8),
        Array("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n".utf8), Array("PROXY UNKNOWN\r\n".utf8),
        Array("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n".utf8),
        binary(0x21, 0x11, four), binary(0x21, 0x11, four + tlv(4, [1, 2, 3]) + tlv(0xE0, [])),
        binary(0x21, 0x21, [UInt8](repeating: 0x20, count: 36)), binary(0x20, 0x00, []),
        binary(0x21, 0x31, [UInt8](repeating: 0x2F, count: 216)), summed(tlv(2, Array("api.example".utf8))),
    ]

    @Test func `the text headers of the specification are read`() throws {
        let text = Array("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET / HTTP/1.1\r\n".utf8)
        let connection = try Self.connection(("192.168.0.1", 56324), ("192.168.0.11", 443))
        #expect(Self.parse(text) == .complete(ProxyHeader(count: 47, connection: connection)))
        // The longest ones there can be: 56, 104 and 107 octets.
        #expect(Self.good[0].count == 56)
        let six = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        let long = Array("PROXY TCP6 \(six) \(six) 65535 65535\r\n".utf8)
        #expect(long.count == 104)
        let both = try Self.connection((six, 65535), (six, 65535))
        #expect(Self.parse(long) == .complete(ProxyHeader(count: 104, connection: both)))
        let unknown = Array("PROXY UNKNOWN \(six) \(six) 65535 65535\r\n".utf8)
        #expect(unknown.count == 107)
        #expect(Self.parse(unknown) == .complete(ProxyHeader(count: 107, connection: nil)))
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n", ProxyHeaderFault.missing), ("PROXZ", .missing), ("proxy TCP4", .missing),
        ("X", .missing),
        ("PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4  1.2.3.4 1 2\r\n", .malformedText), ("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n", .malformedText),
        ("PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n", .malformedText), ("PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n", .malformedText),
        ("PROXY TCP4 ::1 ::1 1 2\r\n", .malformedText), ("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", .malformedText),
        ("PROXY TCP4 1.2.3.4 ::1 1 2\r\n", .malformedText), ("PROXY TCP6 ::1%1 ::1 1 2\r\n", .malformedText),
        ("PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n", .malformedText), ("PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n", .malformedText),
        ("PROXY UNKNOWNX\r\n", .malformedText), ("PROXY \r\n", .malformedText), ("PROXY UNKNOWN\n", .malformedText),
        ("PROXY UNKNOWN\r\r\n", .malformedText), ("PROXY UNKNOWN\tx\r\n", .malformedText),
        ("PROXY UNKNOWN \u{7F}\r\n", .malformedText), ("PROXY UNKNOWN \u{E9}\r\n", .malformedText),
        ("PROXY UNKNOWN \(String(repeating: "x", count: 92))\r\n", .tooLong),
        ("PROXY UNKNOWN \(String(repeating: "x", count: 200))", .tooLong),
    ])
    func `a text header that is not to the letter is refused`(text: String, fault: ProxyHeaderFault) {
        #expect(Self.parse(Array(text.utf8)) == .bad(fault))
    }

    @Test func `binary headers are read, extensions skipped`() throws {
        let four = try Self.connection(("192.0.2.1", 56324), ("198.51.100.2", 443))
        #expect(Self.parse(Self.good[4]) == .complete(ProxyHeader(count: 28, connection: four)))
        #expect(Self.parse(Self.good[5] + [0x47]) == .complete(ProxyHeader(count: 37, connection: four)))
        let six = try Self.connection(("2001:db8::1", 258), ("::1", 65535))
        let octets: [UInt8] =
            [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [UInt8](repeating: 0, count: 15)
            + [1, 1, 2, 0xFF, 0xFF]
        #expect(Self.parse(Self.binary(0x21, 0x21, octets)) == .complete(ProxyHeader(count: 52, connection: six)))
    }

    @Test func `LOCAL, no family and unix sockets keep the address of the socket`() {
        for header in [
            Self.binary(0x20, 0x00, []), Self.binary(0x20, 0x11, Self.four), Self.binary(0x20, 0x11, [1, 2]),
            Self.binary(0x20, 0x7F, [9]), Self.binary(0x21, 0x00, []), Self.binary(0x21, 0x00, Self.tlv(4, [0])),
            Self.binary(0x21, 0x31, [UInt8](repeating: 0, count: 216)),
        ] {
            guard case .complete(let found) = Self.parse(header) else {
                Issue.record("\(header)")
                continue
            }
            #expect(found.isLocal && found.count == header.count)
        }
    }

    @Test func `a binary header that does not fit is refused`() {
        let four = Self.four
        let cases: [([UInt8], ProxyHeaderFault)] = [
            (Array(ProxyProtocol.signature.dropLast()) + [0x0B], .missing), ([0x0D, 0x0A, 0x0D, 0x0B], .missing),
            (ProxyProtocol.signature + [0x22], .unsupported), (ProxyProtocol.signature + [0x11], .unsupported),
            (Self.binary(0x31, 0x11, four), .unsupported), (Self.binary(0x21, 0x12, four), .unsupported),
            (Self.binary(0x21, 0x41, four), .unsupported), (Self.binary(0x21, 0x10, four), .unsupported),
            (Self.binary(0x21, 0x32, []), .unsupported), (Self.binary(0x21, 0x01, []), .unsupported),
            (Self.binary(0x21, 0x11, four, length: 11), .malformedBinary),
            (Self.binary(0x21, 0x21, four), .malformedBinary), (Self.binary(0x21, 0x31, four), .malformedBinary),
            (Self.binary(0x21, 0x11, four + [4]), .malformedBinary),
            (Self.binary(0x21, 0x11, four + [4, 0]), .malformedBinary),
            (Self.binary(0x21, 0x11, four + [4, 0, 1]), .malformedBinary),
            (Self.binary(0x21, 0x11, four + [4, 255, 255, 0]), .malformedBinary),
            (Self.binary(0x21, 0x11, four + Self.tlv(3, [1, 2, 3])), .malformedBinary),
            (Self.binary(0x21, 0x11, four + Self.tlv(3, [1, 2, 3, 4])), .checksum),
            (Self.binary(0x21, 0x11, [], length: 537), .tooLong),
            (Self.binary(0x20, 0x00, [], length: 65_535), .tooLong),
        ]
        for (octets, fault) in cases { #expect(Self.parse(octets) == .bad(fault), "\(octets)") }
        let full = four + Self.tlv(4, [UInt8](repeating: 0, count: 536 - 15))
        guard case .complete(let header) = Self.parse(Self.binary(0x21, 0x11, full)) else {
            Issue.record("the longest header is refused")
            return
        }
        #expect(header.count == 552)
    }

    @Test func `a checksum is verified, once`() {
        let digits = Array("123456789".utf8)
        let known = CRC32C.checksum(digits.span)
        #expect(known == 0xE306_9283)
        let header = Self.summed(Self.tlv(5, [1, 2, 3]))
        guard case .complete(let found) = Self.parse(header) else {
            Issue.record("a good checksum is refused")
            return
        }
        #expect(!found.isLocal)
        // One changed bit of addresses or extensions is always found.
        for bit in (16 * 8)..<(header.count * 8) {
            var changed = header
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            if case .complete(let other) = Self.parse(changed) {
                // It hit the type of the checksum, which is another extension then.
                #expect(bit / 8 == header.count - 7 && other.count == header.count, "\(bit)")
            }
        }
        #expect(
            Self.parse(Self.binary(0x21, 0x11, Self.four + Self.tlv(3, [0, 0, 0, 0]) + Self.tlv(3, [0, 0, 0, 0])))
                == .bad(.checksum))
    }

    @Test(arguments: good.indices)
    func `every truncation waits for more, and what follows does not matter`(index: Int) {
        let header = Self.good[index]
        let whole = Self.parse(header)
        guard case .complete(let found) = whole else {
            Issue.record("\(header)")
            return
        }
        #expect(found.count == header.count)
        for count in 0..<header.count { #expect(Self.parse(Array(header[..<count])) == .needMore, "\(count)") }
        for tail in [[0x47, 0x45], header, [0], [0x0D, 0x0A]] as [[UInt8]] {
            #expect(Self.parse(header + tail) == whole)
        }
    }

    @Test func `what is refused stays refused with more octets, and nothing traps`() {
        var random = SplitMix(state: 11)
        var counts = (bad: 0, complete: 0)
        for _ in 0..<20_000 {
            var octets = Self.good[random.below(Self.good.count)]
            for _ in 0..<(1 + random.below(3)) {
                let index = random.below(octets.count)
                switch random.below(4) {
                case 0: octets[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: octets.remove(at: index)
                case 2: octets.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
                default: octets[index] ^= 1 << UInt8(random.below(8))
                }
            }
            var last = ProxyHeaderProgress.needMore
            for count in 0...octets.count {
                let now = Self.parse(Array(octets[..<count]))
                if last != .needMore { #expect(now == last, "\(octets)") }
                if case .complete(let header) = now { #expect(header.count <= count) }
                last = now
            }
            if case .bad = last { counts.bad += 1 } else { counts.complete += 1 }
        }
        #expect(counts.bad > 5_000 && counts.complete > 2_000)
        for _ in 0..<20_000 {
            var octets: [UInt8] = []
            for _ in 0..<random.below(40) { octets.append(UInt8(truncatingIfNeeded: random.next())) }
            _ = Self.parse(octets)
            _ = Self.parse(ProxyProtocol.signature + octets)
        }
    }

    @Test func `what is written is read back`() throws {
        for (source, destination, count) in [
            ("192.0.2.1", "198.51.100.2", 28), ("2001:db8::1", "::1", 52), ("192.0.2.1", "2001:db8::2", 52),
        ] {
            let connection = try Self.connection((source, 1), (destination, 65535))
            var out: [UInt8] = [7]
            ProxyProtocol.write(connection, into: &out)
            let header = Array(out.dropFirst())
            #expect(Self.parse(header) == .complete(ProxyHeader(count: count, connection: connection)))
        }
        let unix = PeerEndpoint(address: .local, port: 0)
        for connection in [nil, ProxyHeader.Connection(source: unix, destination: unix)] {
            var out: [UInt8] = []
            ProxyProtocol.write(connection, into: &out)
            #expect(Self.parse(out) == .complete(ProxyHeader(count: 16, connection: nil)))
        }
        var out: [UInt8] = []
        ProxyProtocol.write(try Self.connection(("192.0.2.1", 56324), ("198.51.100.2", 443)), into: &out)
        #expect(out == Self.good[4])
    }
}

/// A small generator with a fixed seed, so that a failure comes again.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(1, bound))) }
}
