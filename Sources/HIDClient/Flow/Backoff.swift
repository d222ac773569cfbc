// SPDX-License-Identifier: Apache-2.0

/// The time after failures in which the server is left alone.
///
/// The n-th failure in a row shuts for half to all of `initial * 2^(n-1)`, held to `maximum`; the half is random, so
/// that devices which failed together do not come back together. A longer Retry-After counts instead, held to its own
/// maximum, and stretched by up to a quarter.
struct Backoff: Sendable {
    private let initial: Duration
    private let maximum: Duration
    private let longestRetryAfter: Duration
    private var failures = 0
    private var window: (from: Duration, until: Duration)?
    private(set) var failure: HumanIDFailure?

    init(_ config: HumanIDConfig) {
        initial = config.initialBackoff.inBounds
        maximum = config.maximumBackoff.inBounds
        longestRetryAfter = config.maximumRetryAfter.inBounds
    }

    /// What a call is to fail with now; nil when it may try.
    func failure(at now: Duration) -> HumanIDFailure? { remaining(at: now) == nil ? nil : failure }

    /// How long calls still fail fast; nil when they may try, also when the clock ran backwards.
    func remaining(at now: Duration) -> Duration? {
        guard let window, now >= window.from, now < window.until else { return nil }
        return window.until - now
    }

    /// Notes a failure at a moment; `jitter` is a random number in 0 ..< 1.
    mutating func fail(_ failure: HumanIDFailure, at now: Duration, jitter: Double) {
        let share = min(max(jitter, 0), 1)
        failures = min(failures + 1, 17)
        let full = min(initial * (1 << (failures - 1)), maximum)
        var delay = full / 2 + full / 2 * share
        if let asked = failure.retryAfter {
            let honoured = min(max(asked, .zero), longestRetryAfter)
            delay = max(delay, min(honoured + honoured / 4 * share, longestRetryAfter))
        }
        window = (now, now + delay)
        self.failure = failure
    }

    /// Forgets all failures.
    mutating func succeed() {
        failures = 0
        window = nil
        failure = nil
    }
}
