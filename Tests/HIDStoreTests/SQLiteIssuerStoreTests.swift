// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

/// What a registry in a file owes beyond others: it is there again after a restart, and when room ran out.
@Suite struct SQLiteIssuerStoreTests {
    // MARK: - Over restarts

    @Test func `everything is there again after close and open, bounds included`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            try await Registries.fill(store)
            store.close()
            #expect(try Registries.names(beside: path) == ["registry.db"])
            let second = try Registries.open(path)
            try await Registries.expectFilled(second)
            second.close()
            let third = try Registries.open(path, limits: .init(challenges: 1, devices: 20, denials: 20, events: 20))
            await #expect(throws: StoreFault.self) { try await third.register(Sample.device(40), now: 100) }
            _ = try await third.issue(Sample.challenge(50), now: 100)
            await #expect(throws: StoreFault.self) { try await third.issue(Sample.challenge(51), now: 100) }
            third.record(Sample.event(99))
            #expect(try await third.events().count == 20)
            third.close()
        }
    }

    @Test func `lower bounds than before hold back what is new and let events shrink`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            try await Registries.fill(store)
            store.close()
            let second = try Registries.open(path, limits: .init(challenges: 5, devices: 5, denials: 5, events: 5))
            await #expect(throws: StoreFault.self) { try await second.issue(Sample.challenge(51), now: 100) }
            await #expect(throws: StoreFault.self) { try await second.register(Sample.device(51), now: 100) }
            await #expect(throws: StoreFault.self) { try await second.deny(Sample.denial("hid-51")) }
            #expect(try await second.denials(history: false, now: 101).count == 19, "none in force went for it")
            for number in 0..<3 { second.record(Sample.event(number)) }
            #expect(try await second.events().count == 5)
            second.close()
        }
    }

    @Test func `a copy of the files taken while they are in use holds everything answered`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            defer { store.close() }
            try await Registries.fill(store)
            let copy = path + "-copy"
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            let second = try Registries.open(copy)
            try await Registries.expectFilled(second)
            second.close()
        }
    }

    @Test(arguments: ["other boot", nil] as [String?])
    func `challenges do not outlive the run of the machine, everything else does`(_ bootID: String?) async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path, bootID: "boot")
            try await Registries.fill(store)
            store.close()
            let second = try Registries.open(path, bootID: bootID)
            try await Registries.expectFilled(second, challenges: false)
            _ = try await second.issue(Sample.challenge(99), now: 100)
            second.close()
            let third = try Registries.open(path, bootID: bootID)
            #expect(try await (third.consume("challenge-99", now: 100) != nil) == (bootID != nil))
            third.close()
        }
    }

    @Test func `the kernel's boot id is known and the same at each call`() throws {
        let bootID = try #require(RegistryFile.bootID())
        #expect(bootID.utf8.count == 36)
        #expect(RegistryFile.bootID() == bootID)
    }

    @Test func `close waits for everything that was asked before`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            for number in 0..<2_000 { store.issue(Sample.challenge(number), now: 100) { _ in } }
            store.close()
            let second = try Registries.open(path)
            for number in [0, 1_000, 1_999] {
                #expect(try await second.consume("challenge-\(number)", now: 100) != nil)
            }
            second.close()
        }
    }

    // MARK: - Durability

    @Test func `a durable transaction waits for the disk, another one does not`() async throws {
        try await Registries.withFolder { path in
            let registry = try Registry(path: path, limits: .disk, bootID: "boot", waitMilliseconds: 0)
            for isDurable in [true, false, false, true, false] {
                try registry.begin(durable: isDurable)
                #expect(try registry.database.number("PRAGMA synchronous") == (isDurable ? 2 : 1))
                try registry.record(Sample.event(1))
                try registry.commitTransaction()
            }
            #expect(try registry.events(hid: nil, limit: 10).count == 5)
        }
    }

    @Test func `registrations, counters, blocks and denials are durable, challenges and events are not`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            defer { store.close() }
            try await store.register(Sample.device(1), now: 100)
            _ = try await store.advance(keyID: [1], to: 1)
            _ = try await store.block(serials: [:])
            try await store.deny(Sample.denial("hid-1"))
            _ = try await store.allow("hid-1", now: 100)
            #expect(store.commitCounts == (5, 0))
            _ = try await store.issue(Sample.challenge(1), now: 100)
            _ = try await store.consume("challenge-1", now: 100)
            _ = try await store.device("hid-1")
            _ = try await store.denials(history: true, now: 100)
            _ = try await store.registrations(ofBatch: "batch-1", since: 0)
            _ = try await store.events()
            try await store.probe()
            #expect(store.commitCounts == (5, 7))
        }
    }

    @Test func `what waits while one transaction is written shares the next`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            defer { store.close() }
            let release = await Registries.holdUp(store)
            let left = Locked(1_000)
            await withCheckedContinuation { continuation in
                for number in 0..<1_000 {
                    store.issue(Sample.challenge(number), now: 100) { _ in
                        left.add(-1)
                        if left.value == 0 { continuation.resume() }
                    }
                }
                release.signal()
            }
            #expect(store.commitCounts == (0, 2))
        }
    }

    // MARK: - Room

    @Test func `a file that cannot grow is full, and all is well when it can again`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            defer { store.close() }
            try await store.probe()
            try await store.limitSize(pages: 1)
            var kept: [Int] = []
            var isFull = false
            for number in 0..<200 where !isFull {
                do {
                    try await store.register(Sample.device(number, at: "device-\(number)"), now: 100)
                    kept.append(number)
                } catch StoreFault.full { isFull = true }
            }
            #expect(isFull)
            await #expect { try await store.probe() } throws: { if case StoreFault.full = $0 { true } else { false } }
            for number in kept { #expect(try await store.device("hid-\(number)") != nil) }
            #expect(try await store.device("hid-\(kept.count)") == nil)
            try await store.limitSize(pages: 100_000)
            try await store.probe()
            for number in 0..<200 {
                let answer = try await store.register(Sample.device(number, at: "device-\(number)"), now: 100)
                #expect(answer == .registered(isNew: number >= kept.count, retired: nil, denial: nil))
            }
            #expect(try await store.check().isEmpty)
        }
    }

    @Test func `of calls that share a transaction only those fail for which there is no room`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            defer { store.close() }
            for number in 0..<50 { _ = try await store.issue(Sample.challenge(number), now: 100) }
            try await store.limitSize(pages: 1)
            let faults = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            let device = Sample.device(number, at: "other-\(number)")
                            if number % 2 == 0 { try await store.register(device, now: 100) }
                            if number % 6 == 1 {
                                #expect(try await store.consume("challenge-\(number / 6)", now: 100) != nil)
                            }
                            return 0
                        } catch StoreFault.full where number % 2 == 0 { return 1 }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(faults > 0 && faults < 150, "some found room in pages that were there")
            try await store.limitSize(pages: 100_000)
            #expect(try await store.check().isEmpty)
        }
    }

    @Test func `bounds are right after transactions that were undone`() async throws {
        try await Registries.withFolder { path in
            let limits = IssuerStoreLimits(challenges: 400, devices: 1_000, denials: 10, events: 10)
            let store = try Registries.open(path, limits: limits)
            defer { store.close() }
            try await store.limitSize(pages: 1)
            let issued = Locked(0)
            await withTaskGroup { group in
                for number in 0..<400 {
                    group.addTask {
                        if (try? await store.issue(Sample.challenge(number), now: 100)) != nil { issued.add(1) }
                    }
                }
            }
            #expect(issued.value < 400)
            try await store.limitSize(pages: 100_000)
            for number in 0..<(400 - issued.value) {
                _ = try await store.issue(Sample.challenge(1_000 + number), now: 100)
            }
            await #expect(throws: StoreFault.full("all places for challenges are taken")) {
                try await store.issue(Sample.challenge(5_000), now: 100)
            }
        }
    }

    @Test func `more calls than may wait are refused at once, events first`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path, pending: 8)
            let refused = Locked(0)
            let release = await Registries.holdUp(store)
            for number in 0..<6 { store.record(Sample.event(number)) }
            #expect(store.lostEvents == 2)
            await withCheckedContinuation { continuation in
                for number in 0..<10 {
                    store.issue(Sample.challenge(number), now: 100) { result in
                        if case .failure(.unavailable) = result { refused.add(1) }
                        if number == 3 { continuation.resume() }
                    }
                }
                #expect(refused.value == 6)
                release.signal()
            }
            #expect(try await store.events().count == 4)
            for number in 0..<10 {
                #expect(try await (store.consume("challenge-\(number)", now: 100) != nil) == (number < 4))
            }
            store.close()
        }
    }
}
