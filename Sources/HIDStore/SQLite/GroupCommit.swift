// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Does what is asked of a registry, as much as is pending in each transaction.
///
/// While transactions follow each other closely, the queue waits a moment after each: what comes meanwhile shares the
/// next one, and neither the queue nor whoever gets the answers is woken for every call. A call that comes alone is
/// done at once.
///
/// `registry` and `lastBegin` are confined to `queue`; everything else is safe from any thread.
final class GroupCommit: @unchecked Sendable {
    /// One call.
    private struct Job: Sendable {
        var isDurable: Bool
        /// Does the work within a transaction and returns what tells the answer once that is committed.
        ///
        /// May run twice, when the first transaction was undone.
        var run: @Sendable (Registry) throws(SQLiteFault) -> @Sendable () -> Void
        var fail: @Sendable (StoreFault) -> Void
    }

    private struct Pending {
        var jobs: [Job] = []
        var isScheduled = false
        var isClosed = false
    }

    private enum Admission {
        case schedule, wait, refuse(StoreFault)
    }

    private static let key = DispatchSpecificKey<ObjectIdentifier>()
    /// Transactions that begin within so many nanoseconds of each other are close.
    private static let closeness: UInt64 = 2_000_000
    /// Microseconds of a wait; a call waits half of it on average.
    private static let gatherTime: UInt32 = 1_000
    private let queue = DispatchQueue(label: "hid.registry")
    private let pending = Mutex(Pending())
    /// For messages.
    private let path: String
    private let maximumPending: Int
    private let durableCommits = Atomic<Int>(0)
    private let otherCommits = Atomic<Int>(0)
    private var registry: Registry?
    /// When the last transaction began; monotonic nanoseconds.
    private var lastBegin: UInt64 = 0

    init(adopting registry: sending Registry, at path: String, maximumPending: Int) {
        self.registry = registry
        self.path = path
        self.maximumPending = maximumPending
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Has `body` run in one of the next transactions; a minor call is refused first when many wait.
    func ask<Value: Sendable>(
        durable: Bool, isMinor: Bool = false, _ answer: @escaping @Sendable (Result<Value, StoreFault>) -> Void,
        _ body: @escaping @Sendable (Registry) throws(SQLiteFault) -> Result<Value, StoreFault>
    ) {
        let job = Job(
            isDurable: durable,
            run: { registry throws(SQLiteFault) in
                let result = try body(registry)
                return { answer(result) }
            },
            fail: { answer(.failure($0)) })
        switch admit(job, bound: isMinor ? maximumPending / 2 : maximumPending) {
        case .schedule: queue.async { self.drain() }
        case .wait: break
        case .refuse(let fault): answer(.failure(fault))
        }
    }

    private func admit(_ job: Job, bound: Int) -> Admission {
        pending.withLock { pending in
            guard !pending.isClosed else { return .refuse(.closed) }
            guard pending.jobs.count < bound else { return .refuse(.unavailable("the registry has too much to do")) }
            pending.jobs.append(job)
            guard !pending.isScheduled else { return .wait }
            pending.isScheduled = true
            return .schedule
        }
    }

    /// Ends after all that was asked before; called by an answer it does not wait for that.
    func close() {
        pending.withLock { $0.isClosed = true }
        if DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) {
            queue.async { self.registry = nil }
        } else {
            queue.sync { registry = nil }
        }
    }

    /// Transactions that were committed so far.
    var counts: (durable: Int, other: Int) {
        (durableCommits.load(ordering: .relaxed), otherCommits.load(ordering: .relaxed))
    }

    private func drain() {
        dispatchPrecondition(condition: .onQueue(queue))
        while true {
            let jobs = pending.withLock { pending -> [Job] in
                let jobs = pending.jobs
                pending.jobs = []
                if jobs.isEmpty { pending.isScheduled = false }
                return jobs
            }
            guard !jobs.isEmpty else { return }
            let begin = Self.now()
            finish(jobs)
            if begin &- lastBegin < Self.closeness { usleep(Self.gatherTime) }
            lastBegin = begin
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    private func finish(_ jobs: [Job]) {
        guard let registry else {
            for job in jobs { job.fail(.closed) }
            return
        }
        let isDurable = jobs.contains { $0.isDurable }
        var answers: [@Sendable () -> Void] = []
        answers.reserveCapacity(jobs.count)
        do {
            try registry.begin(durable: isDurable)
            for job in jobs { answers.append(try job.run(registry)) }
        } catch {
            // One of them is at fault, and its transaction is lost for all: each for itself then.
            registry.rollBack()
            if jobs.count == 1 { jobs[0].fail(error.storeFault(path)) } else { for job in jobs { finish([job]) } }
            return
        }
        do {
            try registry.commitTransaction()
        } catch {
            registry.rollBack()
            for job in jobs { job.fail(error.storeFault(path)) }
            return
        }
        if isDurable { durableCommits.add(1, ordering: .relaxed) } else { otherCommits.add(1, ordering: .relaxed) }
        for answer in answers { answer() }
    }
}
