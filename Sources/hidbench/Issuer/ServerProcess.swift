// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HIDService

/// A process of this machine, as /proc tells of it.
struct ServerProcess {
    let pid: Int

    /// Microseconds of CPU that all its threads have taken, in steps of a clock tick (proc(5), fields 14 and 15).
    func processorTime() throws(BenchError) -> Double {
        let text = try BenchFile.contents("/proc/\(pid)/stat", limit: 64 << 10)
        // The name, in parentheses, may hold anything.
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { throw .failure("process \(pid) is gone") }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 12, let user = Int(String(decoding: fields[11], as: UTF8.self)),
            let system = Int(String(decoding: fields[12], as: UTF8.self))
        else { throw .failure("process \(pid) has no times") }
        return Double(user + system) * 1e6 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// Measures the P-256 operation now and then while a load runs, so that both see the same machine.
///
/// Confined to its queue apart from `start` and `stop`.
final class Yardstick: @unchecked Sendable {
    private let queue = DispatchQueue(label: "hidbench.yardstick")
    private let cost: CurveCost
    private var samples = Samples()
    private var source: (any DispatchSourceTimer)?

    init() throws(BenchError) {
        cost = try CurveCost()
    }

    func start() {
        queue.sync {
            samples = Samples()
            let source = DispatchSource.makeTimerSource(queue: queue)
            source.schedule(deadline: .now(), repeating: .milliseconds(20))
            source.setEventHandler { [self] in
                // The first finds cold caches.
                _ = cost.verification(1)
                samples.add(cost.verification(4))
            }
            source.activate()
            self.source = source
        }
    }

    /// Microseconds of a verification, the mean since the start.
    ///
    /// Not the median: where two cores share their parts a verification costs one of two figures, by what the other
    /// does, and the server's cost is a mean over both.
    func stop() -> Double {
        queue.sync {
            source?.cancel()
            source = nil
            return samples.mean
        }
    }
}
