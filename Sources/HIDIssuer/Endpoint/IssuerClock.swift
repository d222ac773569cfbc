// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// The two clocks an issuer needs; tests bring their own.
package struct IssuerClock: Sendable {
    /// Seconds since 1970.
    package var wall: @Sendable () -> Int64
    /// Nanoseconds.
    package var monotonic: @Sendable () -> UInt64

    package init(wall: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> UInt64) {
        self.wall = wall
        self.monotonic = monotonic
    }

    package static let system = IssuerClock(
        wall: { WallClock.now() / 1_000_000_000 }, monotonic: { MonotonicClock.now() })
}
