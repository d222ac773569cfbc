// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDHTTP

/// What the loops know of how much there is.
@Suite struct OverloadMeasureTests {
    @Test func `shares add up in the budget, and are told once in many changes`() {
        let budget = BufferBudget(limit: 1 << 20)
        let (first, second) = (BufferAccount(), BufferAccount())
        first.join(budget)
        second.join(budget)
        var share = BufferShare()
        share.set(1000, in: first)
        #expect(budget.count == 0)
        first.tell()
        #expect(budget.count == 1000)
        var other = BufferShare()
        other.set(600 << 10, in: second)
        #expect(budget.count == 1000 + (600 << 10))
        #expect(first.isScarce)
        #expect(!first.isExhausted)
        #expect(first.highWater(256 << 10) == 16 << 10)
        other.set(2 << 20, in: second)
        #expect(first.isExhausted)
        other.set(0, in: second)
        share.set(0, in: first)
        first.tell()
        second.tell()
        #expect(budget.count == 0)
        #expect(first.highWater(256 << 10) == 256 << 10)
    }

    @Test func `an account without a budget has no limit`() {
        let account = BufferAccount()
        var share = BufferShare()
        share.set(1 << 40, in: account)
        #expect(!account.isScarce)
        #expect(!account.isExhausted)
        #expect(account.readSize == ReadScratch.size)
    }

    @Test func `of a backlog of twice the target every second request is refused`() throws {
        for (wait, expected) in [(UInt64(0), 0), (200, 500), (1000, 900), (100, 0)] {
            var backlog = try LoopBacklog()
            backlog.admitted(after: wait)
            var refused = 0
            for _ in 0..<1000 where backlog.sheds(above: 100) { refused += 1 }
            #expect(refused == expected, "after \(wait)")
        }
    }

    @Test func `a mark tells how long the kernel's queue is, and a turn that takes all ends it`() throws {
        var backlog = try LoopBacklog()
        backlog.turn(isFull: true, now: 1_000)
        #expect(backlog.isBehind)
        #expect(backlog.delay == 0)
        backlog.turn(isFull: true, now: 5_000)
        #expect(backlog.delay == 4_000, "the mark is still on its way")
        backlog.markArrived(now: 8_000)
        #expect(backlog.delay == 7_000)
        backlog.turn(isFull: false, now: 9_000)
        #expect(backlog.delay == 0)
        #expect(!backlog.isBehind)
    }

    private final class Arrival: Newcomer {
        func admit() {}
    }

    @Test func `requests are admitted in the order of arrival, however many wait`() {
        var queue = AdmissionQueue()
        let arrivals = (0..<10_000).map { _ in Arrival() }
        var next = 0
        for (index, arrival) in arrivals.enumerated() {
            queue.append(arrival, now: UInt64(index))
            guard index % 3 == 0, let first = queue.popFirst() else { continue }
            #expect(first.newcomer === arrivals[next] && first.since == UInt64(next))
            next += 1
        }
        while let first = queue.popFirst() {
            #expect(first.newcomer === arrivals[next])
            next += 1
        }
        #expect(next == arrivals.count)
        #expect(queue.isEmpty)
    }
}
