// SPDX-License-Identifier: Apache-2.0

/// Octets that are added at one end and taken from the other.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Octets taken that are left in place before the rest is moved down.
    private static let slack = 64 << 10

    /// Octets not yet taken.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }
    /// Everything not yet taken.
    var rest: ArraySlice<UInt8> { bytes[start...] }

    mutating func append(_ octets: Span<UInt8>) {
        bytes.append(copying: octets)
    }

    /// Drops octets from the front.
    mutating func drop(_ taken: Int) {
        start += min(taken, count)
        if start == bytes.count {
            start = 0
            if bytes.capacity > 4 << 10 { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
        } else if start > Self.slack {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }

    /// Empties the queue and returns what was in it.
    mutating func takeAll() -> [UInt8] {
        defer {
            bytes = []
            start = 0
        }
        return start == 0 ? bytes : Array(bytes[start...])
    }
}
