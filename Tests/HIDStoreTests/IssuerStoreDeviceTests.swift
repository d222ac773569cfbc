// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// What every store of a Human Identification Server owes: device keys and their counters.
@Suite struct IssuerStoreDeviceTests {
    private func registered(isNew: Bool = true, retired: String? = nil) -> RegistrationAnswer {
        .registered(isNew: isNew, retired: retired, denial: nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a record comes back with every member`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.blocked = "boot_unlocked"
        device.keyID = [UInt8](0..<32)
        device.counter = 7
        #expect(try await store.register(device, now: 100) == registered())
        #expect(try await store.device("hid-1") == device)
        var bare = Sample.device(2, at: "device-2")
        (bare.batchID, bare.serials, bare.assertionKey, bare.facts) = (nil, [], nil, "")
        #expect(try await store.register(bare, now: 100) == registered())
        #expect(try await store.device("hid-2") == bare)
        #expect(try await store.device("hid-3") == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a new key retires the old one of the same app and device only`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1), now: 100)
        try await store.register(Sample.device(2, at: "device-2"), now: 100)
        try await store.register(Sample.device(3, app: "other-app"), now: 100)
        #expect(try await store.register(Sample.device(4), now: 107) == registered(retired: "hid-1"))
        var old = Sample.device(1)
        old.retired = 107
        #expect(try await store.device("hid-1") == old)
        for (hid, device) in [("hid-2", "device-2"), ("hid-3", "device-1"), ("hid-4", "device-1")] {
            let record = try await store.device(hid)
            #expect(record?.retired == nil && record?.deviceID == device, "\(hid)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the same key again takes the new facts and keeps hid and first registration`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.blocked = "boot_unlocked"
        try await store.register(device, now: 100)
        var again = Sample.device(9)
        (again.hid, again.publicKey, again.registered) = (device.hid, device.publicKey, 500)
        again.retired = 3
        #expect(try await store.register(again, now: 500) == registered(isNew: false))
        var expected = again
        (expected.registered, expected.retired) = (100, nil)
        #expect(try await store.device("hid-1") == expected)
        #expect(try await store.block(serials: ["serial-a1": "revoked"]).isEmpty, "the old serials are gone")
        #expect(try await store.registrations(ofBatch: "batch-1", since: 0) == 0)
        #expect(try await store.registrations(ofBatch: "batch-9", since: 100) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a retired key comes back and retires its successor`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1), now: 100)
        try await store.register(Sample.device(2), now: 101)
        #expect(try await store.register(Sample.device(1), now: 102) == registered(isNew: false, retired: "hid-2"))
        #expect(try await store.device("hid-1")?.retired == nil)
        #expect(try await store.device("hid-2")?.retired == 102)
        _ = try await store.issue(Sample.challenge(1), now: 103)
        #expect(try await store.consume("challenge-1", now: 103)?.device?.hid == "hid-1")
    }

    @Test(arguments: StoreKind.allCases)
    func `the same key under another device_id moves there and leaves its place`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1, at: "old"), now: 100)
        try await store.register(Sample.device(2, at: "new"), now: 100)
        let answer = try await store.register(Sample.device(1, at: "new"), now: 105)
        #expect(answer == registered(isNew: false, retired: "hid-2"))
        #expect(try await !store.issue(Sample.challenge(1, device: "old"), now: 105))
        #expect(try await store.issue(Sample.challenge(2, device: "new"), now: 105))
        #expect(try await store.consume("challenge-2", now: 105)?.device == Sample.device(1, at: "new"))
        #expect(try await store.register(Sample.device(3, at: "old"), now: 106) == registered())
        #expect(try await store.device("hid-1")?.retired == nil, "it is no longer there to be retired")
    }

    @Test(arguments: StoreKind.allCases)
    func `a hid with another key or app is refused and changes nothing`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await store.register(Sample.device(1), now: 100)
        var otherKey = Sample.device(1)
        otherKey.publicKey[64] ^= 1
        for impostor in [otherKey, Sample.device(1, app: "other-app")] {
            await #expect(throws: StoreFault.self) { try await store.register(impostor, now: 101) }
        }
        #expect(try await store.device("hid-1") == Sample.device(1))
    }

    @Test(arguments: StoreKind.allCases)
    func `registration tells the denial in force against the key`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let denial = Sample.denial("hid-1", until: 200)
        try await store.deny(denial)
        let answer = try await store.register(Sample.device(1), now: 199)
        #expect(answer == .registered(isNew: true, retired: nil, denial: denial))
        #expect(try await store.register(Sample.device(1), now: 200) == registered(isNew: false))
    }

    @Test(arguments: StoreKind.allCases)
    func `an App Attest key is registered once for ever, also after its device was retired`(_ kind: StoreKind)
        async throws
    {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var first = Sample.device(1)
        first.keyID = [1, 2, 3]
        #expect(try await store.register(first, now: 100) == registered())
        #expect(try await store.register(first, now: 101) == .keyIDUsed, "also with the same device key")
        #expect(try await store.register(Sample.device(2), now: 102) == registered(retired: "hid-1"))
        var second = Sample.device(3)
        second.keyID = [1, 2, 3]
        #expect(try await store.register(second, now: 103) == .keyIDUsed)
        #expect(try await store.device("hid-3") == nil)
        #expect(try await store.device("hid-2")?.retired == nil, "nothing was retired for it")
        var renewed = first
        renewed.keyID = [9]
        #expect(try await store.register(renewed, now: 104) == registered(isNew: false, retired: "hid-2"))
        second.keyID = [1, 2, 3]
        #expect(try await store.register(second, now: 105) == .keyIDUsed, "also when its device has a newer one")
        second.keyID = [1, 2]
        #expect(try await store.register(second, now: 106) == registered(retired: "hid-1"))
    }

    @Test(arguments: StoreKind.allCases)
    func `of a hundred registrations of one App Attest key exactly one wins`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    var device = Sample.device(number, at: "device-\(number)")
                    device.keyID = [7]
                    return try await store.register(device, now: 100) != .keyIDUsed
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `of many keys registered at once for one device exactly one is in force`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        try await withThrowingTaskGroup { group in
            for number in 0..<60 {
                group.addTask { _ = try await store.register(Sample.device(number), now: 100) }
            }
            try await group.waitForAll()
        }
        var inForce: [String] = []
        for number in 0..<60 {
            let record = try await store.device("hid-\(number)")
            if record?.retired == nil { inForce.append(record?.hid ?? "none") }
        }
        #expect(inForce.count == 1)
        _ = try await store.issue(Sample.challenge(1), now: 100)
        #expect(try await store.consume("challenge-1", now: 100)?.device?.hid == inForce.first)
    }

    // MARK: - Counters

    @Test(arguments: StoreKind.allCases)
    func `a counter only rises, over its whole range`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.keyID = [1]
        try await store.register(device, now: 100)
        #expect(try await !store.advance(keyID: [1], to: 0))
        var last: UInt32 = 0
        for counter: UInt32 in [1, 2, 1 << 31 - 1, 1 << 31, 1 << 31 + 1, .max - 1, .max] {
            #expect(try await store.advance(keyID: [1], to: counter))
            #expect(try await !store.advance(keyID: [1], to: counter))
            #expect(try await !store.advance(keyID: [1], to: last))
            #expect(try await store.device("hid-1")?.counter == counter)
            last = counter
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a counter of an unknown or replaced key does not rise, one of a retired device does`(
        _ kind: StoreKind
    ) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.keyID = [1]
        device.counter = 5
        try await store.register(device, now: 100)
        try await store.register(Sample.device(2, at: "device-2"), now: 100)
        for keyID: [UInt8] in [[], [2], [1, 0]] { #expect(try await !store.advance(keyID: keyID, to: 9)) }
        try await store.register(Sample.device(3), now: 100)
        #expect(try await store.advance(keyID: [1], to: 6))
        device.keyID = [2]
        device.counter = 0
        try await store.register(device, now: 101)
        #expect(try await !store.advance(keyID: [1], to: 100))
        #expect(try await store.advance(keyID: [2], to: 1))
    }

    @Test(arguments: StoreKind.allCases)
    func `of a hundred equal counters at once exactly one is taken`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.keyID = [1]
        try await store.register(device, now: 100)
        for counter: UInt32 in 1...5 {
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<100 { group.addTask { try await store.advance(keyID: [1], to: counter) } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(winners == 1)
        }
    }

    // MARK: - Blocks and batches

    @Test(arguments: StoreKind.allCases)
    func `a serial blocks keys in force and retired ones, and leaves the reason of those blocked before`(
        _ kind: StoreKind
    ) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        for number in 1...5 {
            var device = Sample.device(number, at: number <= 2 ? "device-1" : "device-\(number)")
            device.serials = ["own-\(number)", number == 5 ? "other" : "shared"]
            if number == 4 { device.blocked = "boot_unlocked" }
            try await store.register(device, now: 100)
        }
        #expect(try await store.block(serials: ["shared": "key_revoked"]) == ["hid-1", "hid-2", "hid-3"])
        #expect(try await store.block(serials: ["shared": "key_suspended"]).isEmpty)
        var reasons: [String?] = []
        for number in 1...5 { reasons.append(try await store.device("hid-\(number)")?.blocked) }
        #expect(reasons == ["key_revoked", "key_revoked", "key_revoked", "boot_unlocked", nil])
        #expect(try await store.block(serials: [:]).isEmpty)
        #expect(try await store.block(serials: ["SHARED": "x", "share": "x", "": "x"]).isEmpty)
        let both = ["own-5": "second", "other": "first", "own-4": "x"]
        #expect(try await store.block(serials: both) == ["hid-5"])
        #expect(try await store.device("hid-5")?.blocked == "first")
    }

    @Test(arguments: StoreKind.allCases)
    func `a serial that a device carries twice blocks it once`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        var device = Sample.device(1)
        device.serials = ["twice", "twice"]
        try await store.register(device, now: 100)
        #expect(try await store.device("hid-1")?.serials == ["twice", "twice"])
        #expect(try await store.block(serials: ["twice": "revoked"]) == ["hid-1"])
    }

    @Test(arguments: StoreKind.allCases)
    func `keys of a batch are counted from a moment on, that second included`(_ kind: StoreKind) async throws {
        let fixture = try kind.make()
        defer { fixture.remove() }
        let store = fixture.store
        for number in 0..<20 {
            var device = Sample.device(number, at: number < 10 ? "one" : "device-\(number)")
            device.batchID = number % 4 == 3 ? nil : "batch-\(number % 2)"
            device.registered = Int64(100 + number)
            try await store.register(device, now: device.registered)
        }
        #expect(try await store.registrations(ofBatch: "batch-0", since: .min) == 10)
        #expect(try await store.registrations(ofBatch: "batch-1", since: 0) == 5)
        #expect(try await store.registrations(ofBatch: "batch-0", since: 110) == 5)
        #expect(try await store.registrations(ofBatch: "batch-0", since: 111) == 4)
        #expect(try await store.registrations(ofBatch: "batch-0", since: .max) == 0)
        #expect(try await store.registrations(ofBatch: "batch", since: 0) == 0)
    }
}
