// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Hands out tokens: the kept one while it is good, else that of one exchange for all who wait.
///
/// Any thread may call. The lock is held for state changes only, never while anybody else's code runs. An exchange
/// runs in a task of its own, so that no caller's cancellation ends it for the others; it ends when it is done or
/// when its time is over, and the next call starts a new one.
final class TokenDesk: Sendable {
    /// What a caller wants a token for.
    enum Wish: Sendable {
        /// To look at or to send; others may get the same one.
        case shared
        /// For one request alone.
        case own
        /// To have it ready.
        case kept
    }

    /// What a caller who waited is told.
    private enum Outcome: Sendable {
        case token(HumanIDToken)
        case failed(HumanIDFailure)
        /// Somebody else's turn took the token.
        case again
    }

    private struct Waiter: Sendable {
        let id: UInt64
        let wish: Wish
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct Flight: Sendable {
        let id: UInt64
        var waiters: [Waiter]
        var tasks: [Task<Void, Never>] = []
    }

    private struct State: Sendable {
        var backoff: Backoff
        /// The newest token.
        var latest: HumanIDToken?
        /// The newest token that `getToken` gave; a body signature goes with its key.
        var shared: HumanIDToken?
        var isLatestHandedOut = false
        var isLatestSpent = false
        var flight: Flight?
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let config: HumanIDConfig
    private let clock: any HumanIDClock
    private let jitter: @Sendable () -> Double
    private let exchange: @Sendable () async -> Result<HumanIDToken, HumanIDFailure>

    /// Makes a desk; `jitter` gives random numbers in 0 ..< 1, `exchange` gets a token from the server.
    init(
        config: HumanIDConfig, clock: any HumanIDClock, jitter: @escaping @Sendable () -> Double,
        exchange: @escaping @Sendable () async -> Result<HumanIDToken, HumanIDFailure>
    ) {
        self.config = config
        self.clock = clock
        self.jitter = jitter
        self.exchange = exchange
        state = Mutex(State(backoff: Backoff(config)))
    }

    /// How long calls that need the server still fail fast.
    var backoffRemaining: Duration? {
        let now = clock.now()
        return state.withLock { $0.backoff.remaining(at: now) }
    }

    /// Gets a token.
    ///
    /// - Throws: The failure of the exchange, or of the last one while calls fail fast; `timeout`, `cancelled`.
    func token(_ wish: Wish) async throws(HumanIDFailure) -> HumanIDToken {
        let begin = clock.now()
        while true {
            let id = state.withLock { state in
                state.lastID &+= 1
                return state.lastID
            }
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { join(Waiter(id: id, wish: wish, continuation: $0)) }
            } onCancel: {
                leave(id)
            }
            switch outcome {
            case .token(let token): return token
            case .failed(let failure): throw failure
            case .again:
                guard clock.now() - begin < config.timeout.inBounds else { throw .timeout }
            }
        }
    }

    /// The newest token that was handed out to be shared, which from now on nobody else gets: a request with it is
    /// about to be sent.
    func spend() -> HumanIDToken? {
        state.withLock { state in
            if state.isLatestHandedOut { state.isLatestSpent = true }
            return state.shared
        }
    }

    /// Forgets a token whose key is gone.
    func forget(_ token: HumanIDToken) {
        state.withLock { state in
            if state.latest == token { state.isLatestSpent = true }
        }
    }

    // MARK: - Waiting

    private func join(_ waiter: Waiter) {
        let now = clock.now()
        // A cancellation marks the task before it calls `leave`, so one of the two sees the waiter.
        let isCancelled = Task.isCancelled
        let (outcome, started) = state.withLock { state -> (Outcome?, UInt64?) in
            if isCancelled { return (.failed(.cancelled), nil) }
            if let token = kept(for: waiter.wish, in: &state, at: now) { return (.token(token), nil) }
            if state.flight != nil {
                state.flight?.waiters.append(waiter)
                return (nil, nil)
            }
            if let failure = state.backoff.failure(at: now) { return (.failed(failure), nil) }
            state.lastID &+= 1
            state.flight = Flight(id: state.lastID, waiters: [waiter])
            return (nil, state.lastID)
        }
        if let outcome { waiter.continuation.resume(returning: outcome) }
        if let started { start(started) }
    }

    private func leave(_ id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.flight?.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.flight?.waiters.remove(at: index)
        }
        waiter?.continuation.resume(returning: .failed(.cancelled))
    }

    /// The kept token, if it is good for a wish; it counts as handed out then.
    private func kept(for wish: Wish, in state: inout State, at now: Duration) -> HumanIDToken? {
        guard let token = state.latest, !state.isLatestSpent, token.lifeLeft(at: now) > .zero,
            token.lifeLeft(at: now) >= config.minimumTokenLife.inBounds
        else { return nil }
        switch wish {
        case .kept: break
        case .shared:
            state.isLatestHandedOut = true
            state.shared = token
        case .own:
            guard !state.isLatestHandedOut else { return nil }
            state.isLatestSpent = true
        }
        return token
    }

    // MARK: - Exchanges

    private func start(_ flight: UInt64) {
        let work = Task { finish(flight, await exchange()) }
        let timer = Task {
            await clock.sleep(for: config.timeout.inBounds)
            if !Task.isCancelled { finish(flight, .failure(.timeout)) }
        }
        let isOver = state.withLock { state in
            guard state.flight?.id == flight else { return true }
            state.flight?.tasks = [work, timer]
            return false
        }
        if isOver { [work, timer].forEach { $0.cancel() } }
    }

    /// Ends an exchange once; what comes of one that was given up is dropped.
    private func finish(_ id: UInt64, _ result: Result<HumanIDToken, HumanIDFailure>) {
        let now = clock.now()
        let share = jitter()
        let ended = state.withLock { state -> (flight: Flight, outcomes: [Outcome])? in
            guard let flight = state.flight, flight.id == id else { return nil }
            state.flight = nil
            switch result {
            case .success(let token):
                state.backoff.succeed()
                return (flight, take(token, for: flight.waiters.map(\.wish), in: &state))
            case .failure(let failure):
                state.backoff.fail(failure, at: now, jitter: share)
                return (flight, flight.waiters.map { _ in .failed(failure) })
            }
        }
        guard let (flight, outcomes) = ended else { return }
        for task in flight.tasks { task.cancel() }
        for (waiter, outcome) in zip(flight.waiters, outcomes) { waiter.continuation.resume(returning: outcome) }
    }

    /// Keeps a new token and says who gets it: all who share, else the first who wants one alone, else nobody yet.
    private func take(_ token: HumanIDToken, for wishes: [Wish], in state: inout State) -> [Outcome] {
        let isShared = wishes.contains(.shared)
        let owner = isShared ? nil : wishes.firstIndex(of: .own)
        // What goes to one alone is never kept, and an older token that is still good for the others stays.
        if owner == nil {
            state.latest = token
            state.isLatestHandedOut = isShared
            state.isLatestSpent = false
        }
        if isShared { state.shared = token }
        return wishes.enumerated().map { index, wish in
            wish == .own && index != owner ? .again : .token(token)
        }
    }
}
