// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
internal import HIDService

/// How an exchange ended when it did not end with a whole answer.
package enum ExchangeEnd: String, Sendable {
    case clientAbort = "client_abort"
    case writeTimeout = "write_timeout"
    case headerTimeout = "header_timeout"
    case bodyTimeout = "body_timeout"
    case tunnelIdle = "tunnel_idle"
    case slowClient = "slow_client"
    case drainDeadline = "drain_deadline"
    case upstreamAbort = "upstream_abort"
    case contentFault = "content_fault"
    case http2Fault = "http2_fault"
}

extension HTTPVersion {
    /// As the access log says it.
    fileprivate var text: StaticString {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}

/// Everything that is told of one exchange, gathered once at its end.
struct ExchangeRecord {
    /// Wall clock at the end, nanoseconds since 1970.
    var time: Int64 = 0
    var requestID: [UInt8] = []
    var supportCode: [UInt8]?
    var client = PeerAddress.local
    var listener = ""
    var method: ArraySlice<UInt8> = []
    var version = HTTPVersion.http11
    /// Version of TLS; nil without.
    var tls: String?
    var host: ArraySlice<UInt8> = []
    /// Canonical, without query; empty when the target was refused.
    var path: [UInt8] = []
    var route: String?
    var match = RouteMatch.Kind.none
    var mode = Mode.monitoring
    var isCritical = false
    var decision = Decision.pass
    var reason: StopReason?
    var hid: [UInt8]?
    var verdict: String?
    var session: String?
    var status = 0
    var upstream: String?
    /// The address that got the request last; nil when none did.
    var server: String?
    var isReused = false
    var attempts = 0
    var upstreamStatus: Int?
    var bytesIn = 0
    var bytesOut = 0
    /// Nanoseconds.
    var totalTime: UInt64 = 0
    var verifyTime: UInt64 = 0
    var upstreamTime: UInt64?
    var end: ExchangeEnd?

    /// Appends the access-log line; the fields are those of the table in the documentation.
    func write(to line: inout JSONLineWriter) {
        line.begin()
        line.time("time", millisecondsSince1970: time / 1_000_000)
        line.string("request_id", requestID)
        optional("support_code", supportCode, &line)
        line.string("client", client.description)
        line.string("listener", listener)
        line.constant("protocol", version.text)
        optional("tls", tls, &line)
        optional("method", method.isEmpty ? nil : Array(method), &line)
        optional("host", host.isEmpty ? nil : Array(host), &line)
        optional("path", path.isEmpty ? nil : path, &line)
        optional("route", route, &line)
        optional("match", match == .none ? nil : match.rawValue, &line)
        line.string("mode", mode.rawValue)
        line.string("decision", decision.rawValue)
        optional("reason", reason?.code, &line)
        optional("hid", hid.map { Array($0.prefix(8)) }, &line)
        optional("verdict", verdict, &line)
        optional("session", session, &line)
        line.integer("status", status)
        optional("upstream", upstream, &line)
        optional("server", server, &line)
        if server != nil { line.bool("upstream_reused", isReused) } else { line.null("upstream_reused") }
        line.integer("attempts", attempts)
        if let upstreamStatus { line.integer("upstream_status", upstreamStatus) } else { line.null("upstream_status") }
        line.integer("bytes_in", bytesIn)
        line.integer("bytes_out", bytesOut)
        line.beginObject("ms")
        line.milliseconds("total", nanoseconds: Int(clamping: totalTime))
        line.milliseconds("verify", nanoseconds: Int(clamping: verifyTime))
        if let upstreamTime {
            line.milliseconds("upstream", nanoseconds: Int(clamping: upstreamTime))
        } else {
            line.null("upstream")
        }
        line.endObject()
        optional("end", end?.rawValue, &line)
        line.end()
    }

    private func optional(_ key: StaticString, _ value: [UInt8]?, _ line: inout JSONLineWriter) {
        if let value { line.string(key, value) } else { line.null(key) }
    }

    private func optional(_ key: StaticString, _ value: String?, _ line: inout JSONLineWriter) {
        if let value { line.string(key, value) } else { line.null(key) }
    }
}
