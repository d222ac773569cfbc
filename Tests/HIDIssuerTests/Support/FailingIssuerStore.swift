// SPDX-License-Identifier: Apache-2.0
import HIDStore
import Synchronization

/// A store that fails at the verbs it is told to, and counts what it was asked.
final class FailingIssuerStore: IssuerStore {
    enum Verb: String, CaseIterable, Sendable {
        case issue, consume, register, advance, block, deny, allow, denials, device, registrations, events, probe
    }

    private struct State {
        var failing: Set<Verb> = []
        var calls: [Verb: Int] = [:]
    }

    static let fault = StoreFault.unavailable("the disk is on fire")

    let inner: any IssuerStore
    private let state = Mutex(State())

    init(_ inner: any IssuerStore = MemoryIssuerStore()) {
        self.inner = inner
    }

    /// From now on these verbs fail and no others.
    func fail(_ verbs: Verb...) {
        state.withLock { $0.failing = Set(verbs) }
    }

    func calls(_ verb: Verb) -> Int {
        state.withLock { $0.calls[verb, default: 0] }
    }

    private func pass<Value: Sendable>(
        _ verb: Verb, _ answer: @escaping @Sendable (Result<Value, StoreFault>) -> Void,
        _ body: (@escaping @Sendable (Result<Value, StoreFault>) -> Void) -> Void
    ) {
        let fails = state.withLock { state in
            state.calls[verb, default: 0] += 1
            return state.failing.contains(verb)
        }
        if fails { answer(.failure(Self.fault)) } else { body(answer) }
    }

    func issue(_ challenge: Challenge, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void) {
        pass(.issue, answer) { inner.issue(challenge, now: now, answer: $0) }
    }

    func consume(
        _ id: String, now: Int64, answer: @escaping @Sendable (Result<ConsumedChallenge?, StoreFault>) -> Void
    ) {
        pass(.consume, answer) { inner.consume(id, now: now, answer: $0) }
    }

    func register(
        _ device: DeviceRecord, now: Int64, answer: @escaping @Sendable (Result<RegistrationAnswer, StoreFault>) -> Void
    ) {
        pass(.register, answer) { inner.register(device, now: now, answer: $0) }
    }

    func advance(
        keyID: [UInt8], to counter: UInt32, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        pass(.advance, answer) { inner.advance(keyID: keyID, to: counter, answer: $0) }
    }

    func block(
        serials: [String: String], now: Int64, answer: @escaping @Sendable (Result<[String], StoreFault>) -> Void
    ) {
        pass(.block, answer) { inner.block(serials: serials, now: now, answer: $0) }
    }

    func deny(_ denial: Denial, answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        pass(.deny, answer) { inner.deny(denial, answer: $0) }
    }

    func allow(
        _ hid: String, reason: String, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void
    ) {
        pass(.allow, answer) { inner.allow(hid, reason: reason, now: now, answer: $0) }
    }

    func denials(history: Bool, now: Int64, answer: @escaping @Sendable (Result<[Denial], StoreFault>) -> Void) {
        pass(.denials, answer) { inner.denials(history: history, now: now, answer: $0) }
    }

    func device(_ hid: String, answer: @escaping @Sendable (Result<DeviceRecord?, StoreFault>) -> Void) {
        pass(.device, answer) { inner.device(hid, answer: $0) }
    }

    func registrations(
        ofBatch batchID: String, since: Int64, answer: @escaping @Sendable (Result<Int, StoreFault>) -> Void
    ) {
        pass(.registrations, answer) { inner.registrations(ofBatch: batchID, since: since, answer: $0) }
    }

    func record(_ event: RegistryEvent) { inner.record(event) }

    var lostEvents: Int { inner.lostEvents }

    func events(
        hid: String?, limit: Int, answer: @escaping @Sendable (Result<[RegistryEvent], StoreFault>) -> Void
    ) {
        pass(.events, answer) { inner.events(hid: hid, limit: limit, answer: $0) }
    }

    func probe(answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void) {
        pass(.probe, answer) { inner.probe(answer: $0) }
    }

    func close() { inner.close() }
}

/// What a store answers in place, as the one in memory does.
extension IssuerStore {
    private func now<Value: Sendable>(
        _ verb: (@escaping @Sendable (Result<Value, StoreFault>) -> Void) -> Void
    ) throws(StoreFault) -> Value {
        let answer = AnswerBox<Value>()
        verb { answer.set($0) }
        return try answer.value.get()
    }

    func deviceNow(_ hid: String) throws(StoreFault) -> DeviceRecord? { try now { device(hid, answer: $0) } }
    func denyNow(_ denial: Denial) throws(StoreFault) { try now { deny(denial, answer: $0) } }
    func denialsNow(at time: Int64) throws(StoreFault) -> [Denial] {
        try now { denials(history: false, now: time, answer: $0) }
    }
    func eventsNow() throws(StoreFault) -> [RegistryEvent] { try now { events(hid: nil, limit: 1000, answer: $0) } }
    func consumeNow(_ id: String, at time: Int64) throws(StoreFault) -> ConsumedChallenge? {
        try now { consume(id, now: time, answer: $0) }
    }
}

/// Carries an answer out of a closure.
private final class AnswerBox<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, StoreFault>?>(nil)

    func set(_ new: Result<Value, StoreFault>) { result.withLock { $0 = new } }

    var value: Result<Value, StoreFault> {
        result.withLock { $0 } ?? .failure(.unavailable("no answer in place"))
    }
}
