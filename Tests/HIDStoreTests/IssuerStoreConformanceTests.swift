// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// What every store of a Human Identification Server owes, whatever it is made of: challenges, bounds, life.
@Suite struct IssuerStoreConformanceTests {
    // MARK: - Challenges

    @Test(arguments: StoreKind.allCases) func `a challenge is told as it was given, once`(_ kind: StoreKind)
        async throws
    {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let challenge = Sample.challenge(1)
        #expect(try await !store.issue(challenge, now: 100))
        let consumed = try await store.consume(challenge.id, now: 101)
        #expect(consumed == ConsumedChallenge(challenge: challenge))
        #expect(try await store.consume(challenge.id, now: 101) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a name that was never given, or differs a little, is nothing`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        _ = try await store.issue(Sample.challenge(1), now: 100)
        for id in [
            "", "challenge-", "challenge-11", "CHALLENGE-1", "challenge-1 ", "challenge-1\0", "%", "' OR 1=1 --",
        ] {
            #expect(try await store.consume(id, now: 100) == nil, "\(id)")
        }
        #expect(try await store.consume("challenge-1", now: 100) != nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `an expired challenge is still told and removed`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        _ = try await store.issue(Sample.challenge(1, expiry: 160), now: 100)
        _ = try await store.issue(Sample.challenge(2, expiry: 280), now: 219)
        let consumed = try await store.consume("challenge-1", now: 219)
        #expect(consumed?.challenge.expiry == 160)
        #expect(try await store.consume("challenge-1", now: 219) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `challenges that expired long ago are swept, younger ones are not`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        for number in 1...1_200 { _ = try await store.issue(Sample.challenge(number, expiry: 160), now: 100) }
        for number in 2_001...2_010 { _ = try await store.issue(Sample.challenge(number, expiry: 170), now: 110) }
        for number in 3_001...3_003 { _ = try await store.issue(Sample.challenge(number, expiry: 280), now: 220) }
        for number in [1, 600, 1_200] {
            #expect(try await store.consume("challenge-\(number)", now: 220) == nil, "\(number)")
        }
        for number in [2_001, 2_010, 3_001] {
            #expect(try await store.consume("challenge-\(number)", now: 220) != nil, "\(number)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a clock that stepped far ahead and back stops neither sweep nor challenges`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 5, devices: 1, denials: 1, events: 1))
        defer { fixture.remove() }
        let store = fixture.store
        for (number, now) in [Int64.max, .min, 0, 100].enumerated() {
            _ = try await store.issue(Sample.challenge(number, expiry: 160), now: now)
            #expect(try await store.consume("challenge-\(number)", now: now) != nil)
        }
        for number in 10..<15 { _ = try await store.issue(Sample.challenge(number, expiry: 160), now: 100) }
        for number in 20..<25 { _ = try await store.issue(Sample.challenge(number, expiry: 260), now: 200) }
    }

    @Test(arguments: StoreKind.allCases)
    func `an id that is taken is refused and the first challenge stays`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let challenge = Sample.challenge(1)
        _ = try await store.issue(challenge, now: 100)
        var second = challenge
        second.deviceID = "other"
        await #expect(throws: StoreFault.unavailable("the challenge id is taken")) {
            try await store.issue(second, now: 100)
        }
        #expect(try await store.consume(challenge.id, now: 100)?.challenge == challenge)
    }

    @Test(arguments: StoreKind.allCases)
    func `of a hundred calls for one challenge exactly one gets it`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        for round in 0..<20 {
            _ = try await store.issue(Sample.challenge(round), now: 100)
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await store.consume("challenge-\(round)", now: 100) != nil }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(winners == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `ids of 128 characters and values of any octets come back as they were`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let name = String(repeating: "Az09._-x", count: 16)
        var challenge = Sample.challenge(1, device: name)
        challenge.id = name
        challenge.nonce = (0..<32).map { $0 % 3 == 0 ? 0 : UInt8(255 - $0) }
        #expect(try await !store.issue(challenge, now: 100))
        var device = Sample.device(1, at: name)
        device.hid = name
        device.publicKey = [UInt8](repeating: 0, count: 65)
        device.facts = "{\"words\":\"\u{0} ' \\u0000 \u{1F4F1}\"}"
        try await store.register(device, now: 100)
        let consumed = try await store.consume(name, now: 100)
        #expect(consumed?.challenge == challenge)
        #expect(consumed?.device == device)
    }

    @Test(arguments: StoreKind.allCases)
    func `issue tells whether a key is in force for that app and device`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1, at: "device-1"), now: 100)
        #expect(try await store.issue(Sample.challenge(1, device: "device-1"), now: 100))
        #expect(try await !store.issue(Sample.challenge(2, device: "device-2"), now: 100))
        var elsewhere = Sample.challenge(3, device: "device-1")
        elsewhere.appID = "other-app"
        #expect(try await !store.issue(elsewhere, now: 100))
        #expect(try await store.consume("challenge-3", now: 100)?.device == nil)
        #expect(try await store.consume("challenge-1", now: 100)?.device == Sample.device(1, at: "device-1"))
    }

    @Test(arguments: StoreKind.allCases)
    func `consume tells the key and the denial of that moment, not of the moment of issue`(_ kind: StoreKind)
        async throws
    {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        _ = try await store.issue(Sample.challenge(1), now: 100)
        _ = try await store.issue(Sample.challenge(2), now: 100)
        try await store.register(Sample.device(1), now: 101)
        let denial = Sample.denial("hid-1", until: 150)
        try await store.deny(denial)
        let first = try await store.consume("challenge-1", now: 149)
        #expect(first?.device?.hid == "hid-1" && first?.denial == denial)
        let second = try await store.consume("challenge-2", now: 150)
        #expect(second?.device?.hid == "hid-1" && second?.denial == nil)
    }

    // MARK: - Bounds

    @Test(arguments: StoreKind.allCases)
    func `all places for challenges taken is full until one is used or expires`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 3, devices: 1, denials: 1, events: 1))
        defer { fixture.remove() }
        let store = fixture.store
        for number in 1...3 { _ = try await store.issue(Sample.challenge(number), now: 100) }
        let full = StoreFault.full("all places for challenges are taken")
        await #expect(throws: full) { try await store.issue(Sample.challenge(4), now: 100) }
        #expect(try await store.consume("challenge-4", now: 100) == nil)
        #expect(try await store.consume("challenge-2", now: 100) != nil)
        _ = try await store.issue(Sample.challenge(5), now: 100)
        await #expect(throws: full) { try await store.issue(Sample.challenge(6), now: 159) }
        _ = try await store.issue(Sample.challenge(7, expiry: 220), now: 160)
        #expect(try await store.consume("challenge-1", now: 160) == nil, "room was short, so it went without grace")
    }

    @Test(arguments: StoreKind.allCases)
    func `all places for keys taken is full for new keys only`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 1, devices: 2, denials: 1, events: 1))
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1), now: 100)
        try await store.register(Sample.device(2), now: 101)
        await #expect(throws: StoreFault.full("all places for device keys are taken")) {
            try await store.register(Sample.device(3), now: 102)
        }
        #expect(try await store.device("hid-3") == nil)
        #expect(try await store.device("hid-2")?.retired == nil)
        let again = try await store.register(Sample.device(1), now: 103)
        #expect(again == .registered(isNew: false, retired: "hid-2", denial: nil))
    }

    @Test(arguments: StoreKind.allCases)
    func `events are the last ones, newest first, of one hid or all`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 1, devices: 1, denials: 1, events: 10))
        defer { fixture.remove() }
        let store = fixture.store
        let events = (0..<25).map { Sample.event($0, hid: $0 % 3 == 0 ? nil : "hid-\($0 % 3)") }
        for event in events { store.record(event) }
        let newest = Array(events.reversed().prefix(10))
        #expect(try await store.events() == newest)
        #expect(try await store.events(limit: 3) == Array(newest.prefix(3)))
        #expect(try await store.events(hid: "hid-2", limit: 2) == Array(newest.filter { $0.hid == "hid-2" }.prefix(2)))
        #expect(try await store.events(hid: "hid-7").isEmpty)
        for limit in [0, -1, .min] { #expect(try await store.events(limit: limit).isEmpty) }
        #expect(try await store.events(limit: .max) == newest)
        #expect(store.lostEvents == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `events of more than thirty days go as new ones come`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        for number in 0..<5 { store.record(Sample.event(number, time: 1_000)) }
        store.record(Sample.event(5, time: 1_001))
        store.record(Sample.event(6, time: 1_000 + 30 * 86_400))
        #expect(try await store.events().count == 7)
        store.record(Sample.event(7, time: 1_001 + 30 * 86_400))
        #expect(try await store.events().map(\.time) == [1_001 + 30 * 86_400, 1_000 + 30 * 86_400, 1_001])
        for time in [Int64.min, .max] { store.record(Sample.event(8, time: time)) }
        #expect(try await store.events(limit: 1).first?.time == .max)
    }

    @Test(arguments: StoreKind.allCases)
    func `a store for no events keeps none and works`(_ kind: StoreKind) async throws {
        let fixture = try kind.make(.init(challenges: 0, devices: 0, denials: 0, events: 0))
        defer { fixture.remove() }
        let store = fixture.store
        store.record(Sample.event(1))
        #expect(try await store.events().isEmpty)
        await #expect(throws: StoreFault.self) { try await store.issue(Sample.challenge(1), now: 100) }
        await #expect(throws: StoreFault.self) { try await store.register(Sample.device(1), now: 100) }
        await #expect(throws: StoreFault.self) { try await store.deny(Sample.denial("hid-1")) }
    }

    // MARK: - Life

    @Test(arguments: StoreKind.allCases)
    func `a store that was closed is unavailable and counts lost events`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.probe()
        store.close()
        store.close()
        await #expect(throws: StoreFault.unavailable("the store is closed")) { try await store.probe() }
        await #expect(throws: StoreFault.self) { try await store.issue(Sample.challenge(1), now: 100) }
        store.record(Sample.event(1))
        #expect(store.lostEvents == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `an answer may ask again and may close the store`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let consumed = await withCheckedContinuation { continuation in
            store.issue(Sample.challenge(1), now: 100) { _ in
                store.consume("challenge-1", now: 100) { result in
                    store.close()
                    continuation.resume(returning: result)
                }
            }
        }
        #expect(try consumed.get()?.challenge == Sample.challenge(1))
        await #expect(throws: StoreFault.self) { try await store.probe() }
    }
}
