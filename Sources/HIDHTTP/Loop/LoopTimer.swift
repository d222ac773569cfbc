// SPDX-License-Identifier: Apache-2.0

/// A duration in the unit of the loop's clock, converted once: the arithmetic of `Duration` is 128 bits wide.
package struct Delay: Sendable, Hashable {
    let nanoseconds: UInt64

    package init(_ duration: Duration) {
        nanoseconds = duration.nanoseconds
    }
}

/// A deadline that is moved far more often than it fires.
///
/// Moving it later costs one store: the entry in the loop's heap stays where it is and is put back when it comes up
/// too early. Confined to its loop.
package final class LoopTimer {
    /// Monotonic nanoseconds; `UInt64.max` means off.
    fileprivate(set) var deadline = UInt64.max
    /// The earliest entry of this timer in the heap.
    fileprivate var queued = UInt64.max
    private let action: () -> Void

    /// Makes a timer that is off.
    ///
    /// `action` runs on the loop and must not hold the owner strongly.
    package init(action: @escaping () -> Void) {
        self.action = action
    }

    /// Switches the timer off.
    package func cancel() {
        deadline = .max
    }

    package var isSet: Bool { deadline != .max }

    fileprivate func fire() {
        deadline = .max
        action()
    }
}

/// The timers of one loop: a binary heap of deadlines with lazy correction.
struct TimerHeap {
    private var entries: [(deadline: UInt64, timer: LoopTimer)] = []

    /// The next moment at which something may be due.
    var next: UInt64? { entries.first?.deadline }

    mutating func set(_ timer: LoopTimer, to deadline: UInt64) {
        timer.deadline = deadline
        guard deadline < timer.queued else { return }
        timer.queued = deadline
        push(deadline, timer)
    }

    /// Takes one due timer off the heap; nil when none is due.
    ///
    /// The caller runs it outside any access to the heap.
    mutating func popDue(at now: UInt64) -> LoopTimer? {
        while let first = entries.first, first.deadline <= now {
            let timer = first.timer
            pop()
            guard first.deadline == timer.queued else { continue }
            timer.queued = .max
            if timer.deadline <= now { return timer }
            if timer.deadline != .max {
                timer.queued = timer.deadline
                push(timer.deadline, timer)
            }
        }
        return nil
    }

    private mutating func push(_ deadline: UInt64, _ timer: LoopTimer) {
        entries.append((deadline, timer))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].deadline < entries[parent].deadline else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func pop() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < entries.count else { break }
            let right = left + 1
            let child =
                right < entries.count && entries[right].deadline < entries[left].deadline ? right : left
            guard entries[child].deadline < entries[parent].deadline else { break }
            entries.swapAt(child, parent)
            parent = child
        }
    }
}

extension LoopTimer {
    /// Runs the action; only the loop calls this.
    func run() { fire() }
}
