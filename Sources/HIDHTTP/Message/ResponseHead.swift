// SPDX-License-Identifier: Apache-2.0

/// The status line and field lines of one response, checked by the strict parser.
package struct ResponseHead: FieldSection, Sendable, Equatable {
    /// The octets of the head; every range points into them.
    package var bytes: [UInt8] = []
    /// The status code, 100...599.
    package var status = 0
    /// The reason phrase, possibly empty.
    package var reasonPhrase: Range<Int> = 0..<0
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    package var minorVersion: UInt8 = 1
    /// The field lines, framing fields included.
    package var fields: [FieldLine] = []
    /// How the content is delimited, for the method of the request it answers (RFC 9112 section 6.3).
    package var framing: BodyFraming = .none
    /// Whether the upstream keeps the connection.
    package var isPersistent = true

    package init() {}

    /// Forgets the response and keeps the storage.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        status = 0
        reasonPhrase = 0..<0
        minorVersion = 1
        framing = .none
        isPersistent = true
    }
}
