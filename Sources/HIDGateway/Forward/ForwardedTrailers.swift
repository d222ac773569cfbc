// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
internal import HIDVerifier

/// The trailer fields that cross the gateway.
///
/// A trailer is read after the decisions were made: names that frame, route, authenticate or tell who the client is
/// have no place there (RFC 9110 section 6.5.1), and neither have ours.
enum ForwardedTrailers {
    private static let forbidden = FieldNameTable([
        "host", "authorization", "cookie", "set-cookie", "te", "trailer", "transfer-encoding", "connection",
        "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "www-authenticate", "upgrade",
        "expect", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
        "max-forwards", "cache-control", "pragma", "age", "expires", "date", "location", "retry-after", "vary",
        "warning", "content-length", "content-type", "content-encoding", "content-range", "content-location",
        "http2-settings", "x-request-id",
    ])
    private static let forwardedPrefix = FieldName("x-forwarded-")

    /// What goes to the upstream.
    static func request(_ trailers: [UInt8]) -> [UInt8] {
        filter(trailers) { name in
            FieldNameTable.request.contains(name) || forwardedPrefix.isPrefix(of: name) || HIDFields.isOurs(name)
        }
    }

    /// What goes to the client.
    static func response(_ trailers: [UInt8]) -> [UInt8] {
        filter(trailers) { FieldNameTable.response.contains($0) }
    }

    /// The lines, already checked octet by octet, without those that may not pass.
    private static func filter(_ trailers: [UInt8], _ drops: (Span<UInt8>) -> Bool) -> [UInt8] {
        guard !trailers.isEmpty else { return [] }
        var kept: [UInt8] = []
        for line in trailers.split(separator: 0x0A) {
            let name = Array(line.prefix { $0 != 0x3A })
            if name.contains(0x5F) || forbidden.contains(name.span) || drops(name.span) { continue }
            kept.append(contentsOf: line)
            kept.append(0x0A)
        }
        return kept
    }
}
