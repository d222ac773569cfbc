// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@testable import HIDHTTP

struct BudgetTests {
    private let peer = PeerAddress(high: 0, low: 0xFFFF_7F00_0001)

    @Test func `a lower limit refuses what comes and leaves what is there`() {
        let budget = ConnectionBudget(limit: 3, limitPerClient: 3)
        for _ in 0..<3 {
            #expect(budget.take())
            #expect(budget.count(peer))
        }
        #expect(!budget.take())
        budget.adopt(limit: 2, limitPerClient: 10)
        budget.giveBack(peer)
        #expect(!budget.take())
        budget.giveBack(peer)
        #expect(budget.take())
        #expect(budget.count(peer))
        #expect(budget.count == 2)
        budget.adopt(limit: 10, limitPerClient: 2)
        #expect(budget.take())
        #expect(!budget.count(peer))
        budget.adopt(limit: 10, limitPerClient: 3)
        #expect(budget.count(peer))
    }

    @Test func `buffers are scarce and used up by the limit of the moment`() {
        let budget = BufferBudget(limit: 1_000_000)
        let account = BufferAccount()
        account.join(budget)
        account.add(400_000)
        account.tell()
        #expect(!account.isScarce)
        budget.adopt(limit: 500_000)
        #expect(account.isScarce)
        #expect(!account.isExhausted)
        budget.adopt(limit: 300_000)
        #expect(account.isExhausted)
        budget.adopt(limit: 1_000_000)
        #expect(!account.isScarce)
    }
}
