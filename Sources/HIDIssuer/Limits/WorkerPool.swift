// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import HIDCrypto
internal import HIDHTTP
internal import Synchronization

/// Does the curve work, with a bound on what may wait: attestations off the event loops, key proofs on them.
///
/// A key proof costs a loop less than handing it to another thread and back would, about 0.1 ms; an attestation
/// takes milliseconds and would hold up everybody else.
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

    /// What the loops with one number, modulo the size of the pool, share; hardly ever more than one.
    private final class LoopVerifier: Sendable {
        private let verifier: Mutex<P256Verifier>

        init() throws(CryptoError) {
            verifier = Mutex(try P256Verifier())
        }

        func run(_ job: (P256Verifier) -> Void) {
            verifier.withLock { job($0) }
        }
    }

    private let workers: [Worker]
    private let loopVerifiers: [LoopVerifier]
    private let limit: Int
    private let waiting = Atomic<Int>(0)
    private let turn = Atomic<Int>(0)

    /// Makes `count` workers; at most `limit` jobs may be under way or wait.
    package init(count: Int, limit: Int = 1_024) throws(CryptoError) {
        var workers: [Worker] = []
        var loopVerifiers: [LoopVerifier] = []
        for index in 0..<max(1, count) {
            workers.append(try Worker(index: index))
            loopVerifiers.append(try LoopVerifier())
        }
        self.workers = workers
        self.loopVerifiers = loopVerifiers
        self.limit = limit
    }

    /// Jobs under way and waiting.
    package var depth: Int { waiting.load(ordering: .relaxed) }

    /// Whether another job would be taken.
    var hasRoom: Bool { depth < limit }

    /// Runs a job on a worker; false when too many wait.
    func submit(_ job: @escaping @Sendable (P256Verifier) -> Void) -> Bool {
        guard admit() else { return false }
        let worker = workers[abs(turn.add(1, ordering: .relaxed).newValue % workers.count)]
        worker.queue.async { [self] in
            job(worker.verifier)
            waiting.subtract(1, ordering: .relaxed)
        }
        return true
    }

    /// Runs a short job on an event loop, or on a worker without one; false when too many wait.
    func submit(on loop: EventLoop?, _ job: @escaping @Sendable (P256Verifier) -> Void) -> Bool {
        guard let loop else { return submit(job) }
        guard admit() else { return false }
        let verifier = loopVerifiers[loop.index % loopVerifiers.count]
        let work: @Sendable () -> Void = { [self] in
            verifier.run(job)
            waiting.subtract(1, ordering: .relaxed)
        }
        if loop.isCurrent { loop.afterEvents(work) } else { loop.enqueue(work) }
        return true
    }

    private func admit() -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= limit else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }
}
