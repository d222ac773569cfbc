// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDTesting
import Synchronization

/// A clock that stands still until a test moves it. Wall clock and monotonic clock are moved one by one.
final class ManualClock: HumanIDClock {
    private struct State {
        var now = Duration.seconds(1_000)
        var wall = TestIssuer.now
        var sleepers: [(id: Int, until: Duration, continuation: CheckedContinuation<Void, Never>)] = []
        var lastID = 0
    }

    private let state = Mutex(State())

    func now() -> Duration { state.withLock { $0.now } }
    func unixSeconds() -> Int64 { state.withLock { $0.wall } }

    /// Lets time pass on both clocks; a negative time sets them back.
    func advance(_ time: Duration) {
        let woken = state.withLock { state in
            state.now += time
            state.wall += time.components.seconds
            let now = state.now
            let woken = state.sleepers.filter { $0.until <= now }
            state.sleepers.removeAll { $0.until <= now }
            return woken
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Moves the wall clock alone.
    func shiftWall(_ seconds: Int64) {
        state.withLock { $0.wall += seconds }
    }

    func sleep(for duration: Duration) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = Task.isCancelled
                let isOver = state.withLock { state in
                    guard !isCancelled else { return true }
                    state.sleepers.append((id, state.now + duration, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.sleepers.firstIndex { $0.id == id }.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume()
        }
    }
}

/// A door for tasks: they wait at it without holding a thread, and a test can wait until enough of them do.
final class TaskGate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var arrivals = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (passes, woken) = state.withLock { state in
                state.arrivals += 1
                let arrivals = state.arrivals
                let woken = state.watchers.filter { $0.count <= arrivals }
                state.watchers.removeAll { $0.count <= arrivals }
                if !state.isOpen { state.waiting.append(continuation) }
                return (state.isOpen, woken)
            }
            for watcher in woken { watcher.continuation.resume() }
            if passes { continuation.resume() }
        }
    }

    /// Opens the gate for all who wait and who come.
    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until that many have come.
    func arrived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                guard state.arrivals < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
