// SPDX-License-Identifier: Apache-2.0

/// Which names and values a field of an HTTP/2 message may have (RFC 9113 section 8.2).
///
/// The byte classes are those of HTTP/1: what passes here can be written into an HTTP/1 head.
enum HTTP2FieldRules {
    private static let connection: [FieldName] = [
        .connection, FieldName("keep-alive"), FieldName("proxy-connection"), .transferEncoding, FieldName("upgrade"),
    ]
    private static let te = FieldName("te")
    private static let trailers = FieldName("trailers")
    /// Names that mean something to framing, routing or authentication and so may not come behind the content
    /// (RFC 9110 section 6.5.1).
    private static let headOnly: [FieldName] = [
        .host, .contentLength, .expect, te, FieldName("trailer"), FieldName("authorization"), FieldName("cookie"),
        FieldName("content-encoding"), FieldName("content-type"), FieldName("content-range"), FieldName("range"),
        FieldName("cache-control"), FieldName("max-forwards"), FieldName("proxy-authorization"),
        FieldName("set-cookie"), FieldName("forwarded"),
    ]

    /// What is wrong with a field line, or nil.
    static func fault(name: Span<UInt8>, value: Span<UInt8>) -> HTTP2Fault? {
        guard isName(name) else { return .fieldName }
        guard HeadWriter.isValue(value) else { return .fieldValue }
        if isOfConnection(name) { return .connectionField }
        if te.matches(name), !trailers.matches(value) { return .connectionField }
        return nil
    }

    /// Whether the octets are a token without upper-case letters.
    static func isName(_ name: Span<UInt8>) -> Bool {
        guard Token.isValid(name) else { return false }
        for index in name.indices where name[index] &- 0x41 < 26 { return false }
        return true
    }

    /// Whether the field belongs to one HTTP/1 connection (RFC 9113 section 8.2.2).
    static func isOfConnection(_ name: Span<UInt8>) -> Bool {
        for known in connection where known.matches(name) { return true }
        return false
    }

    /// Whether a trailer line of that name is dropped.
    static func isHeadOnly(_ name: Span<UInt8>, _ policy: ConnectionPolicy) -> Bool {
        for known in headOnly where known.matches(name) { return true }
        return policy.protects(name)
    }
}
