// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Writes RFC 3339 times in UTC and keeps the last second, since most lines share theirs with the one before.
package struct TimestampWriter: Sendable {
    private var second = Int64.min
    private var prefix: [UInt8] = []

    package init() {}

    /// `2026-03-01T12:30:00.250Z`; years outside 0...9999 are cut to four digits.
    package mutating func append(millisecondsSince1970 time: Int64, to bytes: inout [UInt8]) {
        let milliseconds = ((time % 1000) + 1000) % 1000
        let second = time / 1000 - (time % 1000 < 0 ? 1 : 0)
        if second != self.second {
            self.second = second
            prefix.removeAll(keepingCapacity: true)
            Self.appendSecond(second, to: &prefix)
        }
        bytes += prefix
        bytes.append(0x2E)
        Decimal.appendPadded(Int(milliseconds), digits: 3, to: &bytes)
        bytes.append(0x5A)
    }

    /// Days to year, month and day by the usual civil calendar arithmetic: years start in March, eras are 400 years.
    private static func appendSecond(_ second: Int64, to bytes: inout [UInt8]) {
        let secondOfDay = Int(((second % 86400) + 86400) % 86400)
        let days = Int((second - Int64(secondOfDay)) / 86400) + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let fields: [(value: Int, digits: Int, separator: UInt8)] = [
            (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), 4, 0x2D), (month, 2, 0x2D),
            (dayOfYear - (153 * marchMonth + 2) / 5 + 1, 2, 0x54),
            (secondOfDay / 3600, 2, 0x3A), (secondOfDay / 60 % 60, 2, 0x3A), (secondOfDay % 60, 2, 0),
        ]
        for field in fields {
            Decimal.appendPadded(field.value, digits: field.digits, to: &bytes)
            if field.separator != 0 { bytes.append(field.separator) }
        }
    }
}

/// The clocks of the system.
package enum SystemClock {
    /// Wall clock: for claims and logs only.
    package static var millisecondsSince1970: Int64 {
        let now = read(CLOCK_REALTIME)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Monotonic clock: for timeouts.
    package static var monotonicMicroseconds: Int64 {
        let now = read(CLOCK_MONOTONIC)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time
    }
}
