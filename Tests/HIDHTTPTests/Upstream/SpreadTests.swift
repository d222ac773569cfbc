// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDHTTP

private let second: UInt64 = 1_000_000_000

/// Weighted least connections.
@Suite struct BalancerTests {
    private func pick(_ places: [(active: Int, weight: Int)?], from start: Int = 0) -> Int? {
        Balancer.pick(count: places.count, from: start) { index in
            places[index].map { .init(active: $0.active, weight: $0.weight) }
        }
    }

    @Test func `the least (active + 1) / weight wins`() {
        #expect(pick([(3, 1), (1, 1), (2, 1)]) == 1)
        #expect(pick([(3, 4), (1, 1), (2, 1)]) == 0, "4/4 is less than 2/1")
        #expect(pick([(4, 4), (0, 1)]) == 1, "5/4 is more than 1/1")
        #expect(pick([(255, 256), (0, 1)], from: 1) == 1, "a tie")
        #expect(pick([(Int.max - 1, 1), (0, 1)]) == 1)
    }

    @Test func `equals take turns`() {
        let picks = (0..<6).map { pick([(0, 1), (0, 1), (0, 1)], from: $0 % 3) }
        #expect(picks == [0, 1, 2, 0, 1, 2])
    }

    @Test func `what is left out, or drained, gets nothing`() {
        #expect(pick([nil, (100, 1)]) == 1)
        #expect(pick([(0, 0), (100, 1)]) == 1)
        #expect(pick([nil, nil]) == nil)
        #expect(pick([]) == nil)
        #expect(pick([(0, 0)]) == nil)
    }

    @Test func `under load shares go by weight`() {
        var active = [0, 0, 0]
        let weights = [1, 2, 5]
        for round in 0..<800 {
            guard
                let index = Balancer.pick(
                    count: 3, from: round % 3, { .init(active: active[$0], weight: weights[$0]) })
            else { continue }
            active[index] += 1
        }
        #expect(active.reduce(0, +) == 800)
        for (count, weight) in zip(active, weights) { #expect(abs(count - weight * 100) <= 2, "\(active)") }
    }
}

@Suite struct EjectionHistoryTests {
    private let policy = EjectionPolicy()

    @Test func `only failures within the window count`() {
        var history = EjectionHistory()
        let slow = (0..<20).map { history.note(policy, now: UInt64($0) * 3 * second) }
        #expect(slow.allSatisfy { !$0 })
        var quick = EjectionHistory()
        let noted = (0..<5).map { quick.note(policy, now: UInt64($0) * 2 * second) }
        #expect(noted == [false, false, false, false, true])
    }

    @Test func `the time doubles up to the longest and starts anew after a long good time`() {
        var history = EjectionHistory()
        var now: UInt64 = 1000 * second
        for expected: UInt64 in [10, 20, 40, 80, 160, 300, 300, 300] {
            let end = history.eject(policy, now: now)
            #expect((end - now) / second == expected)
            now = end + second
        }
        now += 301 * second
        let end = history.eject(policy, now: now)
        #expect((end - now) / second == 10)
    }

    @Test func `one of two may go, never the only one`() {
        #expect(policy.maximumEjected(of: 1) == 0)
        #expect(policy.maximumEjected(of: 2) == 1)
        #expect(policy.maximumEjected(of: 3) == 1)
        #expect(policy.maximumEjected(of: 10) == 5)
        var all = policy
        all.maximumPercent = 100
        #expect(all.maximumEjected(of: 1) == 0)
        #expect(all.maximumEjected(of: 2) == 2)
    }

    @Test func `a cluster ejects within its share and tells it`() {
        var target = UpstreamTarget(isTLS: false, host: "127.0.0.1", port: 1)
        let servers = (1...4).map { port in
            target.port = UInt16(port)
            return UpstreamServer(addresses: UpstreamAddresses(target), label: "\(port)")
        }
        let events = EventBox()
        let cluster = UpstreamCluster(name: "a", policy: UpstreamPolicy(), servers: servers) { events.append($0) }
        for server in servers {
            for _ in 0..<10 { cluster.noteFailure(server.addresses.endpoints[0], of: server, now: 100 * second) }
        }
        let out = servers.filter { $0.addresses.endpoints[0].isEjected(100 * second) }.map(\.label)
        #expect(out == ["1", "2"])
        #expect(
            events.all == [.ejected(server: "127.0.0.1:1", seconds: 10), .ejected(server: "127.0.0.1:2", seconds: 10)])
        #expect(servers.allSatisfy { $0.isUp(111 * second) })
    }
}

@Suite struct RetryBudgetTests {
    private func take(_ budget: inout RetryBudget, now: UInt64, parts: Int) -> Bool {
        budget.take(now: now, parts: parts)
    }

    private func expectRetry(_ budget: inout RetryBudget, now: UInt64, parts: Int) {
        let isGiven = budget.take(now: now, parts: parts)
        #expect(isGiven)
    }

    private func expectNoRetry(_ budget: inout RetryBudget, now: UInt64, parts: Int) {
        let isGiven = budget.take(now: now, parts: parts)
        #expect(!isGiven)
    }

    @Test func `the minimum is there without any requests, and comes back`() {
        var budget = RetryBudget(percent: 10, perSecond: 3)
        #expect((0..<40).filter { _ in take(&budget, now: 5 * second, parts: 1) }.count == 30)
        expectNoRetry(&budget, now: 14 * second, parts: 1)
        expectRetry(&budget, now: 15 * second, parts: 1)
    }

    @Test func `the share is of the requests of the last ten seconds`() {
        var budget = RetryBudget(percent: 10, perSecond: 0)
        expectNoRetry(&budget, now: second, parts: 1)
        for step in 0..<1000 { budget.noteRequest(now: UInt64(step) * 10_000_000) }
        #expect((0..<200).filter { _ in take(&budget, now: 9 * second, parts: 1) }.count == 100)
        expectNoRetry(&budget, now: 30 * second, parts: 1)
    }

    @Test func `loops split the minimum`() {
        var budget = RetryBudget(percent: 0, perSecond: 3)
        #expect((0..<40).filter { _ in take(&budget, now: second, parts: 4) }.count == 8)
    }
}

@Suite struct WaitQueueTests {
    private final class Name {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private func entry(_ text: String, at now: UInt64) -> WaitQueue<Name>.Entry {
        .init(waiter: Name(text), isHeadRequest: false, preamble: [], since: now, deadline: now + second)
    }

    @Test func `first come, first served, and who leaves is gone`() {
        var queue = WaitQueue<Name>()
        for index in 0..<200 { queue.append(entry("\(index)", at: UInt64(index))) }
        let removed = (0..<2).map { _ in queue.remove { $0.text == "1" } }
        #expect(removed == [true, false])
        #expect(queue.count == 199)
        var order: [String] = []
        while let next = queue.popFirst() {
            order.append(next.waiter.text)
            guard order.count == 100 else { continue }
            let isRemoved = queue.remove { $0.text == "150" }
            #expect(isRemoved)
        }
        #expect(order == (0..<200).filter { $0 != 1 && $0 != 150 }.map(String.init))
        #expect(queue.first == nil)
        queue.append(entry("again", at: 1))
        #expect(queue.first?.waiter.text == "again")
    }
}

@Suite struct HealthCounterTests {
    @Test func `a server is up at first, falls and rises after so many in a row`() {
        var counter = HealthCounter()
        let policy = HealthPolicy(path: "/")
        let results = [false, false, true, false, false, false, true, false, true, true, false]
        let changes = results.map { counter.note(isGood: $0, policy) }
        #expect(changes == [nil, nil, nil, nil, nil, .down, nil, nil, nil, .up, nil])
    }
}
