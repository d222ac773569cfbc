// SPDX-License-Identifier: Apache-2.0

package import HIDService

/// An address to accept connections on.
package struct ListenerConfiguration: Sendable, Equatable {
    package var address: AddressText
    /// Peers whose X-Forwarded-For and Forwarded are believed, as CIDR blocks; empty: nobody.
    package var trustedProxies: [AddressBlock] = []
    /// nil: plain HTTP.
    package var tls: ListenerTLSConfiguration?
    /// Whether each connection starts with a PROXY protocol header.
    ///
    /// Only a trusted proxy may send one; with no list every peer is believed, who is local then.
    package var proxyProtocol = false

    package init(address: AddressText) {
        self.address = address
    }
}

/// A block of IP addresses, `10.0.0.0/8` or `2001:db8::/32`.
///
/// IPv4 is held as IPv4-mapped IPv6.
package struct AddressBlock: Sendable, Hashable {
    /// 16 octets, host bits zero.
    package var prefix: [UInt8]
    /// Counted over 128 bits: an IPv4 /8 is 104.
    package var prefixLength: Int

    package init(prefix: [UInt8], prefixLength: Int) {
        self.prefix = prefix
        self.prefixLength = prefixLength
    }
}

/// Where metrics, health and the API for operators are.
package struct AdminConfiguration: Sendable, Equatable {
    package var address: AddressText
    /// File that holds the bearer token demanded over TCP for /api.
    package var tokenFile: String?

    package init(address: AddressText) {
        self.address = address
    }
}

/// How long a daemon waits for whom.
package struct TimeoutsConfiguration: Sendable, Equatable {
    package var header: Duration = .seconds(10)
    package var bodyIdle: Duration = .seconds(10)
    package var keepAlive: Duration = .seconds(60)
    package var write: Duration = .seconds(30)
    package var drain: Duration = .seconds(25)

    package init() {}
}
