// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HIDStore
import Synchronization
import Testing

/// What every replay store owes, whatever it is made of.
@Suite struct ReplayStoreTests {
    private static let second: UInt64 = 1_000_000_000

    private func use(
        _ low: UInt64, fingerprint: UInt64 = 1, life: UInt64 = 30, grace: UInt64 = 0
    ) -> ReplayUse {
        ReplayUse(
            key: ReplayKey(high: 7, low: low), fingerprint: fingerprint, life: life * Self.second,
            grace: grace * Self.second)
    }

    private func ask(_ store: any ReplayStore, _ use: ReplayUse, at now: UInt64) -> ReplayAnswer {
        let answered = Mutex<ReplayAnswer?>(nil)
        store.useOnce(use, now: now * Self.second) { answer in answered.withLock { $0 = answer } }
        return answered.withLock { $0 } ?? .unavailable
    }

    @Test func `the first use is marked and every other is a repetition`() {
        let store = MemoryReplayStore()
        #expect(ask(store, use(1), at: 100) == .first)
        #expect(ask(store, use(1), at: 100) == .repeated)
        #expect(ask(store, use(1), at: 129) == .repeated)
        #expect(ask(store, use(2), at: 129) == .first)
    }

    @Test func `keys that differ in one half are different`() {
        let store = MemoryReplayStore()
        for key in [(1, 2), (2, 1), (1, 1), (2, 2)] as [(UInt64, UInt64)] {
            let use = ReplayUse(key: .init(high: key.0, low: key.1), fingerprint: 0, life: Self.second, grace: 0)
            #expect(store.useOnce(use, now: 0) == .first)
        }
        #expect(store.count == 4)
    }

    @Test func `a mark is free again when its life is over and not before`() {
        let store = MemoryReplayStore()
        #expect(ask(store, use(1, life: 30), at: 100) == .first)
        #expect(store.useOnce(use(1), now: 130 * Self.second - 1) == .repeated)
        #expect(store.useOnce(use(1), now: 130 * Self.second) == .first)
    }

    @Test func `a full store says so and never throws a live mark out`() {
        let store = MemoryReplayStore(capacity: 3)
        for key in 1...3 { #expect(ask(store, use(UInt64(key), life: 10), at: 100) == .first) }
        #expect(ask(store, use(4), at: 105) == .full)
        for key in 1...3 { #expect(ask(store, use(UInt64(key)), at: 105) == .repeated) }
        #expect(ask(store, use(4), at: 111) == .first, "expired marks make room")
        #expect(store.count == 1)
    }

    @Test func `within the grace only the equal request may come again`() {
        let store = MemoryReplayStore()
        #expect(ask(store, use(1, fingerprint: 5, grace: 3), at: 100) == .first)
        #expect(ask(store, use(1, fingerprint: 5, grace: 3), at: 102) == .graced)
        #expect(ask(store, use(1, fingerprint: 6, grace: 3), at: 102) == .repeated)
        #expect(ask(store, use(1, fingerprint: 5, grace: 3), at: 103) == .repeated, "counted from the first use")
    }

    @Test func `of many threads that use one token exactly one is first`() {
        let store = MemoryReplayStore()
        let firsts = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for key in 0..<2_000 {
                let use = ReplayUse(
                    key: .init(high: 0, low: UInt64(key)), fingerprint: 0, life: Self.second, grace: 0)
                if store.useOnce(use, now: 0) == .first { firsts.add(1, ordering: .relaxed) }
            }
        }
        #expect(firsts.load(ordering: .relaxed) == 2_000)
    }

    @Test func `a million marks that expire leave nothing behind`() {
        let store = MemoryReplayStore(capacity: 200_000)
        var answers = Set<ReplayAnswer>()
        for number in 0..<1_000_000 {
            let use = ReplayUse(
                key: .init(high: 1, low: UInt64(number)), fingerprint: 0, life: Self.second, grace: 0)
            answers.insert(store.useOnce(use, now: UInt64(number) * (Self.second / 50_000)))
        }
        #expect(answers == [.first])
        #expect(store.count <= 150_000)
        _ = store.useOnce(use(1), now: 1_000 * Self.second)
        #expect(store.count == 1)
    }

    @Test func `saved marks live on with the life they had left`() {
        let old = MemoryReplayStore()
        #expect(ask(old, use(1, life: 30), at: 100) == .first)
        #expect(ask(old, use(2, life: 5), at: 100) == .first)
        let saved = old.save(now: 110 * Self.second)
        #expect(saved.map(\.key.low) == [1])
        #expect(saved.first?.life == 20 * Self.second)
        let new = MemoryReplayStore()
        new.load(saved, now: 5 * Self.second)
        #expect(ask(new, use(1), at: 24) == .repeated)
        #expect(ask(new, use(1), at: 25) == .first)
        #expect(ask(new, use(2), at: 5) == .first)
    }

    @Test func `a loaded mark gives no grace`() {
        let store = MemoryReplayStore()
        store.load([.init(key: .init(high: 7, low: 1), fingerprint: 5, life: 30 * Self.second)], now: 100 * Self.second)
        #expect(ask(store, use(1, fingerprint: 5, grace: 3), at: 100) == .repeated)
    }
}
