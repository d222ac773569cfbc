// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How many connections all loops of a server hold, and how many they may.
package final class ConnectionBudget: Sendable {
    private let open = Atomic<Int>(0)
    private let perClient = Mutex<[PeerAddress: Int]>([:])
    private let limit: Int
    private let limitPerClient: Int

    package init(limit: Int, limitPerClient: Int) {
        self.limit = limit
        self.limitPerClient = limitPerClient
    }

    /// Connections open now.
    ///
    /// Any thread.
    package var count: Int { open.load(ordering: .relaxed) }

    /// Takes a place; false when all are taken.
    func take() -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= limit else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Counts a place that was taken for its client; false when the client has all it may have.
    func count(_ peer: PeerAddress) -> Bool {
        perClient.withLock { counts in
            let count = counts[peer, default: 0]
            guard count < limitPerClient else { return false }
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
