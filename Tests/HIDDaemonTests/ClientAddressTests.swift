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

    private func resolved(_ peer: String, _ trusted: AddressSet, _ lines: [String]) throws -> String {
        let head = "GET / HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
        var request = RequestHead()
        var limits = HeadLimits()
        (limits.headBytes, limits.fields) = (1 << 20, 1_000)
        var parser = RequestParser(limits: limits)
        let octets = Array(head.utf8)
        guard case .complete = parser.parse(octets.span, into: &request) else { return "refused" }
        return ClientAddress(peer: try address(peer), request: request, trusted: trusted).client.description
    }

    /// The proxies are 10.0.0.1, which connects, and 10.0.0.2 before it; each appends what it saw.
    @Test(arguments: ["X-Forwarded-For: ", "Forwarded: for="])
    func
        `the right-most untrusted hop is the client with 0, 1 and 2 trusted proxies and a forged list (oauth2-proxy 3478, gorouter 179)`(
            field: String
        ) throws
    {
        let separator = field.hasPrefix("X") ? ", " : ", for="
        let forged = ["192.0.2.66", "10.0.0.2", "10.9.9.9", "unknown", "x", "192.0.2.66, 10.0.0.2"]
        for made in forged {
            let made = made.replacing(", ", with: separator)
            let none = try resolved("198.51.100.1", set(), [field + made])
            #expect(none == "198.51.100.1")
            let one = try set("10.0.0.1/32")
            #expect(try resolved("10.0.0.1", one, [field + made + separator + "198.51.100.1"]) == "198.51.100.1")
            // The second proxy is not trusted: it is the client.
            let chain = [field + made + separator + "198.51.100.1", field + "10.0.0.2"]
            #expect(try resolved("10.0.0.1", one, chain) == "10.0.0.2")
            let two = try set("10.0.0.1/32", "10.0.0.2/32")
            #expect(try resolved("10.0.0.1", two, chain) == "198.51.100.1")
            // A client that comes to the second proxy directly and claims to be the first one.
            #expect(try resolved("10.0.0.2", two, [field + made + separator + "203.0.113.5"]) == "203.0.113.5")
        }
    }

    @Test(arguments: [
        ("203.0.113.9:4711", "203.0.113.9"), ("[2001:db8::5]", "2001:db8::5"), ("[2001:db8::5]:80", "2001:db8::5"),
        ("2001:db8::5", "2001:db8::5"), ("\t 203.0.113.9 \t", "203.0.113.9"), ("[203.0.113.9]", "10.0.0.1"),
        ("203.0.113.9:", "10.0.0.1"), ("203.0.113.9:x", "10.0.0.1"), ("203.0.113.9:65536", "10.0.0.1"),
        ("203.0.113.9:123456", "10.0.0.1"), ("[2001:db8::5", "10.0.0.1"), ("[2001:db8::5]80", "10.0.0.1"),
        ("[2001:db8::5]:", "10.0.0.1"), ("2001:db8::5]:80", "10.0.0.1"), ("203.0.113.09", "10.0.0.1"),
        ("203.0.113.9 203.0.113.8", "10.0.0.1"), ("localhost", "10.0.0.1"), ("203.0.113.9,", "10.0.0.1"),
        ("203.0.113.9, ,10.0.0.2", "10.0.0.2"), ("203.0.113.9,10.0.0.2,", "10.0.0.1"), ("fe80::1%eth0", "10.0.0.1"),
        ("\"203.0.113.9\"", "10.0.0.1"), (",", "10.0.0.1"), (String(repeating: "1", count: 300), "10.0.0.1"),
    ])
    func `an element of X-Forwarded-For is an address with or without port, else the walk ends`(
        value: String, client: String
    ) throws {
        #expect(try resolved("10.0.0.1", set("10.0.0.0/8"), ["X-Forwarded-For: \(value)"]) == client)
    }

    @Test(arguments: [
        ("for=203.0.113.9", "203.0.113.9"), ("For=\"203.0.113.9:4711\"", "203.0.113.9"),
        ("by=10.0.0.1;FOR=\"[2001:db8::5]:80\";proto=https", "2001:db8::5"), ("for=\"[2001:db8::5]\"", "2001:db8::5"),
        ("for=192.0.2.1, for=10.0.0.2;by=x", "192.0.2.1"), ("for=\"a,b;c\", for=203.0.113.9", "203.0.113.9"),
        ("for=192.0.2.1;, ;for=10.0.0.2", "192.0.2.1"), ("for=unknown", "10.0.0.1"), ("for=_hidden", "10.0.0.1"),
        ("for=192.0.2.1, for=_x, for=10.0.0.2", "10.0.0.2"), ("for=\"203.0.113.9:_port\"", "10.0.0.1"),
        ("for=203.0.113.9;for=203.0.113.8", "10.0.0.1"), ("proto=https", "10.0.0.1"), ("for=", "10.0.0.1"),
        ("for=192.0.2.1, proto=https, for=10.0.0.2", "10.0.0.2"), ("for=\"203.0.113.9", "10.0.0.1"),
        ("for=\"203.0.113\\.9\"", "10.0.0.1"), ("for=\"x\\\"\"", "10.0.0.1"), ("for=[2001:db8::5]", "10.0.0.1"),
        ("for=203.0.113.9 x", "10.0.0.1"), ("=203.0.113.9", "10.0.0.1"), ("for =203.0.113.9", "10.0.0.1"),
        // Quotes that the client opens do not swallow what the proxy appends.
        ("for=192.0.2.66;x=\", for=203.0.113.9", "10.0.0.1"),
        ("for=192.0.2.66;x=\", for=\"[2001:db8::5]\"", "10.0.0.1"), ("for=203.0.113.9,", "10.0.0.1"),
    ])
    func `an element of Forwarded says who with one readable for, else the walk ends`(value: String, client: String)
        throws
    {
        #expect(try resolved("10.0.0.1", set("10.0.0.0/8"), ["Forwarded: \(value)"]) == client)
    }

    @Test func `where both chains are there, they count as far as they agree`() throws {
        let trusted = try set("10.0.0.0/8")
        func client(_ plain: String, _ standard: String) throws -> String {
            let standard = standard.split(separator: ", ").map { "for=" + $0 }.joined(separator: ", ")
            return try resolved("10.0.0.1", trusted, ["Forwarded: \(standard)", "X-Forwarded-For: \(plain)"])
        }
        #expect(try client("203.0.113.9", "203.0.113.9") == "203.0.113.9")
        #expect(try client("203.0.113.9, 10.0.0.2", "203.0.113.9, 10.0.0.2") == "203.0.113.9")
        // Made up on the left, never reached.
        #expect(try client("192.0.2.66, 203.0.113.9", "203.0.113.9") == "203.0.113.9")
        // The proxy appends to one, the client made up the other one: nobody else's address.
        #expect(try client("192.0.2.66", "203.0.113.9") == "10.0.0.1")
        #expect(try client("203.0.113.9", "192.0.2.66") == "10.0.0.1")
        #expect(try client("203.0.113.9", "unknown") == "10.0.0.1")
        #expect(try client("192.0.2.66, 10.0.0.2", "203.0.113.9, 10.0.0.2") == "10.0.0.2")
        #expect(try client("10.0.0.2", "203.0.113.9, 10.0.0.2") == "10.0.0.2")
        #expect(try client("", "203.0.113.9") == "10.0.0.1")
    }

    @Test func `chains of 10,000 hops are walked for 32 of them`() throws {
        let trusted = try set("10.0.0.0/8")
        let plain = (0..<10_000).map { "10.1.\($0 / 250).\($0 % 250)" }
        for lines in [
            ["X-Forwarded-For: " + plain.joined(separator: ",")],
            ["Forwarded: " + plain.map { "for=\($0)" }.joined(separator: ",")],
            stride(from: 0, to: 10_000, by: 100).map {
                "X-Forwarded-For: " + plain[$0..<($0 + 100)].joined(separator: ",")
            },
        ] { #expect(try resolved("10.0.0.1", trusted, lines) == "10.1.39.218") }
        let far = ["X-Forwarded-For: " + (["203.0.113.9"] + plain.prefix(31)).joined(separator: ", ")]
        #expect(try resolved("10.0.0.1", trusted, far) == "203.0.113.9")
        let mixed = ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 10.0.0.3", "X-Forwarded-For:  10.0.0.2 "]
        #expect(try resolved("10.0.0.1", trusted, mixed) == "203.0.113.9")
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
