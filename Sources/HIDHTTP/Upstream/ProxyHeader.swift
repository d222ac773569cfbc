// SPDX-License-Identifier: Apache-2.0

/// The first octets of a connection to a server that wants to know whose it is: PROXY protocol version 2, binary
/// (haproxy.org, proxy-protocol.txt section 2.2).
package enum ProxyHeader {
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// The connection is the gateway's own, as that of a health check.
    package static let local: [UInt8] = signature + [0x20, 0x00, 0x00, 0x00]

    /// The connection carries the requests of one client.
    ///
    /// A client on a unix socket has no address: the family is then unspecified. A port is 0 when it is not known.
    package static func client(
        _ source: PeerAddress, port: UInt16, at destination: PeerAddress, port destinationPort: UInt16
    ) -> [UInt8] {
        guard !source.isLocal else { return signature + [0x21, 0x00, 0x00, 0x00] }
        // What is not known of the listening side is all zeros.
        let target = destination.isLocal ? PeerAddress(high: 0, low: source.isIPv4 ? 0xFFFF_0000_0000 : 0) : destination
        let isIPv4 = source.isIPv4 && target.isIPv4
        var octets = signature + [0x21, isIPv4 ? 0x11 : 0x21, 0x00, isIPv4 ? 12 : 36]
        for address in [source, target] {
            if !isIPv4 { append(address.high, 8, to: &octets) }
            append(address.low, isIPv4 ? 4 : 8, to: &octets)
        }
        append(UInt64(port), 2, to: &octets)
        append(UInt64(destinationPort), 2, to: &octets)
        return octets
    }

    private static func append(_ value: UInt64, _ count: Int, to octets: inout [UInt8]) {
        for index in (0..<count).reversed() {
            octets.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8)))
        }
    }
}
