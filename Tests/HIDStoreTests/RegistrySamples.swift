// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

/// Registries in files, for tests.
enum Registries {
    static func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
        let folder = try StoreFixture.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder + "/registry.db")
    }

    static func open(
        _ path: String, limits: IssuerStoreLimits = .disk, bootID: String? = "boot", pending: Int = 10_000
    ) throws(StoreFault) -> SQLiteIssuerStore {
        try SQLiteIssuerStore(path: path, limits: limits, bootID: bootID, maximumPending: pending)
    }

    static func fault(opening path: String) -> String? {
        do {
            try open(path).close()
            return nil
        } catch { return error.description }
    }

    static func fill(_ store: SQLiteIssuerStore) async throws {
        for number in 0..<20 {
            var device = Sample.device(number, at: "device-\(number % 15)")
            device.keyID = [UInt8(number)]
            try await store.register(device, now: 100)
            _ = try await store.issue(Sample.challenge(number), now: 100)
            try await store.deny(Sample.denial("hid-\(number)"))
            store.record(Sample.event(number))
        }
        #expect(try await store.advance(keyID: [19], to: 9))
        #expect(try await store.block(serials: ["serial-a18": "revoked"]) == ["hid-18"])
        #expect(try await store.allow("hid-17", now: 101))
    }

    static func expectFilled(_ store: SQLiteIssuerStore, challenges: Bool = true) async throws {
        #expect(try await store.device("hid-0")?.retired == 100)
        #expect(try await store.device("hid-19")?.counter == 9)
        #expect(try await store.device("hid-18")?.blocked == "revoked")
        var again = Sample.device(30)
        again.keyID = [0]
        #expect(try await store.register(again, now: 100) == .keyIDUsed)
        #expect(try await store.denials(history: false, now: 101).count == 19)
        #expect(try await store.denials(history: true, now: 101).count == 20)
        #expect(try await store.events().map(\.deviceID) == (0..<20).reversed().map { "device-\($0)" })
        for number in 0..<20 {
            let consumed = try await store.consume("challenge-\(number)", now: 101)
            #expect((consumed?.challenge == Sample.challenge(number)) == challenges)
        }
        #expect(try await store.check().isEmpty)
    }

    /// Keeps the store at an answer, so that what is asked now waits until the signal.
    static func holdUp(_ store: SQLiteIssuerStore) async -> DispatchSemaphore {
        let release = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            store.probe { _ in
                continuation.resume()
                release.wait()
            }
        }
        return release
    }

    static func names(beside path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: String(path.dropLast("/registry.db".count))).sorted()
    }
}

/// A number that many threads add to.
final class Locked: @unchecked Sendable {
    private let lock = NSLock()
    private var number: Int

    init(_ number: Int) {
        self.number = number
    }

    var value: Int { lock.withLock { number } }

    func add(_ count: Int) { lock.withLock { number += count } }
}
