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

/// Eight octets at a time, for the long runs of a head.
extension Span<UInt8> {
    /// The first index at or after `start` that is no field-value octet (HTAB, SP, VCHAR, obs-text), or `end`.
    ///
    /// A word in which no octet is a control is skipped whole; any other word is looked at octet by octet.
    @inline(__always)
    func skipFieldValue(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count, "a range of the span")
        var index = start
        while end &- index >= 8 {
            let offset = index
            // The loop condition and the precondition keep the eight octets inside the span.
            let word = unsafe withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
            if Self.mayHoldControl(word) {
                let stop = ByteClass.skip(ByteClass.value, in: self, from: index, to: index &+ 8)
                if stop < index &+ 8 { return stop }
            }
            index &+= 8
        }
        return ByteClass.skip(ByteClass.value, in: self, from: index, to: end)
    }

    /// Whether one of the eight octets is below 0x20 or is 0x7F; HTAB counts, so that its word is looked at again.
    @inline(__always)
    private static func mayHoldControl(_ word: UInt64) -> Bool {
        let deletions = word ^ 0x7F7F_7F7F_7F7F_7F7F
        let below = (word &- 0x2020_2020_2020_2020) & ~word
        let equal = (deletions &- 0x0101_0101_0101_0101) & ~deletions
        return (below | equal) & 0x8080_8080_8080_8080 != 0
    }
}
