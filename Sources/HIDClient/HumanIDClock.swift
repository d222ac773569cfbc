// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// Time as the SDK needs it.
///
/// Lives and delays are judged by `now()` alone; `unixSeconds()` serves only the offset to the server's clock, so that
/// a wrong or changed wall clock changes nothing.
public protocol HumanIDClock: Sendable {
    /// The time since some fixed moment, which never goes back and runs on while the device is suspended.
    func now() -> Duration

    /// Seconds since 1970 by the wall clock.
    func unixSeconds() -> Int64

    /// Waits; returns early when the calling task is cancelled.
    func sleep(for duration: Duration) async
}

/// The clock of the operating system: CLOCK_BOOTTIME on Linux, mach_continuous_time on Apple platforms.
public struct SystemClock: HumanIDClock {
    private static let origin = ContinuousClock.now

    /// Makes a clock; all of them show the same time.
    public init() {}

    /// The time since the first use of any of these clocks, suspended time included.
    public func now() -> Duration { Self.origin.duration(to: ContinuousClock.now) }

    /// Seconds since 1970 by the wall clock.
    public func unixSeconds() -> Int64 { Int64(time(nil)) }

    /// Waits by the same clock.
    public func sleep(for duration: Duration) async {
        try? await Task.sleep(for: duration, clock: ContinuousClock())
    }
}

extension Duration {
    /// Held to between nothing and a day, so that no arithmetic on it can overflow.
    var inBounds: Duration { min(max(self, .zero), .seconds(86_400)) }
}
