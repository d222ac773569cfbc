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
package struct ClientAddress {
    /// The address that limits and logs use.
    package let client: PeerAddress
    /// Whether the peer itself is trusted, so that its forwarding fields are believed.
    package let isBehindTrustedProxy: Bool

    private static let forwardedFor = FieldName("x-forwarded-for")

    /// Walks X-Forwarded-For from the right, as long as each hop is trusted.
    ///
    /// What cannot be read ends the walk.
    package init(peer: PeerAddress, request: RequestHead, trusted: AddressSet) {
        guard !trusted.isEmpty, trusted.contains(peer) else {
            client = peer
            isBehindTrustedProxy = false
            return
        }
        var address = peer
        isBehindTrustedProxy = true
        for entry in Self.entries(request).reversed() {
            guard let next = PeerAddress(text: entry) else { break }
            address = next
            if !trusted.contains(next) { break }
        }
        client = address
    }

    private static func entries(_ request: RequestHead) -> [[UInt8]] {
        let bytes = request.bytes.span
        var entries: [[UInt8]] = []
        for field in request.fields where forwardedFor.matches(bytes.extracting(field.name)) {
            for part in request.bytes[field.value].split(separator: 0x2C, omittingEmptySubsequences: false) {
                let text = part.drop { $0 == 0x20 || $0 == 0x09 }
                entries.append(Array(text.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed()))
            }
        }
        return entries
    }
}
