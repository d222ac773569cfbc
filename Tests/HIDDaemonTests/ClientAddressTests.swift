// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@testable import HIDDaemon

@Suite struct ClientAddressTests {
    private func address(_ text: String) throws -> PeerAddress {
        try #require(PeerAddress(text: Array(text.utf8)), "\(text)")
    }

    private func octets(_ address: PeerAddress) -> [UInt8] {
        [address.high, address.low].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
        }
    }

    /// The blocks of a configuration: an IPv4 length counts from bit 96.
    private func set(_ blocks: String...) throws -> AddressSet {
        AddressSet(
            try blocks.map { block in
                let parts = block.split(separator: "/").map(String.init)
                let prefix = try address(parts[0])
                let length = try #require(Int(parts[1])) + (prefix.isIPv4 ? 96 : 0)
                return AddressBlock(masking: octets(prefix), prefixLength: length)
            })
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0", "9.255.255.255"), ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("192.0.2.7/32", "192.0.2.7", "192.0.2.6"), ("192.0.2.7/32", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.128/25", "192.0.2.128", "192.0.2.127"), ("128.0.0.0/1", "128.0.0.0", "127.255.255.255"),
        ("0.0.0.0/0", "255.255.255.255", "2001:db8::1"), ("0.0.0.0/0", "0.0.0.0", "::"),
        ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
        ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"), ("fe80::/10", "febf::1", "fec0::"),
        ("2001:db8::/63", "2001:db8:0:1::", "2001:db8:0:2::"), ("2001:db8::/64", "2001:db8::ffff", "2001:db8:0:1::"),
        ("2001:db8::/65", "2001:db8::7fff:0:0:0", "2001:db8::8000:0:0:0"), ("::1/128", "::1", "::2"),
        ("2001:db8::8/127", "2001:db8::9", "2001:db8::a"), ("2001:db8::1/128", "2001:db8::1", "2001:db8::"),
        ("8000::/1", "ffff::", "7fff::"),
    ]) func `a block ends where its length says`(block: String, inside: String, outside: String) throws {
        let set = try set(block)
        #expect(try set.contains(address(inside)))
        #expect(try !set.contains(address(outside)))
    }

    @Test(arguments: ["::", "::1", "0.0.0.0", "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"])
    func `the block of length 0 holds every address, and a local socket is in none`(text: String) throws {
        let everything = try set("::/0")
        #expect(try everything.contains(address(text)))
        #expect(!everything.contains(.local))
    }

    @Test func `a block of no sense holds nothing`() throws {
        for block in [
            AddressBlock(prefix: [], prefixLength: 0), AddressBlock(prefix: [10, 0, 0, 0], prefixLength: 8),
            AddressBlock(prefix: [UInt8](repeating: 0, count: 16), prefixLength: 129),
            AddressBlock(prefix: [UInt8](repeating: 0, count: 16), prefixLength: -1),
        ] { #expect(AddressSet([block]).isEmpty) }
        #expect(try !AddressSet([]).contains(address("::")))
    }

    private func client(_ peer: PeerAddress, _ trusted: AddressSet, _ fields: String...) throws -> ClientAddress {
        let head = "GET / HTTP/1.1\r\nHost: a\r\n" + fields.map { "X-Forwarded-For: \($0)\r\n" }.joined() + "\r\n"
        var request = RequestHead()
        var parser = RequestParser(limits: HeadLimits())
        guard case .complete = parser.parse(Array(head.utf8).span, into: &request) else {
            Issue.record("\(head)")
            return ClientAddress(peer: .local, request: request, trusted: trusted)
        }
        return ClientAddress(peer: peer, request: request, trusted: trusted)
    }

    @Test func `trusted hops are walked from the right over all fields, both families`() throws {
        let trusted = try set("10.0.0.0/8", "fd00::/8")
        let peer = try address("10.0.0.1")
        #expect(
            try client(peer, trusted, "203.0.113.9, 2001:db8::5, fd00::2", "10.9.9.9").client
                == address("2001:db8::5"))
        #expect(try client(peer, trusted, "203.0.113.9", "").client == peer)
        #expect(try client(peer, trusted, ",,203.0.113.9").client == address("203.0.113.9"))
        #expect(try client(peer, trusted, "10.0.0.3,10.0.0.2").client == address("10.0.0.3"))
        #expect(try client(peer, trusted).client == peer)
        #expect(try client(peer, trusted, "203.0.113.9").isBehindTrustedProxy)
    }

    @Test func `nobody but a trusted peer is believed, a local socket neither`() throws {
        let trusted = try set("10.0.0.0/8")
        for peer in [try address("198.51.100.1"), .local] {
            let seen = try client(peer, trusted, "203.0.113.9")
            #expect(seen.client == peer)
            #expect(!seen.isBehindTrustedProxy)
        }
        let seen = try client(address("10.0.0.1"), AddressSet([]), "203.0.113.9")
        #expect(try seen.client == address("10.0.0.1"))
        #expect(!seen.isBehindTrustedProxy)
    }
}

@Suite struct RequestIdentityTests {
    @Test func `no two request ids are equal, of one loop or of several`() {
        var seen = Set<[UInt8]>()
        for _ in 0..<4 {
            var identity = RequestIdentity()
            for _ in 0..<25_000 { seen.insert(identity.nextRequestID()) }
        }
        #expect(seen.count == 100_000)
        #expect(seen.allSatisfy { $0.count == 32 })
        #expect(Set(seen.joined()) == Set("0123456789abcdef".utf8))
    }

    @Test func `a support code is two groups of five letters that nobody misreads`() {
        var identity = RequestIdentity()
        var letters = Set<UInt8>()
        for _ in 0..<2_000 {
            let groups = identity.nextSupportCode().split(separator: 0x2D, omittingEmptySubsequences: false)
            #expect(groups.map(\.count) == [5, 5])
            letters.formUnion(groups.joined())
        }
        #expect(letters == Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8))
    }
}
