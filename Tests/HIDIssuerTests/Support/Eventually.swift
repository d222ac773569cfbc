import Glibc
// SPDX-License-Identifier: Apache-2.0
import HIDTesting

/// For work that another thread finishes soon and tells nobody.
enum Eventually {
    /// Whether something becomes true before the deadline.
    static func holds(within time: Duration = .seconds(20), _ condition: () throws -> Bool) rethrows -> Bool {
        let deadline = Deadline(in: time)
        while deadline.milliseconds > 0 {
            if try condition() { return true }
            usleep(1000)
        }
        return try condition()
    }
}
