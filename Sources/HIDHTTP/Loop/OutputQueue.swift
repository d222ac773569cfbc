// SPDX-License-Identifier: Apache-2.0

/// Octets waiting to be written to one connection.
///
/// Two buffers: what was handed to the writer once is neither moved nor grown until it is out, because a TLS library
/// may insist on the same memory when it retries; what is added meanwhile gathers in the second.
struct OutputQueue {
    private var current: [UInt8] = []
    private var sent = 0
    private var next: [UInt8] = []

    /// Octets not yet written.
    var count: Int { current.count - sent + next.count }
    var isEmpty: Bool { count == 0 }

    /// Adds octets with `body`, which must only append.
    mutating func append(_ body: (inout [UInt8]) -> Void) {
        if sent == 0, !isInFlight { body(&current) } else { body(&next) }
    }

    mutating func append(_ bytes: Span<UInt8>) {
        append { $0.append(copying: bytes) }
    }

    /// Puts octets before all others; only while nothing was written yet.
    mutating func prepend(_ bytes: [UInt8]) {
        guard sent == 0, !isInFlight else { return }
        current.insert(contentsOf: bytes, at: 0)
    }

    private var isInFlight = false

    /// Writes with `write` (octets, offset) until all is out or it would block.
    ///
    /// Returns the last result.
    mutating func drain(_ write: ([UInt8], Int) -> IOResult) -> IOResult {
        var total = 0
        while true {
            if sent == current.count {
                recycle()
                guard !current.isEmpty else { return .bytes(total) }
            }
            let result = write(current, sent)
            guard case .bytes(let count) = result else {
                isInFlight = true
                return result
            }
            sent += count
            total += count
        }
    }

    /// Everything of `current` is out: the gathered octets take its place, and large storage is given back.
    private mutating func recycle() {
        isInFlight = false
        sent = 0
        if current.capacity > 4 << 10 { current = [] } else { current.removeAll(keepingCapacity: true) }
        swap(&current, &next)
    }
}
