// SPDX-License-Identifier: Apache-2.0

/// Why what a connection starts with is no PROXY protocol header that we accept.
package enum ProxyHeaderFault: String, Error, Sendable, CaseIterable {
    /// It does not start like one.
    case missing
    /// A text header is over 107 octets, a binary one says over 536 behind its first 16.
    case tooLong = "too_long"
    /// A text header is not of the form that the specification gives, to the octet.
    case malformedText = "malformed_text"
    /// Version, command, family or transport of a binary header is none of a TCP connection.
    case unsupported
    /// The lengths within a binary header do not fit each other.
    case malformedBinary = "malformed_binary"
    /// The checksum of a binary header is wrong, or there are two.
    case checksum
}

/// What a PROXY protocol header says.
package struct ProxyHeader: Sendable, Hashable {
    /// Octets that belong to it; the next one is the client's first.
    package let count: Int
    /// Who connected to the proxy and to what; nil when the addresses of the socket hold.
    ///
    /// That is so for connections of the proxy's own (LOCAL), for UNKNOWN and AF_UNSPEC, and for unix sockets, which
    /// name nobody.
    package let connection: Connection?

    package struct Connection: Sendable, Hashable {
        package let source: PeerEndpoint
        package let destination: PeerEndpoint

        package init(source: PeerEndpoint, destination: PeerEndpoint) {
            self.source = source
            self.destination = destination
        }
    }

    package var isLocal: Bool { connection == nil }
}

/// What a parser made of the first octets of a connection.
package enum ProxyHeaderProgress: Sendable, Equatable {
    /// Nothing is wrong yet and the header is not over.
    case needMore
    case complete(ProxyHeader)
    /// No continuation makes a header of it: the connection is closed without an answer.
    case bad(ProxyHeaderFault)
}

/// Headers of the PROXY protocol, versions 1 and 2 (haproxy.org, doc/proxy-protocol.txt, sections 2.1 and 2.2).
///
/// Strict: one space between words, no leading zeros, TCP only, lengths that fit, the checksum verified when there is
/// one. Whoever may send a header may choose the client's address, so the caller asks for one only from peers that it
/// trusts, and then takes no connection without.
package enum ProxyProtocol {
    /// The longest text header, CR LF included.
    static let maximumText = 107
    /// What the binary header may say of the length behind its first 16 octets.
    static let maximumBinary = 536
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Reads the header at the start of a connection.
    ///
    /// Without state: called again with all octets so far, at most 552 of which are looked at.
    ///
    /// - Parameter octets: everything that has come.
    /// - Returns: what is known by now.
    package static func parse(_ octets: Span<UInt8>) -> ProxyHeaderProgress {
        guard octets.count > 0 else { return .needMore }
        return octets[0] == signature[0] ? ProxyBinaryHeader.parse(octets) : ProxyTextHeader.parse(octets)
    }

    /// A binary header without extensions, as octets of its own.
    package static func header(_ connection: ProxyHeader.Connection?) -> [UInt8] {
        var octets: [UInt8] = []
        write(connection, into: &octets)
        return octets
    }

    /// Appends a binary header without extensions.
    ///
    /// An IPv4 address beside an IPv6 one is written as a mapped one. Without a connection, or with an address of a unix
    /// socket in it, the header says LOCAL: the upstream takes the addresses of the socket.
    package static func write(_ connection: ProxyHeader.Connection?, into out: inout [UInt8]) {
        out += signature
        guard let connection, !connection.source.address.isLocal, !connection.destination.address.isLocal else {
            out += [0x20, 0, 0, 0]
            return
        }
        let (source, destination) = (connection.source, connection.destination)
        let isIPv4 = source.address.isIPv4 && destination.address.isIPv4
        out += isIPv4 ? [0x21, 0x11, 0, 12] : [0x21, 0x21, 0, 36]
        for address in [source.address, destination.address] {
            if !isIPv4 { append(address.high, count: 8, to: &out) }
            append(address.low, count: isIPv4 ? 4 : 8, to: &out)
        }
        for port in [source.port, destination.port] { append(UInt64(port), count: 2, to: &out) }
    }

    /// Appends the last octets of a number, highest first.
    private static func append(_ number: UInt64, count: Int, to out: inout [UInt8]) {
        for index in (0..<count).reversed() { out.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }
}

/// `PROXY TCP4 192.0.2.1 198.51.100.2 56324 443` and CR LF.
private enum ProxyTextHeader {
    private static let prefix = Array("PROXY ".utf8)

    static func parse(_ octets: Span<UInt8>) -> ProxyHeaderProgress {
        for index in 0..<min(prefix.count, octets.count) where octets[index] != prefix[index] {
            return .bad(.missing)
        }
        var end = min(prefix.count, octets.count)
        while end < octets.count, end < ProxyProtocol.maximumText - 1, octets[end] &- 0x20 < 0x5F { end += 1 }
        guard end < octets.count else { return .needMore }
        guard octets[end] == 0x0D else {
            return .bad(octets[end] &- 0x20 < 0x5F ? .tooLong : .malformedText)
        }
        guard end < ProxyProtocol.maximumText - 1 else { return .bad(.tooLong) }
        guard end + 1 < octets.count else { return .needMore }
        guard octets[end + 1] == 0x0A else { return .bad(.malformedText) }
        return header(words(octets, prefix.count..<end), count: end + 2)
    }

    private static func words(_ octets: Span<UInt8>, _ range: Range<Int>) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        for index in range {
            if octets[index] == 0x20 { words.append([]) } else { words[words.count - 1].append(octets[index]) }
        }
        return words
    }

    private static func header(_ words: [[UInt8]], count: Int) -> ProxyHeaderProgress {
        // Whatever follows UNKNOWN is to be ignored.
        if words[0].elementsEqual("UNKNOWN".utf8) { return .complete(ProxyHeader(count: count, connection: nil)) }
        let isIPv6 = words[0].elementsEqual("TCP6".utf8)
        guard isIPv6 || words[0].elementsEqual("TCP4".utf8), words.count == 5,
            let source = endpoint(words[1], words[3], isIPv6: isIPv6),
            let destination = endpoint(words[2], words[4], isIPv6: isIPv6)
        else { return .bad(.malformedText) }
        return .complete(
            ProxyHeader(count: count, connection: .init(source: source, destination: destination)))
    }

    private static func endpoint(_ address: [UInt8], _ port: [UInt8], isIPv6: Bool) -> PeerEndpoint? {
        guard address.contains(0x3A) == isIPv6, let address = PeerAddress(text: address), (1...5).contains(port.count),
            port.count == 1 || port[0] != 0x30
        else { return nil }
        var number = 0
        for digit in port {
            guard digit &- 0x30 < 10 else { return nil }
            number = number * 10 + Int(digit &- 0x30)
        }
        return UInt16(exactly: number).map { PeerEndpoint(address: address, port: $0) }
    }
}

/// The twelve octets of the signature, four of version, command, family and length, addresses, extensions.
private enum ProxyBinaryHeader {
    /// Octets before the addresses.
    private static let fixed = 16

    static func parse(_ octets: Span<UInt8>) -> ProxyHeaderProgress {
        for index in 0..<min(octets.count, ProxyProtocol.signature.count)
        where octets[index] != ProxyProtocol.signature[index] {
            return .bad(.missing)
        }
        if octets.count > 12, octets[12] != 0x20, octets[12] != 0x21 { return .bad(.unsupported) }
        guard octets.count > 13 else { return .needMore }
        let isLocal = octets[12] == 0x20
        guard let addresses = lengthOfAddresses(octets[13], isLocal: isLocal) else { return .bad(.unsupported) }
        guard octets.count >= fixed else { return .needMore }
        let length = Int(octets[14]) << 8 | Int(octets[15])
        guard length <= ProxyProtocol.maximumBinary else { return .bad(.tooLong) }
        guard isLocal || length >= addresses else { return .bad(.malformedBinary) }
        guard octets.count >= fixed + length else { return .needMore }
        let header = octets.extracting(0..<(fixed + length))
        // A LOCAL header may hold anything: the specification lets receivers skip it.
        if !isLocal, let fault = faultOfExtensions(header, from: fixed + addresses) { return .bad(fault) }
        let connection = isLocal ? nil : connection(header, family: octets[13])
        return .complete(ProxyHeader(count: header.count, connection: connection))
    }

    /// Octets that the addresses of a family take; nil for one that is none of a stream.
    private static func lengthOfAddresses(_ family: UInt8, isLocal: Bool) -> Int? {
        switch family {
        case 0x00: 0
        case 0x11: 12
        case 0x21: 36
        case 0x31: 216
        default: isLocal ? 0 : nil
        }
    }

    private static func connection(_ header: Span<UInt8>, family: UInt8) -> ProxyHeader.Connection? {
        guard family == 0x11 || family == 0x21 else { return nil }
        let size = family == 0x11 ? 4 : 16
        let ports = fixed + 2 * size
        let endpoints = (0..<2).map { number in
            let start = fixed + number * size
            let address =
                size == 4
                ? PeerAddress(high: 0, low: 0xFFFF_0000_0000 | self.number(header, start, 4))
                : PeerAddress(high: self.number(header, start, 8), low: self.number(header, start + 8, 8))
            let port = UInt16(truncatingIfNeeded: self.number(header, ports + number * 2, 2))
            return PeerEndpoint(address: address, port: port)
        }
        return ProxyHeader.Connection(source: endpoints[0], destination: endpoints[1])
    }

    private static func number(_ octets: Span<UInt8>, _ start: Int, _ count: Int) -> UInt64 {
        (start..<(start + count)).reduce(0) { $0 << 8 | UInt64(octets[$1]) }
    }

    /// Walks the extensions, each a type, two octets of length and a value; only the checksum is looked at.
    private static func faultOfExtensions(_ header: Span<UInt8>, from start: Int) -> ProxyHeaderFault? {
        var index = start
        var checksum: Int?
        while index < header.count {
            guard index + 3 <= header.count else { return .malformedBinary }
            let length = Int(header[index + 1]) << 8 | Int(header[index + 2])
            guard index + 3 + length <= header.count else { return .malformedBinary }
            if header[index] == 0x03 {
                guard length == 4 else { return .malformedBinary }
                guard checksum == nil else { return .checksum }
                checksum = index + 3
            }
            index += 3 + length
        }
        guard let checksum else { return nil }
        let given = UInt32(truncatingIfNeeded: number(header, checksum, 4))
        return given == CRC32C.checksum(header, zeroing: checksum..<(checksum + 4)) ? nil : .checksum
    }
}

/// The checksum of RFC 3720 appendix B.4 (Castagnoli).
enum CRC32C {
    /// The checksum of octets, those of a range counted as zero.
    static func checksum(_ octets: Span<UInt8>, zeroing zeroed: Range<Int> = 0..<0) -> UInt32 {
        var crc = UInt32.max
        for index in 0..<octets.count {
            crc ^= zeroed.contains(index) ? 0 : UInt32(octets[index])
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
        }
        return ~crc
    }
}
