// SPDX-License-Identifier: Apache-2.0

/// When a server that fails is left alone for a while.
package struct EjectionPolicy: Sendable, Hashable {
    /// So many failures within `within` eject.
    package var failures = 5
    package var within: Duration = .seconds(10)
    /// The first time; doubled each time it happens again, up to `longest`.
    package var time: Duration = .seconds(10)
    package var longest: Duration = .seconds(300)
    /// Most of the servers of an upstream that may be out at once.
    package var maximumPercent = 50
    /// Whether the statuses 502, 503 and 504 count as failures.
    package var countsStatuses = false

    package init() {}

    /// How many of `count` addresses may be out at once: one of two at least, never the only one.
    func maximumEjected(of count: Int) -> Int {
        count < 2 ? 0 : max(1, count * maximumPercent / 100)
    }
}

/// The failures of one address, and how often it was ejected.
struct EjectionHistory {
    private var failures: [UInt64] = []
    private var ejections = 0
    private var lastEnd: UInt64 = 0

    /// Counts a failure at `now` (monotonic nanoseconds).
    ///
    /// Returns whether the address has failed often enough to be ejected.
    mutating func note(_ policy: EjectionPolicy, now: UInt64) -> Bool {
        let window = policy.within.nanoseconds
        failures.removeAll { $0 &+ window < now }
        failures.append(now)
        if failures.count > policy.failures { failures.removeFirst(failures.count - policy.failures) }
        return failures.count >= policy.failures
    }

    /// Begins an ejection and returns the moment of its end.
    ///
    /// An address that was well for as long as the longest ejection starts from the first one again.
    mutating func eject(_ policy: EjectionPolicy, now: UInt64) -> UInt64 {
        if ejections > 0, now > lastEnd, now - lastEnd > policy.longest.nanoseconds { ejections = 0 }
        let doubled = policy.time.nanoseconds.multipliedReportingOverflow(by: 1 << UInt64(min(ejections, 20)))
        let time = doubled.overflow ? policy.longest.nanoseconds : min(doubled.partialValue, policy.longest.nanoseconds)
        ejections += 1
        failures.removeAll(keepingCapacity: true)
        lastEnd = now &+ max(time, 1)
        return lastEnd
    }
}
