// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Dispatch
internal import Synchronization

/// When memory that a storm of connections needed is worth giving back.
struct TrimPolicy {
    /// So many connections less than there were.
    static let fall = 1_000
    /// A moment is quiet when no more came or went since the last look.
    static let stir = 100
    /// Nanoseconds between two times: while it works, threads that allocate wait for it.
    static let pause: UInt64 = 60_000_000_000

    private var peak = 0
    private var before = 0
    private var last: UInt64?

    /// Looks at how many connections are open, and were at most since it last did; true when now is the time.
    mutating func looks(at count: Int, highest: Int, now: UInt64) -> Bool {
        let isQuiet = (count - before).magnitude <= UInt(Self.stir)
        before = count
        peak = max(peak, highest)
        guard isQuiet, peak - count > Self.fall, last.map({ now &- $0 >= Self.pause }) ?? true else { return false }
        last = now
        peak = count
        return true
    }
}

/// Gives memory back to the kernel after a storm of connections (malloc_trim(3)).
///
/// The allocator keeps what was freed below anything still in use: after 4,000 connections with 16 KiB each that was
/// 60 MB until the end of the process. Works on a queue of its own; any thread may make and cancel it.
package final class MemoryTrim: @unchecked Sendable {
    /// Set once; Dispatch guards it.
    private let timer: any DispatchSourceTimer
    private static let look = 10

    /// Looks at the budget from now on, until `cancel`.
    package init(_ budget: ConnectionBudget) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "hidgate.trim", qos: .utility))
        let policy = Mutex(TrimPolicy())
        timer.setEventHandler {
            let now = MonotonicClock.now()
            let (highest, count) = (budget.takePeak(), budget.count)
            if policy.withLock({ $0.looks(at: count, highest: highest, now: now) }) { malloc_trim(0) }
        }
        timer.schedule(deadline: .now() + .seconds(Self.look), repeating: .seconds(Self.look), leeway: .seconds(1))
        timer.activate()
        self.timer = timer
    }

    package func cancel() {
        timer.cancel()
    }
}
