// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Measured values, in whatever unit they were taken.
struct Samples: Sendable {
    private(set) var values: [Double] = []

    init(_ values: [Double] = []) {
        self.values = values
    }

    mutating func add(_ value: Double) { values.append(value) }

    /// The value that `share` of all are not above, by nearest rank; 0 without any.
    func quantile(_ share: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank - 1, 0), sorted.count - 1)]
    }

    var median: Double { quantile(0.5) }
    var mean: Double { values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count) }
    var maximum: Double { values.max() ?? 0 }
}

/// CLOCK_THREAD_CPUTIME_ID: what this thread has cost, whoever else runs on the machine.
enum ThreadClock {
    /// Microseconds.
    static func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// Microseconds of CPU that `body` takes.
    static func cost(_ body: () -> Void) -> Double {
        let start = now()
        body()
        return now() - start
    }
}
