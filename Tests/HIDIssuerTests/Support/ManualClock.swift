// SPDX-License-Identifier: Apache-2.0
import Synchronization

@testable import HIDIssuer

/// Both clocks of an issuer; they stand still until they are moved.
final class ManualClock: Sendable {
    /// Seconds since 1970.
    static let start: Int64 = 1_800_000_000

    private struct Time {
        var wall = ManualClock.start
        /// Nanoseconds.
        var monotonic: UInt64 = 1_000_000_000_000
    }

    private let time = Mutex(Time())

    var wall: Int64 { time.withLock { $0.wall } }
    var monotonic: UInt64 { time.withLock { $0.monotonic } }

    /// Lets time pass.
    func advance(_ seconds: Int64) {
        time.withLock { time in
            time.wall += seconds
            time.monotonic += UInt64(seconds) * 1_000_000_000
        }
    }

    /// Sets the wall clock alone, as an operator or a time server does.
    func step(to wall: Int64) {
        time.withLock { $0.wall = wall }
    }

    var issuerClock: IssuerClock {
        IssuerClock(wall: { self.wall }, monotonic: { self.monotonic })
    }
}
