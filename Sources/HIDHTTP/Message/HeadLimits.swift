// SPDX-License-Identifier: Apache-2.0

/// What one head may cost, and what its Connection field may not name.
package struct HeadLimits: Sendable {
    /// Octets of a whole head, start line and empty line included; one more is 431 (RFC 6585 section 5).
    package var headBytes: Int
    /// Field lines of a head; one more is 431.
    package var fields: Int
    /// Octets of a request-target; one more is 414 (RFC 9110 section 15.5.15).
    package var target: Int
    /// Octets of a method; one more is 501 (RFC 9112 section 3).
    ///
    /// With the limit of the target it bounds the request line, which needs no limit of its own.
    package var method: Int
    /// Names a request may not list in Connection.
    package var connection: ConnectionPolicy

    package init(
        headBytes: Int = 65_536, fields: Int = 100, target: Int = 8_192, method: Int = 32,
        connection: ConnectionPolicy = ConnectionPolicy()
    ) {
        self.headBytes = headBytes
        self.fields = fields
        self.target = target
        self.method = method
        self.connection = connection
    }
}

/// The field names that must survive a hop, so that naming one in Connection is an attack (RFC 9110 section 7.6.1).
///
/// Host, Content-Length and Transfer-Encoding are always protected; a product adds its own names and prefixes.
package struct ConnectionPolicy: Sendable {
    /// Protected names.
    package var names: [FieldName]
    /// Protected beginnings of names, `x-hid-` for instance.
    package var prefixes: [FieldName]

    package init(names: [FieldName] = [], prefixes: [FieldName] = []) {
        self.names = [.host, .contentLength, .transferEncoding] + names
        self.prefixes = prefixes
    }

    /// Whether a connection option names a protected field; letters are folded.
    package func protects(_ name: Span<UInt8>) -> Bool {
        for protected in names where protected.matches(name) { return true }
        for prefix in prefixes where prefix.isPrefix(of: name) { return true }
        return false
    }
}
