// SPDX-License-Identifier: Apache-2.0

/// Bulk appends that the standard library offers only through pointers.
///
/// The pointers live for one call and are never kept.
extension [UInt8] {
    /// Appends the octets of a span with one copy.
    @inline(__always)
    package mutating func append(copying octets: Span<UInt8>) {
        unsafe octets.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends the octets of a literal with one copy.
    @inline(__always)
    package mutating func append(literal text: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
