// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// What every store of a Human Identification Server owes: denials and their history.
@Suite struct IssuerStoreDenialTests {
    @Test(arguments: StoreKind.allCases)
    func `a denial is in force until its second, or for ever`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let (short, long) = (Sample.denial("hid-1", until: 200), Sample.denial("hid-2"))
        try await store.deny(short)
        try await store.deny(long)
        #expect(try await store.denials(history: false, now: 199) == [long, short])
        #expect(try await store.denials(history: false, now: 200) == [long])
        #expect(try await store.denials(history: false, now: .max) == [long])
        #expect(try await store.denials(history: true, now: .max) == [long, short], "an expired one was not lifted")
    }

    @Test(arguments: StoreKind.allCases)
    func `a newer denial replaces the one in force and keeps it as history`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var first = Sample.denial("hid-1", until: 300, created: 100, reason: "first")
        let second = Sample.denial("hid-1", created: 150, reason: "second")
        let other = Sample.denial("hid-2", created: 100)
        for denial in [first, other, second] { try await store.deny(denial) }
        (first.lifted, first.liftReason) = (150, Denial.replaced)
        #expect(try await store.denials(history: false, now: 150) == [second, other])
        #expect(try await store.denials(history: true, now: 150) == [second, other, first])
        try await store.register(Sample.device(1), now: 150)
        _ = try await store.issue(Sample.challenge(1), now: 150)
        #expect(try await store.consume("challenge-1", now: 150)?.denial == second)
    }

    @Test(arguments: StoreKind.allCases)
    func `a denial that is over is not replaced but stays as it was`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let first = Sample.denial("hid-1", until: 150, created: 100)
        let second = Sample.denial("hid-1", until: 250, created: 150)
        try await store.deny(first)
        try await store.deny(second)
        #expect(try await store.denials(history: true, now: 150) == [second, first])
    }

    @Test(arguments: StoreKind.allCases)
    func `allow lifts what is in force, once, with its reason`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        #expect(try await !store.allow("hid-1", now: 100))
        var denial = Sample.denial("hid-1", until: 200)
        try await store.deny(denial)
        #expect(try await !store.allow("hid-2", now: 150))
        #expect(try await !store.allow("HID-1", now: 150))
        #expect(try await !store.allow("hid-1", now: 200), "it is over by then")
        #expect(try await store.allow("hid-1", reason: "phone was sold", now: 150))
        #expect(try await !store.allow("hid-1", now: 150))
        (denial.lifted, denial.liftReason) = (150, "phone was sold")
        #expect(try await store.denials(history: false, now: 150).isEmpty)
        #expect(try await store.denials(history: true, now: 150) == [denial])
        try await store.deny(Sample.denial("hid-1", created: 160))
        #expect(try await store.denials(history: false, now: 160).count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a denial that names itself lifted is in force`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var denial = Sample.denial("hid-1")
        (denial.lifted, denial.liftReason) = (1, "no")
        try await store.deny(denial)
        #expect(try await store.denials(history: false, now: 100) == [Sample.denial("hid-1")])
    }

    @Test(arguments: StoreKind.allCases)
    func `at the bound history makes room, denials in force never`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 1, devices: 1, denials: 3, events: 1))
        defer { fixture.remove() }
        let store = fixture.store
        for number in 1...3 { try await store.deny(Sample.denial("hid-\(number)", until: number == 2 ? 150 : nil)) }
        await #expect(throws: StoreFault.full("all places for denials are taken")) {
            try await store.deny(Sample.denial("hid-4", created: 149))
        }
        #expect(try await store.denials(history: true, now: 149).map(\.hid) == ["hid-3", "hid-2", "hid-1"])
        try await store.deny(Sample.denial("hid-3", created: 149, reason: "again"))
        #expect(try await store.denials(history: true, now: 149).map(\.reason) == ["again", "fraud", "fraud"])
        try await store.deny(Sample.denial("hid-5", created: 150))
        #expect(try await store.denials(history: true, now: 150).map(\.hid) == ["hid-5", "hid-3", "hid-1"])
    }

    @Test(arguments: StoreKind.allCases)
    func `of many denials of one hid at once one is in force and all are history`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await withThrowingTaskGroup { group in
            for number in 0..<50 {
                group.addTask { try await store.deny(Sample.denial("hid-1", created: 100, reason: "reason \(number)")) }
            }
            try await group.waitForAll()
        }
        let history = try await store.denials(history: true, now: 100)
        #expect(Set(history.map(\.reason)).count == 50)
        #expect(try await store.denials(history: false, now: 100) == Array(history.prefix(1)))
        #expect(history.dropFirst().allSatisfy { $0.liftReason == Denial.replaced })
    }
}
