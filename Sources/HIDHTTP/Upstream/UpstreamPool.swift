// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Somebody who waits for a connection.
///
/// All calls come on the pool's loop.
package protocol UpstreamWaiter: AnyObject {
    /// There is one: it may be written to at once.
    func upstreamReady(_ connection: UpstreamConnection)
    /// There is none, and the wait is over.
    func upstreamRefused(_ fault: UpstreamFault)
}

/// The connections of one loop to one upstream, and who waits there for one.
///
/// Confined to the loop.
package final class UpstreamPool {
    package typealias Client = any UpstreamHandler & UpstreamWaiter
    private final class Waiter {
        let client: Client
        init(_ client: Client) { self.client = client }
    }
    /// What became of the search for a place.
    private enum Place {
        case at(EndpointPool)
        /// All that may be used is full, or the first answer of the resolver is still to come.
        case full
        case none(UpstreamFault)
    }

    package let loop: EventLoop
    package let cluster: UpstreamCluster
    private var places: [EndpointPool] = []
    private var knownVersion = -1
    private var isPending = false
    private var rotation = 0
    private var budget: RetryBudget
    private var queue = WaitQueue<Waiter>()
    private let queueDelay: UInt64
    private var timer: LoopTimer?
    private let door: PoolDoor
    private var isSettling = false
    private var isRetired = false

    /// Makes a pool; `older`: the one that it replaces, whose connections and waiters it takes over.
    package init(loop: EventLoop, cluster: UpstreamCluster, replacing older: UpstreamPool? = nil) {
        self.loop = loop
        self.cluster = cluster
        budget = RetryBudget(percent: cluster.policy.retryPercent, perSecond: cluster.policy.retriesPerSecond)
        queueDelay = cluster.policy.queueTimeout.nanoseconds
        door = PoolDoor(loop: loop)
        rotation = loop.index
        door.pool = self
        cluster.register(door)
        timer = LoopTimer { [unowned self] in expire() }
        update(inheriting: older?.places ?? [])
        guard let older else { return }
        older.places = []
        takeWaiters(of: older)
    }

    deinit {
        timer?.cancel()
        cluster.deregister(door)
    }

    /// Connections now, in use and idle.
    package var count: Int { places.reduce(0) { $0 + $1.count } }
    /// How many connections one request may be given at most.
    package var attemptLimit: Int {
        updateIfNeeded()
        return min(places.count, 3)
    }

    // MARK: - Connections

    /// Gives an exchange a connection that it may write to at once.
    ///
    /// `fresh`: a new one; `avoiding`: addresses that were tried before; `preamble`: what a new one begins with.
    package func acquire(
        for handler: any UpstreamHandler, isHeadRequest: Bool, preamble: [UInt8] = [], fresh: Bool = false,
        avoiding tried: [UpstreamEndpoint] = []
    ) throws(UpstreamFault) -> UpstreamConnection {
        switch place(avoiding: tried) {
        case .at(let place): return try begin(at: place, handler, isHeadRequest, preamble, fresh: fresh)
        case .full: throw .tooManyConnections
        case .none(let fault): throw fault
        }
    }

    /// Like `acquire`, but nil when all connections are taken: the client waits, and is called when its turn comes.
    package func acquireOrWait(
        for client: Client, isHeadRequest: Bool, preamble: [UInt8] = []
    ) throws(UpstreamFault) -> UpstreamConnection? {
        budget.noteRequest(now: loop.now)
        // Who came earlier, on whatever loop, goes first.
        if cluster.waiting.load(ordering: .relaxed) == 0 {
            switch place(avoiding: []) {
            case .at(let place):
                do throws(UpstreamFault) {
                    return try begin(at: place, client, isHeadRequest, preamble, fresh: false)
                } catch .tooManyConnections {
                    // Another loop was faster.
                }
            case .full: break
            case .none(let fault): throw fault
            }
        }
        try wait(client, isHeadRequest, preamble)
        return nil
    }

    private func begin(
        at place: EndpointPool, _ handler: any UpstreamHandler, _ isHeadRequest: Bool, _ preamble: [UInt8],
        fresh: Bool
    ) throws(UpstreamFault) -> UpstreamConnection {
        let connection = try place.connection(
            fresh: fresh || cluster.policy.sendsProxyHeader, preamble: preamble)
        place.endpoint.active.add(1, ordering: .relaxed)
        connection.begin(for: handler, isHeadRequest: isHeadRequest)
        return connection
    }

    /// Whether the budget has a second sending left; takes it.
    package func takeRetry() -> Bool {
        budget.take(now: loop.now, parts: cluster.doorCount)
    }

    // MARK: - Choice

    private func place(avoiding tried: [UpstreamEndpoint]) -> Place {
        updateIfNeeded()
        let now = loop.now
        if places.count == 1, tried.isEmpty, !cluster.isPanicking.load(ordering: .relaxed),
            places[0].endpoint.isFit(now)
        {
            return places[0].hasRoom ? .at(places[0]) : .full
        }
        guard !places.isEmpty else { return isPending ? .full : .none(.resolve) }
        let isPanicking = !places.contains { $0.endpoint.isFit(now) }
        cluster.note(isPanicking: isPanicking)
        // A second choice must not shift the turns of the first ones.
        if tried.isEmpty { rotation = (rotation + 1) % places.count }
        var isFull = false
        let index = Balancer.pick(count: places.count, from: rotation % places.count) { index in
            let place = places[index]
            let endpoint = place.endpoint
            guard isPanicking || endpoint.isFit(now), !tried.contains(where: { $0 === endpoint }) else { return nil }
            guard place.hasRoom else {
                isFull = true
                return nil
            }
            return .init(active: endpoint.active.load(ordering: .relaxed), weight: place.server.weight)
        }
        if let index { return .at(places[index]) }
        return isFull || tried.isEmpty ? .full : .none(.tooManyConnections)
    }

    private func updateIfNeeded() {
        if cluster.version.load(ordering: .acquiring) != knownVersion { update(inheriting: []) }
    }

    /// Builds the list of places anew; those whose address is still there go on.
    private func update(inheriting older: [EndpointPool]) {
        knownVersion = cluster.version.load(ordering: .acquiring)
        isPending = false
        var new: [EndpointPool] = []
        for server in cluster.servers {
            if case .pending = server.addresses.state { isPending = true }
            for endpoint in server.addresses.endpoints where server.weight > 0 {
                if let known = places.first(where: { $0.endpoint === endpoint }) {
                    new.append(known)
                    continue
                }
                if let known = older.first(where: { $0.endpoint === endpoint }) {
                    known.move(to: self, as: server)
                    new.append(known)
                } else {
                    new.append(EndpointPool(endpoint, of: server, in: self))
                }
            }
        }
        let kept = Set(new.map { ObjectIdentifier($0.endpoint) })
        for place in places + older where !kept.contains(ObjectIdentifier(place.endpoint)) { place.retire() }
        places = new
    }

    func refresh() {
        updateIfNeeded()
        settle()
    }

    // MARK: - Waiting

    private func wait(_ client: Client, _ isHeadRequest: Bool, _ preamble: [UInt8]) throws(UpstreamFault) {
        guard !isRetired, cluster.policy.queueSize > 0 else { throw places.isEmpty ? .resolve : .tooManyConnections }
        guard cluster.waiting.add(1, ordering: .sequentiallyConsistent).newValue <= cluster.policy.queueSize else {
            cluster.waiting.subtract(1, ordering: .relaxed)
            throw .queueFull
        }
        let (now, waiter) = (loop.now, Waiter(client))
        queue.append(
            .init(
                waiter: waiter, isHeadRequest: isHeadRequest, preamble: preamble, since: now,
                deadline: now &+ queueDelay))
        queueChanged()
        // What came free between the look and the entry is seen here; what idles elsewhere is asked for.
        loop.afterEvents { [weak self] in self?.settle() }
        cluster.askOthers(than: door)
    }

    /// Takes a client that lost its interest out of the queue.
    package func leave(_ client: Client) {
        guard queue.remove(where: { $0.client === client }) else { return }
        cluster.waiting.subtract(1, ordering: .relaxed)
        queueChanged()
    }

    private func queueChanged() {
        door.oldest.store(queue.first?.since ?? .max, ordering: .relaxed)
        guard let timer else { return }
        guard let first = queue.first else { return timer.cancel() }
        loop.set(timer, at: first.deadline)
    }

    private func popFirst() -> WaitQueue<Waiter>.Entry? {
        guard let entry = queue.popFirst() else { return nil }
        cluster.waiting.subtract(1, ordering: .relaxed)
        return entry
    }

    private func expire() {
        while let first = queue.first, first.deadline <= loop.now, let entry = popFirst() {
            entry.waiter.client.upstreamRefused(places.isEmpty ? .resolve : .tooManyConnections)
        }
        queueChanged()
    }

    /// A connection came free or was closed here.
    func roomAppeared() {
        // Either this sees who waits, or who waits sees the room.
        guard cluster.waiting.load(ordering: .sequentiallyConsistent) > 0 else { return }
        loop.afterEvents { [weak self] in self?.settle() }
    }

    /// Gives what is free to those who have waited longest, here or on another loop.
    func settle() {
        guard !isSettling else { return }
        isSettling = true
        defer { isSettling = false }
        while cluster.waiting.load(ordering: .relaxed) > 0, let longest = cluster.longestWaiting() {
            guard longest === door else {
                giveAway()
                return longest.knock { $0.settle() }
            }
            guard serveFirst() else { return }
        }
    }

    /// False when there is nothing for it yet.
    private func serveFirst() -> Bool {
        guard let entry = queue.first else { return false }
        let client = entry.waiter.client
        do throws(UpstreamFault) {
            switch place(avoiding: []) {
            case .full:
                giveUpUnfit()
                return false
            case .none(let fault): throw fault
            case .at(let place):
                let connection = try begin(at: place, client, entry.isHeadRequest, entry.preamble, fresh: false)
                dropFirst()
                client.upstreamReady(connection)
            }
        } catch {
            // Another loop took the room first: the place in the queue stays.
            guard error != .tooManyConnections else { return false }
            dropFirst()
            client.upstreamRefused(error)
        }
        return true
    }

    /// Closes one idle connection to an address that gets nothing: it takes the room of one that would.
    private func giveUpUnfit() {
        guard !cluster.hasRoom else { return }
        _ = places.first { $0.hasIdle && !$0.endpoint.isFit(loop.now) }?.closeOneIdle()
    }

    private func dropFirst() {
        _ = popFirst()
        queueChanged()
    }

    /// Closes one idle connection when others wait for the room that it takes.
    func giveAway() {
        guard cluster.waiting.load(ordering: .relaxed) > queue.count else { return }
        for place in places where place.hasIdle {
            let server = place.server
            let isFull = server.addresses.open.load(ordering: .relaxed) >= server.maximumConnections
            if !cluster.hasRoom || isFull, place.closeOneIdle() { return }
        }
    }

    private func takeWaiters(of older: UpstreamPool) {
        while let entry = older.popFirst() {
            cluster.waiting.add(1, ordering: .relaxed)
            queue.append(entry)
        }
        older.queueChanged()
        guard queue.count > 0 else { return }
        queueChanged()
        loop.afterEvents { [weak self] in self?.settle() }
    }

    // MARK: - End

    /// Closes what is idle now; what is in use closes after its exchange.
    package func retire() {
        isRetired = true
        for place in places { place.retire() }
    }

    /// Has nothing to give any more: who waits is refused.
    package func close() {
        retire()
        while let entry = popFirst() { entry.waiter.client.upstreamRefused(.tooManyConnections) }
        queueChanged()
    }
}
