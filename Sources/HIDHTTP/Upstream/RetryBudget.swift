// SPDX-License-Identifier: Apache-2.0

/// How many requests may be sent a second time: a share of those of the last ten seconds, and a few in any case.
///
/// Without it a server that fails everything would get twice the load. Each loop has one and its part of the minimum.
struct RetryBudget {
    private var requests: [Int]
    private var retries: [Int]
    private var second: UInt64 = 0
    private let percent: Int
    private let perSecond: Int

    static let window = 10

    init(percent: Int, perSecond: Int) {
        self.percent = percent
        self.perSecond = perSecond
        requests = Array(repeating: 0, count: Self.window)
        retries = requests
    }

    /// Counts a request; `now` is in monotonic nanoseconds.
    mutating func noteRequest(now: UInt64) {
        advance(now)
        requests[Int(second % UInt64(Self.window))] += 1
    }

    /// Takes a retry out of the budget; false when there is none left.
    ///
    /// `parts`: the loops that share the minimum.
    mutating func take(now: UInt64, parts: Int) -> Bool {
        advance(now)
        let share = requests.reduce(0, +) * percent / 100
        let least = (perSecond * Self.window + max(parts, 1) - 1) / max(parts, 1)
        guard retries.reduce(0, +) < max(share, least) else { return false }
        retries[Int(second % UInt64(Self.window))] += 1
        return true
    }

    private mutating func advance(_ now: UInt64) {
        let current = now / 1_000_000_000
        guard current > second else { return }
        let passed = Int(min(current - second, UInt64(Self.window)))
        for step in 0..<passed {
            let index = Int((current - UInt64(step)) % UInt64(Self.window))
            requests[index] = 0
            retries[index] = 0
        }
        second = current
    }
}
