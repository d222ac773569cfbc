// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// A registry in an SQLite database file.
///
/// Safe from any thread. Calls only add to a list; one queue takes all that is pending, does it in one transaction and
/// answers when that is committed, on the queue. An answer must not block. One process at a time may have the file.
package final class SQLiteIssuerStore: IssuerStore {
    /// Calls that may wait; more are `unavailable`.
    ///
    /// Events get half of the places.
    package static let maximumPending = 10_000

    private let commits: GroupCommit
    private let lost = Atomic<Int>(0)

    /// Opens the registry, or makes it in a directory that exists; blocks.
    ///
    /// - Parameters:
    ///   - path: the database file; it and the files that SQLite puts beside it are for their owner alone (0600).
    ///   - limits: how much is kept.
    ///   - waitMilliseconds: how long to wait for another process that has the file.
    /// - Throws: `full` or `unavailable` for what is no registry, of a newer version, damaged or in use; it is left
    ///   as it is.
    package convenience init(
        path: String, limits: IssuerStoreLimits = .disk, waitMilliseconds: Int32 = 2_000
    ) throws(StoreFault) {
        try self.init(
            path: path, limits: limits, bootID: RegistryFile.bootID(), waitMilliseconds: waitMilliseconds)
    }

    init(
        path: String, limits: IssuerStoreLimits = .disk, bootID: String?, waitMilliseconds: Int32 = 0,
        maximumPending: Int = SQLiteIssuerStore.maximumPending
    ) throws(StoreFault) {
        let registry = try Registry(path: path, limits: limits, bootID: bootID, waitMilliseconds: waitMilliseconds)
        commits = GroupCommit(adopting: registry, at: path, maximumPending: maximumPending)
    }

    package var lostEvents: Int { lost.load(ordering: .relaxed) }

    /// Transactions that were committed since it was opened: those that waited for the disk, and the others.
    package var commitCounts: (durable: Int, other: Int) { commits.counts }

    package func issue(
        _ challenge: Challenge, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            try registry.issue(challenge, now: now)
        }
    }

    package func consume(
        _ id: String, now: Int64, answer: @escaping @Sendable (Result<ConsumedChallenge?, StoreFault>) -> Void
    ) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            .success(try registry.consume(id, now: now))
        }
    }

    package func register(
        _ device: DeviceRecord, now: Int64,
        answer: @escaping @Sendable (Result<RegistrationAnswer, StoreFault>) -> Void
    ) {
        commits.ask(durable: true, answer) { registry throws(SQLiteFault) in
            try registry.register(device, now: now)
        }
    }

    package func advance(
        keyID: [UInt8], to counter: UInt32, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        commits.ask(durable: true, answer) { registry throws(SQLiteFault) in
            .success(try registry.advance(keyID: keyID, to: counter))
        }
    }

    package func block(
        serials: [String: String], now: Int64, answer: @escaping @Sendable (Result<[String], StoreFault>) -> Void
    ) {
        commits.ask(durable: true, answer) { registry throws(SQLiteFault) in
            .success(try registry.block(serials: serials))
        }
    }

    package func deny(_ denial: Denial, answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        commits.ask(durable: true, answer) { registry throws(SQLiteFault) in try registry.deny(denial) }
    }

    package func allow(
        _ hid: String, reason: String, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        commits.ask(durable: true, answer) { registry throws(SQLiteFault) in
            .success(try registry.allow(hid, reason: reason, now: now))
        }
    }

    package func denials(
        history: Bool, now: Int64, answer: @escaping @Sendable (Result<[Denial], StoreFault>) -> Void
    ) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            .success(try registry.denials(history: history, now: now))
        }
    }

    package func device(_ hid: String, answer: @escaping @Sendable (Result<DeviceRecord?, StoreFault>) -> Void) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in .success(try registry.device(hid)) }
    }

    package func registrations(
        ofBatch batchID: String, since: Int64, answer: @escaping @Sendable (Result<Int, StoreFault>) -> Void
    ) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            .success(try registry.registrations(ofBatch: batchID, since: since))
        }
    }

    package func record(_ event: RegistryEvent) {
        let count: @Sendable (Result<Void, StoreFault>) -> Void = { [self] result in
            if case .failure = result { lost.add(1, ordering: .relaxed) }
        }
        commits.ask(durable: false, isMinor: true, count) { registry throws(SQLiteFault) in
            .success(try registry.record(event))
        }
    }

    package func events(
        hid: String?, limit: Int, answer: @escaping @Sendable (Result<[RegistryEvent], StoreFault>) -> Void
    ) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            .success(try registry.events(hid: hid, limit: limit))
        }
    }

    package func probe(answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in .success(try registry.probe()) }
    }

    /// What is wrong in the file, in SQLite's words; empty when nothing is.
    ///
    /// Reads the whole file while all other calls wait: for an operator's command, never by itself.
    package func check(answer: @escaping @Sendable (Result<[String], StoreFault>) -> Void) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in .success(try registry.faults()) }
    }

    /// Holds the file to `pages` pages of 4 KiB, as a disk of that size would.
    func limitSize(pages: Int64, answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        commits.ask(durable: false, answer) { registry throws(SQLiteFault) in
            .success(try registry.limitSize(pages: pages))
        }
    }

    package func close() {
        commits.close()
    }
}
