// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// Field names that do not cross the gateway, found by length first.
struct FieldNameTable: Sendable {
    private var byLength: [[FieldName]] = []

    init(_ names: [StaticString]) {
        for name in names.map({ FieldName($0) }) {
            while byLength.count <= name.bytes.count { byLength.append([]) }
            byLength[name.bytes.count].append(name)
        }
    }

    func contains(_ name: Span<UInt8>) -> Bool {
        guard name.count < byLength.count else { return false }
        for candidate in byLength[name.count] where candidate.matches(name) { return true }
        return false
    }

    /// Fields of a request that end here: hop-by-hop (RFC 9110 section 7.6.1), framing that is made anew, and
    /// overrides of path or method that some upstreams obey and no rule has seen.
    static let request = FieldNameTable([
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect",
        "content-length", "http2-settings", "proxy-authorization", "proxy-authenticate", "x-original-url",
        "x-original-uri", "x-rewrite-url", "x-original-host", "x-http-method-override", "x-http-method",
        "x-method-override", "x-request-id", "forwarded", "x-real-ip", "true-client-ip", "x-client-ip",
        "x-cluster-client-ip",
    ])

    /// Fields of an answer that end here.
    static let response = FieldNameTable([
        "connection", "keep-alive", "proxy-connection", "trailer", "transfer-encoding", "upgrade", "content-length",
        "proxy-authenticate", "x-request-id",
    ])
}
