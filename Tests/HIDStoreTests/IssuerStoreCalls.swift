// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import HIDStore

/// The stores that owe the same answers.
enum StoreKind: CaseIterable, Sendable {
    case memory
    case sqlite

    func make(_ limits: IssuerStoreLimits = .memory) throws -> StoreFixture {
        switch self {
        case .memory: try StoreFixture { _ in MemoryIssuerStore(limits: limits) }
        case .sqlite: try StoreFixture { try SQLiteIssuerStore(path: $0, limits: limits, bootID: "boot") }
        }
    }
}

/// A store in a folder of its own.
final class StoreFixture: Sendable {
    let folder: String
    let store: any IssuerStore

    init(_ make: (_ path: String) throws -> any IssuerStore) throws {
        folder = try Self.makeFolder()
        store = try make(folder + "/registry.db")
    }

    /// At the end of a test.
    func remove() {
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    static func makeFolder() throws -> String {
        let folder = NSTemporaryDirectory() + "hid-registry-\(UUID())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }
}

/// The verbs for tests, which can wait.
extension IssuerStore {
    private func ask<Value: Sendable>(
        _ verb: (@escaping @Sendable (Result<Value, StoreFault>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedContinuation { continuation in verb { continuation.resume(returning: $0) } }.get()
    }

    func issue(_ challenge: Challenge, now: Int64) async throws -> Bool {
        try await ask { issue(challenge, now: now, answer: $0) }
    }

    func consume(_ id: String, now: Int64) async throws -> ConsumedChallenge? {
        try await ask { consume(id, now: now, answer: $0) }
    }

    @discardableResult
    func register(_ device: DeviceRecord, now: Int64) async throws -> RegistrationAnswer {
        try await ask { register(device, now: now, answer: $0) }
    }

    func advance(keyID: [UInt8], to counter: UInt32) async throws -> Bool {
        try await ask { advance(keyID: keyID, to: counter, answer: $0) }
    }

    func block(serials: [String: String], now: Int64 = 0) async throws -> [String] {
        try await ask { block(serials: serials, now: now, answer: $0) }
    }

    func deny(_ denial: Denial) async throws {
        try await ask { deny(denial, answer: $0) }
    }

    func allow(_ hid: String, reason: String = "mistake", now: Int64) async throws -> Bool {
        try await ask { allow(hid, reason: reason, now: now, answer: $0) }
    }

    func denials(history: Bool, now: Int64) async throws -> [Denial] {
        try await ask { denials(history: history, now: now, answer: $0) }
    }

    func device(_ hid: String) async throws -> DeviceRecord? {
        try await ask { device(hid, answer: $0) }
    }

    func registrations(ofBatch batchID: String, since: Int64) async throws -> Int {
        try await ask { registrations(ofBatch: batchID, since: since, answer: $0) }
    }

    func events(hid: String? = nil, limit: Int = 1_000) async throws -> [RegistryEvent] {
        try await ask { events(hid: hid, limit: limit, answer: $0) }
    }

    func probe() async throws {
        try await ask { probe(answer: $0) }
    }
}

extension SQLiteIssuerStore {
    func check() async throws -> [String] {
        try await withCheckedContinuation { continuation in check { continuation.resume(returning: $0) } }.get()
    }

    func limitSize(pages: Int64) async throws {
        try await withCheckedContinuation { continuation in
            limitSize(pages: pages) { continuation.resume(returning: $0) }
        }.get()
    }
}

/// Values that stores are given.
enum Sample {
    static func challenge(_ number: Int, device: String = "device-1", expiry: Int64 = 160) -> Challenge {
        Challenge(
            id: "challenge-\(number)", nonce: (0..<32).map { UInt8(truncatingIfNeeded: number &+ $0) },
            appID: "demo-app", deviceID: device, platform: "android", expiry: expiry)
    }

    /// A key number `key`; all of its members differ from those of another number.
    static func device(_ key: Int, at device: String = "device-1", app: String = "demo-app") -> DeviceRecord {
        var record = DeviceRecord(
            hid: "hid-\(key)", appID: app, deviceID: device, platform: key % 2 == 0 ? "android" : "ios",
            publicKey: [4] + (0..<64).map { UInt8(truncatingIfNeeded: key &* 7 &+ $0) }, level: "level-\(key)",
            environment: "environment-\(key)", tier: "tier-\(key)", registered: 100)
        record.batchID = "batch-\(key)"
        record.serials = ["serial-b\(key)", "serial-a\(key)"]
        record.assertionKey = [4] + [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 64)
        record.facts = "{\"number\":\(key)}"
        return record
    }

    static func denial(_ hid: String, until: Int64? = nil, created: Int64 = 100, reason: String = "fraud") -> Denial {
        Denial(hid: hid, until: until, reason: reason, by: "operator", created: created)
    }

    static func event(_ number: Int, time: Int64 = 100, hid: String? = "hid-1") -> RegistryEvent {
        RegistryEvent(
            time: time, kind: "attested", appID: "demo-app", deviceID: "device-\(number)", platform: "ios", hid: hid,
            reason: number % 2 == 0 ? nil : "reason-\(number)", requestID: "request-\(number)")
    }
}
