// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP
package import HIDVerifier

/// Why an exchange did not end with the upstream's answer, or would not have.
///
/// Every case has a stable dotted code for logs, metrics and documentation; the client never sees it.
package enum StopReason: Sendable, Equatable {
    case verification(Reason)
    case target(PathFault)
    case head(RequestFault)
    case content(BodyFault)
    case upstream(UpstreamFault)
    case http2(HTTP2Fault)
    case gateway(GatewayReason)

    package var code: String {
        switch self {
        case .verification(let reason): reason.code
        case .target(let fault): fault.code
        case .head(let fault): fault.code
        case .content(let fault): fault.code
        case .upstream(let fault): fault.rawValue
        case .http2(let fault): fault.code
        case .gateway(let reason): reason.rawValue
        }
    }

    /// One sentence for the operator.
    package var explanation: String {
        switch self {
        case .verification(let reason): reason.explanation
        case .target(let fault): fault.explanation
        case .head(let fault): fault.explanation
        case .content(let fault): fault.explanation
        case .upstream(let fault): fault.explanation
        case .http2(let fault): fault.explanation
        case .gateway(let reason): reason.explanation
        }
    }

    /// Every code there is: the closed label set of the metrics.
    package static let allCodes: [String] = {
        let all: [[String]] = [
            Reason.allCases.map(\.code), PathFault.allCases.map(\.code), RequestFault.allCases.map(\.code),
            BodyFault.allCases.map(\.code), UpstreamFault.allCases.map(\.rawValue),
            HTTP2Fault.allCases.map(\.code), GatewayReason.allCases.map(\.rawValue),
        ]
        return Set(all.joined()).sorted()
    }()
}

/// Reasons that arise in the gateway itself.
package enum GatewayReason: String, Sendable, CaseIterable {
    case methodNotAllowed = "http.method_not_allowed"
    case methodNotListed = "http.method_not_listed"
    case underscoreTwin = "http.name_underscore"
    case bodyTooLarge = "http.body_too_large"
    case headerTimeout = "http.header_timeout"
    case bodyTimeout = "http.body_timeout"
    case clientAbort = "http.client_abort"
    case writeTimeout = "http.write_timeout"
    case tunnelIdle = "http.tunnel_idle"
    case drainDeadline = "http.drain_deadline"
    case failedVerifications = "limit.failed_verifications"
    case overload = "limit.queue_delay"
    case slowClient = "limit.slow_client"
    case spoolFailed = "dep.spool"

    package var explanation: String {
        switch self {
        case .methodNotAllowed: "TRACE is never passed on"
        case .methodNotListed: "the path is critical and its rule does not list the method; add it to match.methods"
        case .underscoreTwin: "a field whose name becomes a HID header when _ is read as -"
        case .bodyTooLarge: "the content is over limits.body"
        case .headerTimeout: "no complete request head within timeouts.header"
        case .bodyTimeout: "less than 1 KiB of content within timeouts.body_idle"
        case .clientAbort: "the client closed the connection before the exchange was over"
        case .writeTimeout: "the client took less than 1 KiB of its answer within timeouts.write"
        case .tunnelIdle: "nothing passed through the tunnel for timeouts.tunnel_idle"
        case .drainDeadline: "the exchange was cut at timeouts.drain when the gateway stopped"
        case .failedVerifications: "the client address failed more verifications a second than limits allow"
        case .overload: "requests wait for longer than limits.queue_delay, and this one was refused to spare others"
        case .slowClient: "the client held an upstream connection without moving on, and others had none"
        case .spoolFailed: "the content could not be kept in a temporary file; check space in the temporary directory"
        }
    }
}

/// How an exchange came out, as the access log says it.
package enum Decision: String, Sendable, CaseIterable {
    case pass
    case block
    case wouldBlock = "would_block"
    /// Malformed HTTP and limits.
    case reject
    /// Our own or the upstream's fault.
    case error
}
