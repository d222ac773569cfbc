// SPDX-License-Identifier: Apache-2.0

/// Where an upstream is and how its connections behave.
package struct UpstreamTarget: Sendable, Hashable {
    package var isTLS: Bool
    /// A name, an IPv4 address or an IPv6 address without brackets.
    package var host: String
    package var port: UInt16
    package var unixPath: String?
    /// PEM file of trusted roots; nil: the system's.
    package var certificateAuthorities: String?
    package var verifiesCertificate = true
    /// Name to verify and to send as SNI; nil: `host`.
    package var serverName: String?
    package var connectTimeout: Duration = .seconds(2)
    /// From the end of the request to the head of the answer, and between reads of content.
    package var responseTimeout: Duration = .seconds(30)
    package var idleTimeout: Duration = .seconds(4)
    package var maximumResponseHead = 64 << 10
    /// Octets that may wait for a slow upstream before its client is paused.
    package var highWater = 256 << 10

    package init(isTLS: Bool, host: String, port: UInt16, unixPath: String? = nil) {
        self.isTLS = isTLS
        self.host = host
        self.port = port
        self.unixPath = unixPath
    }

    /// The URL libcurl dials: scheme and authority only.
    var url: String {
        let name = isTLS ? serverName ?? host : host
        let authority = name.contains(":") ? "[\(name)]" : name
        return "\(isTLS ? "https" : "http")://\(authority.isEmpty ? "localhost" : authority):\(port)/"
    }

    /// libcurl's connect-to entry when what is dialled is not the host of the URL: an address that the name stands for,
    /// or the host itself when another name is to be verified.
    func connectTo(_ address: PeerAddress?) -> String? {
        guard unixPath == nil else { return nil }
        if let address { return "::\(Self.authority(address.description, port))" }
        guard isTLS, let serverName, serverName != host else { return nil }
        return "::\(Self.authority(host, port))"
    }

    /// Whether `host` is a name that only a resolver can turn into addresses.
    ///
    /// libcurl itself knows what `localhost` is (RFC 6761 section 6.3).
    var needsResolver: Bool {
        unixPath == nil && host != "localhost" && PeerAddress(text: Array(host.utf8)) == nil
    }

    /// What Host says when nobody else has said it.
    package var hostField: String {
        guard unixPath == nil else { return "localhost" }
        let isDefault = port == (isTLS ? 443 : 80)
        guard isDefault else { return Self.authority(host, port) }
        return host.contains(":") ? "[\(host)]" : host
    }

    /// What a log calls an address of this target, or the target itself.
    func label(_ address: PeerAddress?) -> String {
        if let unixPath { return "unix:\(unixPath)" }
        return Self.authority(address?.description ?? host, port)
    }

    private static func authority(_ host: String, _ port: UInt16) -> String {
        "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

/// The delays of a target in the unit of the loop's clock.
struct UpstreamDelays {
    /// A little beyond libcurl's own, which should strike first because it knows more.
    let connect: Delay
    let response: Delay
    let idle: Delay

    init(_ target: UpstreamTarget) {
        connect = Delay(target.connectTimeout + .milliseconds(250))
        response = Delay(target.responseTimeout)
        idle = Delay(target.idleTimeout)
    }
}
