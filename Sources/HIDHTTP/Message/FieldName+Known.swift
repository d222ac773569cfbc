// SPDX-License-Identifier: Apache-2.0

/// The names the codec itself reads.
extension FieldName {
    /// Host (RFC 9110 section 7.2).
    package static let host = FieldName("host")
    /// Content-Length (RFC 9110 section 8.6).
    package static let contentLength = FieldName("content-length")
    /// Transfer-Encoding (RFC 9112 section 6.1).
    package static let transferEncoding = FieldName("transfer-encoding")
    /// Connection (RFC 9110 section 7.6.1).
    package static let connection = FieldName("connection")
    /// Expect (RFC 9110 section 10.1.1).
    package static let expect = FieldName("expect")
}

/// The values the codec itself reads, in lower case.
enum KnownToken {
    static let chunked = FieldName("chunked")
    static let close = FieldName("close")
    static let keepAlive = FieldName("keep-alive")
    static let continueExpectation = FieldName("100-continue")
}
