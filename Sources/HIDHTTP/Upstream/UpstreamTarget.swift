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
    /// Connections of all loops together.
    package var maximumConnections = 512
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

    /// libcurl's connect-to entry when the name to verify is not the host to dial.
    var connectTo: String? {
        guard isTLS, let serverName, serverName != host, unixPath == nil else { return nil }
        return "::\(host.contains(":") ? "[\(host)]" : host):\(port)"
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

/// Why an upstream gave no (complete) answer.
///
/// Raw values are reason codes.
package enum UpstreamFault: String, Error, Sendable, CaseIterable {
    case resolve = "dep.upstream_resolve"
    case connect = "dep.upstream_connect"
    case connectTimeout = "dep.upstream_connect_timeout"
    case tls = "dep.upstream_tls"
    case closed = "dep.upstream_closed"
    case malformed = "dep.upstream_malformed"
    case tooManyInterim = "dep.upstream_interim"
    case switchedProtocols = "dep.upstream_switch"
    case timeout = "dep.upstream_timeout"
    case truncated = "dep.upstream_truncated"
    case tooManyConnections = "limit.upstream_connections"

    /// The status the client gets when nothing was sent to it yet.
    package var status: Int {
        switch self {
        case .timeout: 504
        case .tooManyConnections: 503
        default: 502
        }
    }

    /// One sentence for the operator: what happened and what to do.
    package var explanation: String {
        switch self {
        case .resolve: "the upstream's name does not resolve; check the url and the resolver"
        case .connect: "the upstream refuses connections; check that it runs and listens there"
        case .connectTimeout: "the upstream did not accept a connection within connect_timeout"
        case .tls: "the TLS handshake with the upstream failed; check its certificate, tls.ca and tls.server_name"
        case .closed: "the upstream closed the connection without an answer"
        case .malformed: "the upstream's answer breaks HTTP/1.1 and was not passed on"
        case .tooManyInterim: "the upstream sent more interim (1xx) answers than are accepted"
        case .switchedProtocols: "the upstream switched protocols without being asked"
        case .timeout: "the upstream did not answer within response_timeout"
        case .truncated: "the upstream closed the connection in the middle of its answer"
        case .tooManyConnections: "all max_connections of the upstream are in use"
        }
    }

    /// Whether a dial attempt failed: nothing of the request was sent.
    package var isDialFailure: Bool {
        switch self {
        case .resolve, .connect, .connectTimeout, .tls, .tooManyConnections: true
        default: false
        }
    }
}
