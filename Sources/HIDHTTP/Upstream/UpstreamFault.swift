// SPDX-License-Identifier: Apache-2.0

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
    case queueFull = "limit.upstream_queue"

    /// The status the client gets when nothing was sent to it yet.
    package var status: Int {
        switch self {
        case .timeout: 504
        case .tooManyConnections, .queueFull: 503
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
        case .tooManyConnections: "all connections of the upstream are in use, and none came free within queue.timeout"
        case .queueFull: "all connections of the upstream are in use, and queue.size requests wait already"
        }
    }

    /// Whether a dial attempt failed: nothing of the request was sent.
    package var isDialFailure: Bool {
        switch self {
        case .connect, .connectTimeout, .tls: true
        default: false
        }
    }

    /// Whether another server may do better with a request that may be sent twice.
    package var isWorthAnotherServer: Bool {
        switch self {
        case .closed, .timeout, .malformed: true
        default: isDialFailure
        }
    }
}
