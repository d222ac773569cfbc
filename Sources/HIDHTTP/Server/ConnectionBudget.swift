// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How many connections all loops of a server hold, and how many they may.
package final class ConnectionBudget: Sendable {
    private let open = Atomic<Int>(0)
    private let most = Atomic<Int>(0)
    private let perClient = Mutex<[PeerAddress: Int]>([:])
    private let limit: Atomic<Int>
    private let limitPerClient: Atomic<Int>

    package init(limit: Int, limitPerClient: Int) {
        self.limit = Atomic(limit)
        self.limitPerClient = Atomic(limitPerClient)
    }

    /// Holds to other limits from now on; connections beyond them that are open stay.
    ///
    /// Any thread.
    package func adopt(limit: Int, limitPerClient: Int) {
        self.limit.store(limit, ordering: .relaxed)
        self.limitPerClient.store(limitPerClient, ordering: .relaxed)
    }

    /// Connections open now.
    ///
    /// Any thread.
    package var count: Int { open.load(ordering: .relaxed) }

    /// The most that were open at a time since this was asked last.
    ///
    /// Any thread, but one.
    func takePeak() -> Int { most.exchange(count, ordering: .relaxed) }

    /// Takes a place; false when all are taken.
    func take() -> Bool {
        let count = open.add(1, ordering: .relaxed).newValue
        guard count <= limit.load(ordering: .relaxed) else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        most.max(count, ordering: .relaxed)
        return true
    }

    /// Counts a place that was taken for its client; false when the client has all it may have.
    func count(_ peer: PeerAddress) -> Bool {
        let limit = limitPerClient.load(ordering: .relaxed)
        return perClient.withLock { counts in
            let count = counts[peer, default: 0]
            guard count < limit else { return false }
            counts[peer] = count + 1
            return true
        }
    }

    /// Gives a place back, and the client's if it was counted for one.
    func giveBack(_ peer: PeerAddress?) {
        open.subtract(1, ordering: .relaxed)
        guard let peer else { return }
        perClient.withLock { counts in
            guard let count = counts[peer] else { return }
            counts[peer] = count > 1 ? count - 1 : nil
        }
    }
}

/// Which limit refused a connection.
package enum RefusalCause: String, Sendable, CaseIterable {
    /// All the connections a server may have.
    case connections
    /// All that one client may have.
    case perClient = "per_client"
    /// More octets wait for slow peers than the budget holds.
    case buffered
    /// Descriptors are nearly used up.
    case descriptors
}

/// How often connections were refused, by cause.
///
/// Any thread.
package final class RefusalCounts: Sendable {
    private let counts = Mutex<[RefusalCause: Int]>([:])

    func note(_ cause: RefusalCause) {
        counts.withLock { $0[cause, default: 0] += 1 }
    }

    package func count(of cause: RefusalCause) -> Int { counts.withLock { $0[cause, default: 0] } }
}
