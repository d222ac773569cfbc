// SPDX-License-Identifier: Apache-2.0

/// A field name of RFC 9110 section 5.1, kept in lower case for comparison.
package struct FieldName: Sendable, Hashable {
    /// The name in ASCII lower case.
    package let bytes: [UInt8]

    /// Makes a name from a literal; letters are folded to lower case.
    package init(_ name: StaticString) {
        bytes = name.description.utf8.map { ASCII.lower($0) }
    }

    /// Makes a name from bytes that a parser has already checked to be a token.
    package init(folding name: some Sequence<UInt8>) {
        bytes = name.map { ASCII.lower($0) }
    }

    /// Whether the octets are that name in any letter case.
    package func matches(_ octets: Span<UInt8>) -> Bool {
        ASCII.equalIgnoringCase(bytes.span, octets)
    }

    /// Whether the octets begin with that name in any letter case.
    package func isPrefix(of octets: Span<UInt8>) -> Bool {
        bytes.count <= octets.count && matches(octets.extracting(first: bytes.count))
    }
}

/// Byte classes of the HTTP grammar.
///
/// Strings never take part: Swift compares them by canonical equivalence.
package enum ASCII {
    /// Folds A-Z to a-z and leaves every other byte alone.
    package static func lower(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two byte runs are equal when ASCII letters are folded.
    package static func equalIgnoringCase(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where lower(left[index]) != lower(right[index]) { return false }
        return true
    }
}
