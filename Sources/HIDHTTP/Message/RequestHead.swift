// SPDX-License-Identifier: Apache-2.0

/// How the content of a message is delimited (RFC 9112 section 6).
package enum BodyFraming: Sendable, Equatable {
    /// No content follows.
    case none
    /// Exactly that many octets follow.
    case length(UInt64)
    /// The chunked coding.
    case chunked
    /// A response that ends with its connection.
    case untilClose
}

/// The start line and field lines of one request, checked and ready to route.
///
/// One value is reused for every request of a connection: `reset` keeps the storage, so that a request in the
/// steady state allocates nothing here.
package struct RequestHead: FieldSection, Sendable, Equatable {
    /// The octets of the head; every range points into them.
    package var bytes: [UInt8] = []
    /// The method, case-sensitive (RFC 9110 section 9.1).
    package var method: Range<Int> = 0..<0
    /// The request-target, exactly as it came.
    package var target: Range<Int> = 0..<0
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    package var minorVersion: UInt8 = 1
    /// The value of Host, or nil for an HTTP/1.0 request without one.
    package var host: Range<Int>?
    /// The field lines, framing fields included.
    package var fields: [FieldLine] = []
    /// How the content is delimited.
    package var framing: BodyFraming = .none
    /// Whether the client wants the connection to go on after the answer (RFC 9112 section 9.3).
    package var isPersistent = true
    /// Whether the client waits for 100 (Continue) before it sends content.
    package var expectsContinue = false

    package init() {}

    /// Forgets the request and keeps the storage.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        method = 0..<0
        target = 0..<0
        minorVersion = 1
        host = nil
        framing = .none
        isPersistent = true
        expectsContinue = false
    }

    /// Gives large storage back: a connection that waits must not keep what one big head needed.
    mutating func trim() {
        if bytes.capacity > 8 << 10 { bytes = [] }
        if fields.capacity > 128 { fields = [] }
    }

    /// Whether the method is exactly that token.
    package func isMethod(_ token: StaticString) -> Bool {
        guard method.count == token.utf8CodeUnitCount else { return false }
        let octets = bytes.span
        let start = method.lowerBound
        return token.withUTF8Buffer { text in
            for index in text.indices {
                guard unsafe text[index] == octets[start + index] else { return false }
            }
            return true
        }
    }
}
