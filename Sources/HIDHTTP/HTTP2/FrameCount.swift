// SPDX-License-Identifier: Apache-2.0

/// How often something happened in the last seconds, counted by the second.
struct FrameCount {
    /// Seconds looked back, the one under way included.
    static let seconds: UInt64 = 10

    private var counts = [10 of UInt32](repeating: 0)
    private var second: UInt64 = 0
    private(set) var total = 0

    /// Counts one more at `now` (monotonic nanoseconds) and returns how many the window holds.
    mutating func add(at now: UInt64) -> Int {
        advance(to: now)
        counts[Int(second % Self.seconds)] &+= 1
        total += 1
        return total
    }

    /// How many the window holds at `now`.
    mutating func count(at now: UInt64) -> Int {
        advance(to: now)
        return total
    }

    private mutating func advance(to now: UInt64) {
        let current = now / 1_000_000_000
        guard current > second else { return }
        if current - second >= Self.seconds {
            counts = [10 of UInt32](repeating: 0)
            total = 0
        } else {
            for passed in (second + 1)...current {
                let slot = Int(passed % Self.seconds)
                total -= Int(counts[slot])
                counts[slot] = 0
            }
        }
        second = current
    }
}
