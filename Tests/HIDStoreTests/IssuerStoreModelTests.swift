// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Testing

/// Both registries, given the same calls at random, answer alike.
@Suite struct IssuerStoreModelTests {
    private static let limits = IssuerStoreLimits(challenges: 30, devices: 40, denials: 12, events: 20)

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `any sequence of calls has the same answers in memory and on disk`(_ seed: UInt64) async throws {
        let (memory, disk) = (try StoreKind.memory.make(Self.limits), try StoreKind.sqlite.make(Self.limits))
        defer {
            memory.remove()
            disk.remove()
        }
        var calls = RandomCalls(seed: seed)
        for step in 0..<2_500 {
            let call = calls.next()
            let (first, second) = (await call(memory.store), await call(disk.store))
            guard first != second else { continue }
            Issue.record("seed \(seed), step \(step): in memory \(first), on disk \(second)")
            return
        }
    }
}

/// Calls over few names, so that they meet each other.
private struct RandomCalls {
    typealias Call = (any IssuerStore) async -> String

    private var generator: SplitMix
    private var now: Int64 = 1_000
    private var number = 0

    init(seed: UInt64) {
        generator = SplitMix(state: seed)
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    mutating func next() -> Call {
        if pick(4) == 0 { now += Int64(pick(12)) - 1 }
        number += 1
        switch pick(12) {
        case 0, 1: return issue()
        case 2, 3: return consume()
        case 4, 5: return register()
        case 6: return advance()
        case 7: return block()
        case 8: return deny()
        case 9: return lift()
        case 10: return note()
        default: return look()
        }
    }

    private mutating func issue() -> Call {
        let challenge = Sample.challenge(pick(60), device: "device-\(pick(8))", expiry: now + Int64(pick(80)))
        return { [now] store in await told { try await store.issue(challenge, now: now) } }
    }

    private mutating func consume() -> Call {
        let id = "challenge-\(pick(60))"
        return { [now] store in await told { try await store.consume(id, now: now) } }
    }

    private mutating func register() -> Call {
        let key = pick(50)
        var device = Sample.device(key, at: "device-\(pick(8))", app: "app-\(key % 2)")
        device.serials = (0..<pick(4)).map { _ in "serial-\(pick(30))" }
        device.batchID = pick(3) == 0 ? nil : "batch-\(pick(3))"
        device.keyID = pick(3) == 0 ? [UInt8(pick(60))] : nil
        device.counter = UInt32(pick(5))
        device.blocked = pick(6) == 0 ? "reason-\(number)" : nil
        device.registered = now
        if pick(20) == 0 { device.publicKey[9] ^= 1 }
        return { [now, device] store in await told { try await store.register(device, now: now) } }
    }

    private mutating func advance() -> Call {
        let (keyID, counter) = ([UInt8(pick(60))], UInt32(pick(40)))
        return { store in await told { try await store.advance(keyID: keyID, to: counter) } }
    }

    private mutating func block() -> Call {
        var serials: [String: String] = [:]
        for _ in 0..<pick(4) { serials["serial-\(pick(30))"] = "revoked-\(number)" }
        return { [serials] store in await told { try await store.block(serials: serials) } }
    }

    private mutating func deny() -> Call {
        let until = pick(3) == 0 ? nil : now + Int64(pick(100))
        let denial = Sample.denial("hid-\(pick(50))", until: until, created: now, reason: "number \(number)")
        return { store in await told { try await store.deny(denial) } }
    }

    private mutating func lift() -> Call {
        let hid = "hid-\(pick(50))"
        return { [now] store in await told { try await store.allow(hid, now: now) } }
    }

    private mutating func note() -> Call {
        let event = Sample.event(number, time: Int64(number), hid: pick(4) == 0 ? nil : "hid-\(pick(5))")
        return { store in
            store.record(event)
            return "noted"
        }
    }

    private mutating func look() -> Call {
        let (kind, hid, batch, limit) = (pick(5), "hid-\(pick(50))", "batch-\(pick(3))", pick(25))
        return { [now] store in
            await told { () -> any Sendable in
                switch kind {
                case 0: try await store.device(hid)
                case 1: try await store.denials(history: limit % 2 == 0, now: now)
                case 2: try await store.registrations(ofBatch: batch, since: now - Int64(limit) * 20)
                case 3: try await store.events(hid: hid, limit: limit)
                default: try await store.events(limit: limit)
                }
            }
        }
    }
}

/// The answer or the fault, as text.
private func told<Value: Sendable>(_ body: () async throws -> Value) async -> String {
    do { return "\(try await body())" } catch { return "fault: \(error)" }
}

/// A generator that gives the same numbers for the same seed.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
