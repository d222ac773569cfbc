// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// Bounds and order of sessions where clocks and places run short.
@Suite struct SessionOrderTests {
    private static let second: Int64 = 1_000_000_000

    private func store(capacity: Int = 1_000, retention: Duration = .seconds(7 * 86_400)) -> MemorySessionStore {
        MemorySessionStore(capacity: capacity, idle: .seconds(1_800), retention: retention)
    }

    @discardableResult
    private func touch(_ store: MemorySessionStore, _ hid: String, at nanoseconds: Int64) -> String {
        store.touch(hid: Array(hid.utf8), address: { "192.0.2.1" }, outcome: .passed, now: nanoseconds)
    }

    private func pages(_ store: MemorySessionStore, limit: Int) -> [Session] {
        var query = SessionQuery()
        query.limit = limit
        var seen: [Session] = []
        for _ in 0..<2_000 {
            let (page, next) = store.list(query)
            seen += page
            guard let next else { break }
            query.cursor = next
        }
        return seen
    }

    @Test func `idle ends a session a nanosecond after it is over, and both are kept`() {
        let store = store()
        let first = touch(store, "a", at: 0)
        #expect(touch(store, "a", at: 1_800 * Self.second) == first)
        let second = touch(store, "a", at: 3_600 * Self.second + 1)
        #expect(second != first)
        #expect(store.list(SessionQuery()).sessions.map(\.id) == [second, first])
    }

    @Test func `a session is kept to the end of the retention`() {
        let store = store(retention: .seconds(3_600))
        let old = touch(store, "same", at: 0)
        touch(store, "same", at: 3_600 * Self.second)
        #expect(store.session(old) != nil)
        touch(store, "same", at: 3_600 * Self.second + 1)
        #expect(store.session(old) == nil)
    }

    @Test func `a device that is used again and again outlives those that are silent`() {
        let store = store(capacity: 32)
        let kept = touch(store, "kept", at: 0)
        for number in 1..<500 {
            touch(store, "other-\(number)", at: Int64(number))
            #expect(touch(store, "kept", at: Int64(number)) == kept)
        }
        #expect(store.session(kept)?.requests == 500)
        #expect(store.count <= 32)
    }

    @Test func `a clock that steps back neither splits a session nor makes it older`() {
        let store = store()
        let id = touch(store, "a", at: 5_000 * Self.second)
        #expect(touch(store, "a", at: 100 * Self.second) == id)
        #expect(store.session(id)?.lastSeen == 5_000 * Self.second)
    }

    /// Loops read the clock on their own, so touches come a little out of order.
    @Test(arguments: [1, 3, 10, 500]) func `pages give every session once when touches came out of order`(limit: Int) {
        let store = store(capacity: 16_000)
        for number in 0..<500 { touch(store, "device-\(number)", at: Int64((500 - number) * 3 + number % 7)) }
        let seen = pages(store, limit: limit)
        #expect(seen.count == 500)
        #expect(Set(seen.map(\.hid)).count == 500)
        #expect(seen.map(\.lastSeen) == seen.map(\.lastSeen).sorted(by: >))
    }

    @Test func `of devices touched out of order the one last seen first makes room`() {
        let store = store(capacity: 32)
        for number in 0..<400 { touch(store, "device-\(number)", at: Int64(400 - number)) }
        #expect(store.list(SessionQuery()).sessions.contains { $0.hid == "device-0" })
    }

    @Test func `a cursor of a session that is gone still leads on`() {
        let store = store()
        for number in 0..<10 { touch(store, "device-\(number)", at: Int64(number)) }
        var query = SessionQuery()
        query.cursor = SessionCursor(lastSeen: 5, id: "")
        #expect(store.list(query).sessions.map(\.lastSeen) == [5, 4, 3, 2, 1, 0])
        query.cursor = SessionCursor(lastSeen: 5, id: "g")
        #expect(store.list(query).sessions.map(\.lastSeen) == [4, 3, 2, 1, 0])
    }

    @Test func `outcomes are named as in the access log`() {
        #expect(SessionOutcome.allCases.map(\.rawValue) == ["passed", "blocked", "would_block"])
    }
}
