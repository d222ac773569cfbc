// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

/// CIDR blocks, ready to compare.
package struct AddressSet: Sendable {
    private var blocks: [(high: UInt64, low: UInt64, highMask: UInt64, lowMask: UInt64)] = []

    package init(_ blocks: [AddressBlock]) {
        self.blocks = blocks.compactMap { block in
            guard block.prefix.count == 16, (0...128).contains(block.prefixLength) else { return nil }
            let words = [block.prefix[..<8], block.prefix[8...]].map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
            let length = UInt64(block.prefixLength)
            let highMask = length >= 64 ? UInt64.max : ~(UInt64.max >> length)
            let lowMask = length <= 64 ? 0 : (length == 128 ? UInt64.max : ~(UInt64.max >> (length - 64)))
            return (words[0] & highMask, words[1] & lowMask, highMask, lowMask)
        }
    }

    package var isEmpty: Bool { blocks.isEmpty }

    /// Whether the address is in one of the blocks.
    ///
    /// A local socket never is.
    package func contains(_ address: PeerAddress) -> Bool {
        guard !address.isLocal else { return false }
        return blocks.contains { address.high & $0.highMask == $0.high && address.low & $0.lowMask == $0.low }
    }
}

/// Who sent a request: the peer, or behind trusted proxies the right-most address that is not one of them.
///
/// Each proxy writes the address that it saw to the right of what it was sent, so only the right end of a chain is the
/// work of trusted ones; what a client makes up stands left of it and is never reached. The walk ends at the first hop
/// that is not trusted, at one that cannot be read (an empty element, `unknown`, an obfuscated name, bad quoting) and
/// after ``maximumHops``; then the hop before it counts.
///
/// There are two chains, X-Forwarded-For and Forwarded (RFC 7239), and a proxy that appends to one passes the other on
/// as the client sent it. Which one is its own is not known here. So when both are there each step must be the same in
/// both: a made-up chain beside the true one gives the sender no address but that of a trusted proxy.
package struct ClientAddress {
    /// The address that limits and logs use.
    package let client: PeerAddress
    /// Whether the peer itself is trusted, so that its forwarding fields are believed.
    package let isBehindTrustedProxy: Bool

    /// Hops that are walked; there are fields with thousands.
    static let maximumHops = 32

    /// Walks from the peer to the client.
    package init(peer: PeerAddress, request: RequestHead, trusted: AddressSet) {
        guard !trusted.isEmpty, trusted.contains(peer) else {
            client = peer
            isBehindTrustedProxy = false
            return
        }
        isBehindTrustedProxy = true
        let plain = ForwardedChain.plain(request, limit: Self.maximumHops)
        let standard = ForwardedChain.standard(request, limit: Self.maximumHops)
        var address = peer
        for hop in 0..<Self.maximumHops {
            guard let next = Self.agreed(plain, standard, at: hop) else { break }
            address = next
            if !trusted.contains(next) { break }
        }
        client = address
    }

    /// The hop that every chain that is there has at a place.
    private static func agreed(
        _ plain: [PeerAddress]?, _ standard: [PeerAddress]?, at hop: Int
    ) -> PeerAddress? {
        let chains = [plain, standard].compactMap { $0 }
        guard let first = chains.first, hop < first.count else { return nil }
        return chains.allSatisfy { hop < $0.count && $0[hop] == first[hop] } ? first[hop] : nil
    }
}
