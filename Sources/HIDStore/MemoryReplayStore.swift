// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The replay marks of one process, bounded.
///
/// Safe from any thread.
///
/// Lives are counted on the monotonic clock, so a step of the wall clock neither frees nor keeps a mark.
package final class MemoryReplayStore: ReplayStore {
    private struct Mark {
        var expiry: UInt64
        var firstUse: UInt64
        var fingerprint: UInt64
    }

    private struct Table {
        var marks: [ReplayKey: Mark] = [:]
        /// Keys by the second in which they expire.
        var expiring: [UInt64: [ReplayKey]] = [:]
        var swept: UInt64 = 0
    }

    private static let second: UInt64 = 1_000_000_000
    private let table = Mutex(Table())
    private let capacity: Int

    /// Makes an empty store that holds at most `capacity` marks.
    package init(capacity: Int = 1_000_000) {
        self.capacity = capacity
    }

    /// Marks held now, expired ones not yet swept included.
    package var count: Int { table.withLock { $0.marks.count } }

    package func useOnce(_ use: ReplayUse, now: UInt64, answer: @escaping (ReplayAnswer) -> Void) {
        answer(useOnce(use, now: now))
    }

    /// Like the protocol's verb, with the answer as a result.
    package func useOnce(_ use: ReplayUse, now: UInt64) -> ReplayAnswer {
        table.withLock { table in
            Self.sweep(&table, now: now)
            if let mark = table.marks[use.key], mark.expiry > now {
                let isEqual = mark.fingerprint == use.fingerprint && now &- mark.firstUse < use.grace
                return isEqual ? .graced : .repeated
            }
            guard table.marks.count < capacity else { return .full }
            Self.insert(use.key, Mark(expiry: now &+ use.life, firstUse: now, fingerprint: use.fingerprint), &table)
            return .first
        }
    }

    private static func insert(_ key: ReplayKey, _ mark: Mark, _ table: inout Table) {
        table.marks[key] = mark
        table.expiring[mark.expiry / second, default: []].append(key)
    }

    /// Forgets what has expired.
    ///
    /// Every second's keys are looked at once.
    private static func sweep(_ table: inout Table, now: UInt64) {
        let current = now / second
        guard current > table.swept else { return }
        let due = table.expiring.keys.filter { $0 < current }
        for bucket in due {
            for key in table.expiring.removeValue(forKey: bucket) ?? [] {
                if let mark = table.marks[key], mark.expiry <= now { table.marks[key] = nil }
            }
        }
        table.swept = current
    }

    // MARK: - Across a restart

    /// A mark as it is carried over a clean restart.
    package struct SavedMark: Equatable, Sendable {
        package var key: ReplayKey
        package var fingerprint: UInt64
        /// Nanoseconds of life left when it was saved.
        package var life: UInt64

        package init(key: ReplayKey, fingerprint: UInt64, life: UInt64) {
            self.key = key
            self.fingerprint = fingerprint
            self.life = life
        }
    }

    /// Everything that is still alive at `now`.
    package func save(now: UInt64) -> [SavedMark] {
        table.withLock { table in
            table.marks.compactMap { key, mark in
                guard mark.expiry > now else { return nil }
                return SavedMark(key: key, fingerprint: mark.fingerprint, life: mark.expiry - now)
            }
        }
    }

    /// Takes over saved marks with the whole life they had: how long the restart took is not known for sure.
    package func load(_ marks: [SavedMark], now: UInt64) {
        table.withLock { table in
            for saved in marks.prefix(capacity) {
                let mark = Mark(expiry: now &+ saved.life, firstUse: 0, fingerprint: saved.fingerprint)
                Self.insert(saved.key, mark, &table)
            }
        }
    }
}
