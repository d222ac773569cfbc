// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDHTTP

struct TrimPolicyTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `memory is given back once, when many connections have gone and no more come or go`() {
        var policy = TrimPolicy()
        let counts = [0, 2_000, 4_000, 4_010, 2_500, 10, 8, 8, 8]
        let times = counts.enumerated().map {
            policy.looks(at: $0.element, highest: $0.element, now: UInt64($0.offset) * 10 * Self.second)
        }
        #expect(times == [false, false, false, false, false, false, true, false, false])
    }

    @Test func `a thousand less is not enough`() {
        var policy = TrimPolicy()
        let found = [0, 3_000, 3_000, 2_000, 2_000, 1_999].map { policy.looks(at: $0, highest: $0, now: 0) }
        #expect(found == [false, false, false, false, false, true])
    }

    @Test func `storm after storm it is once a minute at most`() {
        var policy = TrimPolicy()
        var times = 0
        for round in 0..<60 as Range<UInt64> {
            let count = [5_000, 5_000, 0, 0][Int(round % 4)]
            if policy.looks(at: count, highest: count, now: round * 10 * Self.second) { times += 1 }
        }
        #expect((5...10).contains(times))
    }

    @Test func `a storm that is over before anybody looks is known by its height`() {
        let budget = ConnectionBudget(limit: 2_000, limitPerClient: 1)
        for _ in 0..<3_000 { _ = budget.take() }
        for _ in 0..<2_000 { budget.giveBack(nil) }
        #expect(budget.takePeak() == 2_000)
        #expect(budget.takePeak() == 0)
        var policy = TrimPolicy()
        let isTime = policy.looks(at: 0, highest: 2_000, now: 0)
        #expect(isTime)
    }
}
