// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The registry of one process, gone when it ends: for tests and demonstrations.
///
/// Safe from any thread; every answer comes in place, on the caller's thread, with no lock held.
package final class MemoryIssuerStore: IssuerStore {
    private let table: Mutex<IssuerTable?>
    private let lost = Atomic<Int>(0)

    /// Makes an empty store.
    package init(limits: IssuerStoreLimits = .memory) {
        table = Mutex(IssuerTable(limits: limits))
    }

    package var lostEvents: Int { lost.load(ordering: .relaxed) }

    private func ask<Value: Sendable>(
        _ answer: (Result<Value, StoreFault>) -> Void, _ body: (inout IssuerTable) -> Result<Value, StoreFault>
    ) {
        let result = table.withLock { table -> Result<Value, StoreFault> in
            guard var open = table.take() else { return .failure(.closed) }
            defer { table = open }
            return body(&open)
        }
        answer(result)
    }

    package func issue(
        _ challenge: Challenge, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        ask(answer) { $0.issue(challenge, now: now) }
    }

    package func consume(
        _ id: String, now: Int64, answer: @escaping @Sendable (Result<ConsumedChallenge?, StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.consume(id, now: now)) }
    }

    package func register(
        _ device: DeviceRecord, now: Int64, answer: @escaping @Sendable (Result<RegistrationAnswer, StoreFault>) -> Void
    ) {
        ask(answer) { $0.register(device, now: now) }
    }

    package func advance(
        keyID: [UInt8], to counter: UInt32, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.advance(keyID: keyID, to: counter)) }
    }

    package func block(
        serials: [String: String], now: Int64, answer: @escaping @Sendable (Result<[String], StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.block(serials: serials)) }
    }

    package func deny(_ denial: Denial, answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        ask(answer) { $0.denials.deny(denial) }
    }

    package func allow(
        _ hid: String, reason: String, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.denials.lift(hid, reason: reason, now: now)) }
    }

    package func denials(
        history: Bool, now: Int64, answer: @escaping @Sendable (Result<[Denial], StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.denials.list(history: history, now: now)) }
    }

    package func device(_ hid: String, answer: @escaping @Sendable (Result<DeviceRecord?, StoreFault>) -> Void) {
        ask(answer) { .success($0.devices[hid]) }
    }

    package func registrations(
        ofBatch batchID: String, since: Int64, answer: @escaping @Sendable (Result<Int, StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.registrations(ofBatch: batchID, since: since)) }
    }

    package func record(_ event: RegistryEvent) {
        ask({ if case .failure = $0 { lost.add(1, ordering: .relaxed) } }, { .success($0.events.append(event)) })
    }

    package func events(
        hid: String?, limit: Int, answer: @escaping @Sendable (Result<[RegistryEvent], StoreFault>) -> Void
    ) {
        ask(answer) { .success($0.events.last(limit, of: hid)) }
    }

    package func probe(answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        ask(answer) { _ in .success(()) }
    }

    package func close() {
        table.withLock { $0 = nil }
    }
}

extension StoreFault {
    static let closed = StoreFault.unavailable("the store is closed")
    static let challengeIDTaken = StoreFault.unavailable("the challenge id is taken")
    static let challengesFull = StoreFault.full("all places for challenges are taken")
    static let devicesFull = StoreFault.full("all places for device keys are taken")
    static let denialsFull = StoreFault.full("all places for denials are taken")
    static let keyMismatch = StoreFault.unavailable("the hid is registered with another key or application")
}
