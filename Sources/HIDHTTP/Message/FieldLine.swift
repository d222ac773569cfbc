// SPDX-License-Identifier: Apache-2.0

/// One field line, as ranges into the bytes of the head that holds it.
package struct FieldLine: Sendable, Equatable {
    /// The name, without the colon.
    package var name: Range<Int>
    /// The value, without optional white space around it.
    package var value: Range<Int>
    /// Whether the name holds `_`: such a field is never forwarded, because some upstreams read `_` as `-`.
    package var hasUnderscore: Bool

    package init(name: Range<Int>, value: Range<Int>, hasUnderscore: Bool = false) {
        self.name = name
        self.value = value
        self.hasUnderscore = hasUnderscore
    }
}

/// A head whose field lines are ranges over its own bytes.
package protocol FieldSection {
    /// The octets all ranges point into.
    var bytes: [UInt8] { get }
    /// The field lines in the order they came.
    var fields: [FieldLine] { get }
}

extension FieldSection {
    /// The first field line of that name.
    package func first(_ name: FieldName) -> FieldLine? {
        let wanted = name.bytes.span
        let octets = bytes.span
        for field in fields where field.name.count == wanted.count {
            if ASCII.equalIgnoringCase(octets.extracting(field.name), wanted) { return field }
        }
        return nil
    }

    /// How many field lines have that name.
    package func count(of name: FieldName) -> Int {
        let wanted = name.bytes.span
        let octets = bytes.span
        var count = 0
        for field in fields where field.name.count == wanted.count {
            if ASCII.equalIgnoringCase(octets.extracting(field.name), wanted) { count += 1 }
        }
        return count
    }

    /// The value of the first field line of that name, as text for logs and control-plane use.
    package func text(_ name: FieldName) -> String? {
        first(name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }
}
