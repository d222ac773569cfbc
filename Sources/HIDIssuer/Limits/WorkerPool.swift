// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import HIDCrypto
internal import Synchronization

/// Does the curve work off the event loops, with a bound on what may wait.
///
/// Safe from any thread.
package final class WorkerPool: Sendable {
    /// One serial queue with objects of its own.
    private final class Worker: @unchecked Sendable {
        let queue: DispatchQueue
        /// Confined to the queue.
        let verifier: P256Verifier

        init(index: Int) throws(CryptoError) {
            queue = DispatchQueue(label: "hidgate.worker.\(index)")
            verifier = try P256Verifier()
        }
    }

    private let workers: [Worker]
    private let limit: Int
    private let waiting = Atomic<Int>(0)
    private let turn = Atomic<Int>(0)

    /// Makes `count` workers; at most `limit` jobs may be under way or wait.
    package init(count: Int, limit: Int = 1_024) throws(CryptoError) {
        var workers: [Worker] = []
        for index in 0..<max(1, count) {
            workers.append(try Worker(index: index))
        }
        self.workers = workers
        self.limit = limit
    }

    /// Jobs under way and waiting.
    package var depth: Int { waiting.load(ordering: .relaxed) }

    /// Whether another job would be taken.
    var hasRoom: Bool { depth < limit }

    /// Runs a job on a worker; false when too many wait.
    func submit(_ job: @escaping @Sendable (P256Verifier) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= limit else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let worker = workers[abs(turn.add(1, ordering: .relaxed).newValue % workers.count)]
        worker.queue.async { [self] in
            job(worker.verifier)
            waiting.subtract(1, ordering: .relaxed)
        }
        return true
    }
}
