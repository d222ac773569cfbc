// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// What every session store owes, whatever it is made of.
@Suite struct SessionStoreTests {
    private static let second: Int64 = 1_000_000_000

    private func store(capacity: Int = 1_000) -> any SessionStore {
        MemorySessionStore(capacity: capacity, idle: .seconds(1_800), retention: .seconds(7 * 86_400))
    }

    @discardableResult
    private func touch(
        _ store: any SessionStore, _ hid: String, at second: Int64, _ outcome: SessionOutcome = .passed,
        address: String = "192.0.2.1"
    ) -> String {
        store.touch(hid: Array(hid.utf8), address: { address }, outcome: outcome, now: second * Self.second)
    }

    @Test func `exchanges of one device are one session with counts by outcome`() {
        let store = store()
        let id = touch(store, "device-a", at: 100)
        #expect(touch(store, "device-a", at: 160, .blocked) == id)
        #expect(touch(store, "device-a", at: 170, .wouldBlock, address: "192.0.2.2") == id)
        #expect(touch(store, "device-b", at: 170) != id)
        let session = store.session(id)
        #expect(session?.key == "hid:device-a")
        #expect(session?.requests == 3)
        #expect(session?.passed == 1 && session?.blocked == 1 && session?.wouldBlock == 1)
        #expect(session?.firstSeen == 100 * Self.second && session?.lastSeen == 170 * Self.second)
        #expect(session?.addresses == ["192.0.2.1", "192.0.2.2"])
        #expect(store.count == 2)
    }

    @Test func `a device that was silent for longer than idle starts a new session`() {
        let store = store()
        let first = touch(store, "a", at: 0)
        #expect(touch(store, "a", at: 1_800) == first)
        let second = touch(store, "a", at: 3_601)
        #expect(second != first)
        #expect(store.session(first)?.requests == 2)
        #expect(store.session(second)?.requests == 1)
    }

    @Test func `sessions older than the retention are forgotten`() {
        let store = store()
        let old = touch(store, "same", at: 0)
        touch(store, "same", at: 8 * 86_400)
        #expect(store.session(old) == nil)
    }

    @Test func `when all places are taken the device that was silent longest makes room`() {
        let store = store(capacity: 16)
        var ids: [String] = []
        for number in 0..<400 { ids.append(touch(store, "device-\(number)", at: Int64(number))) }
        #expect(store.count <= 16)
        #expect(store.session(ids[399]) != nil)
        #expect(store.session(ids[0]) == nil)
    }

    @Test func `addresses are kept to a bound and counted all the same`() {
        let store = store()
        var id = ""
        for number in 0..<100 { id = touch(store, "a", at: 10, address: "192.0.2.\(number)") }
        #expect(store.session(id)?.addresses.count == Session.maximumAddresses)
        #expect(store.session(id)?.requests == 100)
    }

    @Test func `ids are 32 hexadecimal digits and differ`() {
        let store = store()
        let ids = (0..<200).map { touch(store, "device-\($0)", at: 0) }
        #expect(Set(ids).count == 200)
        #expect(ids.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test func `the list is newest first`() {
        let store = store()
        for number in 0..<50 { touch(store, "device-\(number)", at: Int64(number * 7 % 50)) }
        let list = store.list(SessionQuery()).sessions
        #expect(list.count == 50)
        #expect(list.map(\.lastSeen) == list.map(\.lastSeen).sorted(by: >))
    }

    @Test(arguments: [1, 2, 7, 50, 99, 100, 101]) func `pages give every session once, equal times included`(limit: Int)
    {
        let store = store()
        for number in 0..<100 { touch(store, "device-\(number)", at: Int64(number / 10)) }
        var query = SessionQuery()
        query.limit = limit
        var seen: [String] = []
        for _ in 0..<200 {
            let (page, next) = store.list(query)
            #expect(page.count <= limit)
            seen += page.map(\.hid)
            guard let next else { break }
            query.cursor = next
        }
        #expect(seen.count == 100)
        #expect(Set(seen).count == 100)
    }

    @Test func `each filter holds, and all of them together`() {
        let store = store()
        touch(store, "a", at: 10, .blocked, address: "192.0.2.1")
        touch(store, "b", at: 20, .passed, address: "192.0.2.2")
        touch(store, "c", at: 30, .wouldBlock, address: "192.0.2.2")
        func hids(_ change: (inout SessionQuery) -> Void) -> [String] {
            var query = SessionQuery()
            change(&query)
            return store.list(query).sessions.map(\.hid)
        }
        #expect(hids { $0.hid = "a" } == ["a"])
        #expect(hids { $0.address = "192.0.2.2" } == ["c", "b"])
        #expect(hids { $0.since = 20 * Self.second } == ["c", "b"])
        #expect(hids { $0.outcome = .blocked } == ["a"])
        #expect(hids { $0.outcome = .wouldBlock } == ["c"])
        #expect(hids { ($0.address, $0.outcome) = ("192.0.2.2", .passed) } == ["b"])
        #expect(hids { ($0.hid, $0.outcome) = ("a", .passed) }.isEmpty)
    }
}
