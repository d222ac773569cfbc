// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The moment after which a test gives up. Every wait in the test harness has one.
package struct Deadline: Sendable {
    private let instant: ContinuousClock.Instant

    /// A moment from now; the default is far beyond what a loaded machine needs, and below the time limit of a test.
    package init(in time: Duration = .seconds(20)) {
        instant = ContinuousClock.now + time
    }

    /// What is left, in milliseconds for `poll`; zero when it has passed.
    package var milliseconds: Int32 {
        let left = (instant - ContinuousClock.now) / Duration.milliseconds(1)
        return left <= 0 ? 0 : Int32(min(left.rounded(.up), 60_000))
    }

    var date: Date { Date(timeIntervalSinceNow: Double(milliseconds) / 1000) }
}

/// State that one thread changes and another waits on.
package final class Monitor<State>: @unchecked Sendable {
    private let condition = NSCondition()
    /// Guarded by `condition`.
    private var state: State

    package init(_ state: State) {
        self.state = state
    }

    /// Changes or reads the state, and wakes who waits.
    package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return try body(&state)
    }

    /// Waits until `body` gives a value; nil when the deadline has passed.
    package func wait<Result>(_ deadline: Deadline = Deadline(), for body: (inout State) -> Result?) -> Result? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = body(&state) { return result }
            guard deadline.milliseconds > 0 else { return nil }
            _ = condition.wait(until: deadline.date)
        }
    }
}

/// A door that is opened once: how a test tells a scripted peer to go on.
package final class Gate: Sendable {
    private let isOpen = Monitor(false)

    package init() {}

    package func open() { isOpen.withLock { $0 = true } }

    /// Whether it was opened before the deadline.
    @discardableResult
    package func wait(_ deadline: Deadline = Deadline()) -> Bool {
        isOpen.wait(deadline) { $0 ? true : nil } ?? false
    }
}
