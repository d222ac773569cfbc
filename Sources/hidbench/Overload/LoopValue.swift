// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HIDHTTP

extension EventLoop {
    /// Runs `body` on the loop and waits for what it gives.
    ///
    /// Never from the loop itself.
    @discardableResult
    func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
        let ready = DispatchSemaphore(value: 0)
        let box = ValueBox<Value>()
        enqueue {
            box.value = body()
            ready.signal()
        }
        while true {
            ready.wait()
            if let value = box.value { return value }
        }
    }
}

/// Written on the loop before the semaphore that its reader waits for.
private final class ValueBox<Value: Sendable>: @unchecked Sendable {
    var value: Value?
}

/// Waiting, on a thread that serves nobody.
enum Pause {
    static func milliseconds(_ count: UInt32) {
        usleep(count * 1000)
    }

    /// Looks every few milliseconds until `isSo`, at most `seconds`; how long that took, nil when it never was.
    static func until(_ seconds: Double, _ isSo: () throws(BenchError) -> Bool) throws(BenchError) -> Double? {
        let start = MonotonicClock.now()
        while true {
            if try isSo() { return Double(MonotonicClock.now() - start) / 1e9 }
            guard Double(MonotonicClock.now() - start) / 1e9 < seconds else { return nil }
            milliseconds(20)
        }
    }
}
