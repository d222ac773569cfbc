// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HIDHTTP
package import HIDService
package import HIDVerifier
internal import Synchronization

/// Where the keys of one issuer stand.
package struct KeySetStatus: Sendable {
    /// What requests are judged by now; nil: nothing usable.
    package var keys: KeySet?
    /// Monotonic nanoseconds of the last good load.
    package var loaded: UInt64?
    package var loads = 0
    package var failures = 0
    /// The last failure, until the next good load.
    package var fault: String?
}

/// Keeps the key set of one issuer fresh: one fetch at a time, the old set on any error, none once it is too old.
///
/// The work is done on a queue of its own, so that an issuer that hangs holds up nothing but itself.
package final class KeySetKeeper: Sendable {
    private struct State {
        var status = KeySetStatus()
        var isFetching = false
        /// When an unknown key may cause the next fetch.
        var nextDemand: UInt64 = 0
        var retryDelay: UInt64 = 1_000_000_000
        /// Counts schedules, so that an outdated timer does nothing.
        var schedule = 0
        var isStopped = false
    }

    package let issuer: String
    private let source: KeySetSource
    private let log: Log
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let onChange: @Sendable () -> Void

    private static let second: UInt64 = 1_000_000_000
    private static let defaultAge = 600
    private static let maximumRetryDelay: UInt64 = 30 * second
    private static let fetchTime = Duration.seconds(5)

    /// Makes a keeper that does nothing yet; `onChange` is called on its queue after the usable keys changed.
    package init(
        issuer: String, source: KeySetSource, log: Log, onChange: @escaping @Sendable () -> Void
    ) {
        self.issuer = issuer
        self.source = source
        self.log = log
        self.onChange = onChange
        queue = DispatchQueue(label: "hidgate.keys", qos: .utility)
    }

    package var status: KeySetStatus { state.withLock { $0.status } }

    /// Loads a file in place, and starts fetching a URL.
    ///
    /// Returns what is wrong with a file.
    package func start() -> String? {
        switch source {
        case .file: return loadFile()
        case .url:
            queue.async { self.fetch() }
            return nil
        }
    }

    /// Ends all timers.
    package func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Loads again, on SIGHUP.
    package func reload() {
        switch source {
        case .file: queue.async { _ = self.loadFile() }
        case .url: queue.async { self.fetch() }
        }
    }

    /// A token named a key that is not in the set.
    ///
    /// Any thread; costs a lock when nothing is due.
    package func demand() {
        guard case .url(_, _, let cooldown) = source else { return }
        let now = MonotonicClock.now()
        let isDue = state.withLock { state in
            guard !state.isFetching, !state.isStopped, now >= state.nextDemand else { return false }
            state.nextDemand = now &+ cooldown.nanoseconds
            state.isFetching = true
            return true
        }
        if isDue { queue.async { self.fetch(isMarked: true) } }
    }

    // MARK: - Loading

    private func loadFile() -> String? {
        guard case .file(let path) = source else { return nil }
        do {
            let bytes = try FileSystem.contents(of: path, limit: 64 << 10)
            take(try KeySet(jwks: bytes, precomputing: true))
            return nil
        } catch {
            note("\(path): \(error)")
            return "\(path): \(error)"
        }
    }

    private func fetch(isMarked: Bool = false) {
        guard case .url(let url, let maximumStale, _) = source else { return }
        if !isMarked {
            let mayStart = state.withLock { state in
                guard !state.isFetching, !state.isStopped else { return false }
                state.isFetching = true
                return true
            }
            guard mayStart else { return }
        }
        var request = ControlRequest(method: Array("GET".utf8), url: url)
        (request.answerLimit, request.timeout) = (64 << 10, Self.fetchTime)
        let delay = judge(ControlExchange.send(request), maximumStale: maximumStale)
        state.withLock { $0.isFetching = false }
        schedule(after: delay)
    }

    /// Takes over a good answer.
    ///
    /// Returns when to fetch next, in nanoseconds.
    private func judge(_ result: Result<ControlAnswer, ControlExchangeFault>, maximumStale: Duration) -> UInt64 {
        switch result {
        case .failure(let fault): note(fault.description)
        case .success(let response) where response.status != 200: note("the issuer answered \(response.status)")
        case .success(let response):
            do throws(KeySetFault) {
                take(try KeySet(jwks: response.body, precomputing: true))
                watchStaleness()
                let age = UInt64(min(max(response.maxAge ?? Self.defaultAge, 1), 3600)) * Self.second
                // Before the set is too old, however long the issuer lets it be cached.
                return min(age, maximumStale.nanoseconds / 10 * 9)
            } catch {
                note(error.description)
            }
        }
        return state.withLock { state in
            defer { state.retryDelay = min(state.retryDelay * 2, Self.maximumRetryDelay) }
            return state.retryDelay
        }
    }

    private func take(_ keys: KeySet) {
        let wasFailing = state.withLock { state in
            defer {
                state.status.keys = keys
                state.status.loaded = MonotonicClock.now()
                state.status.loads += 1
                state.status.fault = nil
                state.retryDelay = Self.second
            }
            return state.status.fault != nil || state.status.loads == 0
        }
        // In force before it is told: who waits for the line may send at once.
        onChange()
        for skipped in keys.skipped {
            log.warning(
                "jwks.key_skipped",
                ["issuer": .string(issuer), "kid": .string(skipped.kid ?? ""), "reason": .string(skipped.code)])
        }
        if keys.precomputedCount < keys.count {
            log.error(
                "jwks.fast_path_off",
                ["issuer": .string(issuer), "keys": .integer(keys.count), "fast": .integer(keys.precomputedCount)])
        }
        if wasFailing { log.info("jwks.loaded", ["issuer": .string(issuer), "keys": .integer(keys.count)]) }
    }

    private func note(_ fault: String) {
        let hasKeys = state.withLock { state in
            state.status.failures += 1
            state.status.fault = fault
            return state.status.keys != nil
        }
        log.warning(
            "jwks.load_failed",
            ["issuer": .string(issuer), "fault": .string(fault), "keeps_old_keys": .bool(hasKeys)])
    }

    /// Looks again when the set just loaded will be too old, on a queue that no fetch can hold up.
    private func watchStaleness() {
        guard case .url(_, let maximumStale, _) = source else { return }
        let delay = DispatchTimeInterval.nanoseconds(Int(clamping: maximumStale.nanoseconds &+ 1_000_000))
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
            self?.expireIfStale()
        }
    }

    /// Gives up keys that were last seen good longer ago than `max_stale`.
    private func expireIfStale() {
        guard case .url(_, let maximumStale, _) = source else { return }
        let isStale = state.withLock { state in
            guard state.status.keys != nil, let loaded = state.status.loaded else { return false }
            guard MonotonicClock.now() &- loaded > maximumStale.nanoseconds else { return false }
            state.status.keys = nil
            return true
        }
        guard isStale else { return }
        onChange()
        let seconds = Int(maximumStale.components.seconds)
        log.error("jwks.stale", ["issuer": .string(issuer), "max_stale_s": .integer(seconds)])
    }

    private func schedule(after delay: UInt64) {
        let number = state.withLock { state in
            state.schedule += 1
            return state.schedule
        }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay))) { [weak self] in
            guard let self, state.withLock({ $0.schedule == number && !$0.isStopped }) else { return }
            fetch()
        }
    }
}
