// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How many octets all loops together keep for peers that take them slowly, and how many they should.
///
/// Any thread.
package final class BufferBudget: Sendable {
    private let total = Atomic<Int>(0)
    private let most: Atomic<Int>

    /// - Parameter limit: octets beyond which no connection is taken in; what is there is served on.
    package init(limit: Int) {
        most = Atomic(limit)
    }

    /// Octets.
    package var limit: Int { most.load(ordering: .relaxed) }

    /// Holds to another limit from now on.
    package func adopt(limit: Int) {
        most.store(limit, ordering: .relaxed)
    }

    /// Octets kept now, as the loops last told.
    package var count: Int { total.load(ordering: .relaxed) }

    fileprivate func add(_ octets: Int) {
        total.wrappingAdd(octets, ordering: .relaxed)
    }
}

/// What one loop keeps, told to the budget now and then.
///
/// Confined to the loop: a write costs an addition here, and the shared number is touched once in many of them.
package final class BufferAccount {
    private var budget: BufferBudget?
    private var local = 0
    private var told = 0

    /// The shared number may be wrong by so much for each loop in the middle of a turn.
    private static let step = 64 << 10
    /// What one connection may keep while buffers are scarce.
    private static let scarceHighWater = 16 << 10

    /// An account that is part of no budget yet.
    package init() {}

    /// Counts for a budget from now on; without one there is no limit.
    package func join(_ budget: BufferBudget) {
        self.budget = budget
    }

    /// Counts octets that came, or went.
    func add(_ octets: Int) {
        local += octets
        if (local - told).magnitude >= UInt(Self.step) { tell() }
    }

    /// Brings the shared number up to date; the loop does so at the end of each turn.
    func tell() {
        guard let budget, local != told else { return }
        budget.add(local - told)
        told = local
    }

    /// Whether more than half of the budget is used: every connection keeps less.
    package var isScarce: Bool { budget.map { $0.count > $0.limit / 2 } ?? false }

    /// Whether all of it is used: no connection is taken in.
    var isExhausted: Bool { budget.map { $0.count > $0.limit } ?? false }

    /// Octets one connection may keep before its source is held back, where `usual` is ample.
    func highWater(_ usual: Int) -> Int { isScarce ? min(usual, Self.scarceHighWater) : usual }

    /// Octets to read at once from a source whose sink is slow.
    var readSize: Int { isScarce ? Self.scarceHighWater : ReadScratch.size }
}

/// What one connection, or one piece of held content, has in the account of its loop.
package struct BufferShare {
    private var octets = 0

    package init() {}

    /// Sets how much that is now; 0 at the end.
    package mutating func set(_ count: Int, in account: BufferAccount) {
        guard count != octets else { return }
        account.add(count - octets)
        octets = count
    }
}
