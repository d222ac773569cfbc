// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// One downstream HTTP/1 connection: octets to requests, answers to octets, strictly one exchange at a time.
///
/// Pipelined requests wait in the socket until the exchange before them is over, so answers cannot change places and
/// a fault in a later request cannot spoil an earlier answer. Confined to its loop.
final class HTTP1Connection: EventHandler, Flushable, ConnectionMember, Newcomer {
    enum RequestPhase { case head, content, complete }
    enum ResponsePhase: Equatable { case none, started(chunked: Bool), ended }
    enum Stage { case open, lingering, closed }
    enum Deadline { case header, keepAlive, bodyIdle, write, drain, tunnel }

    let loop: EventLoop
    let stream: ServerStream
    let countedPeer: PeerAddress?
    let transport: ServerTransport
    let settings: ServerSettings
    unowned let owner: ConnectionGroup
    let handler: any ServerHandler
    var registration: Registration?
    var timer: LoopTimer?
    var deadline = Deadline.header

    var parser: RequestParser
    private var reader = BodyReader(framing: .none)
    var pending: [UInt8] = []
    var output = OutputQueue()
    var stage = Stage.open
    var requestPhase = RequestPhase.head
    var responsePhase = ResponsePhase.none
    var exchangeActive = false
    var readable = false
    var peerClosed = false
    private var isPumping = false
    /// A request has come and waits for its turn.
    var isQueued = false
    var isFlushScheduled = false
    var closesAfterResponse = false
    var discardsContent = false
    var discarded = 0
    private var share = BufferShare()
    /// Content octets since the deadline was last moved.
    private var progress = 0
    /// Octets that left since the deadline was last moved.
    var writeProgress = 0
    /// The first octets may be those of HTTP/2.
    private var mayBeHTTP2: Bool
    /// Octets that must pass, in either direction, for a deadline to move.
    static let leastProgress = 1 << 10
    /// How long ago the last answer of a client is that may well ask for more.
    static let restless = Delay(.seconds(1))
    /// How long a client may take between preface and first frame, which are written together.
    private static let prefaceTime = Delay(.milliseconds(200))
    /// How long a tunnel may be silent; nil: this is no tunnel.
    var tunnelIdle: Delay?

    /// Takes over an accepted, non-blocking socket.
    init(_ opened: OpenedConnection, stream: ServerStream, owner: ConnectionGroup, handler: any ServerHandler) {
        transport = opened.transport
        countedPeer = opened.countedPeer
        mayBeHTTP2 = opened.mayBeHTTP2
        self.stream = stream
        self.owner = owner
        self.handler = handler
        loop = stream.loop
        settings = owner.settings
        parser = RequestParser(limits: owner.settings.limits)
    }

    /// Begins to read; what was read already comes first.
    func start(_ opened: OpenedConnection) throws(SystemCallError) {
        stream.carrier = self
        if let registration = opened.registration {
            self.registration = registration
            loop.reassign(registration, to: self)
            readable = true
            peerClosed = opened.peerClosed
            pending = opened.early
            stream.bytesIn = opened.early.count
            pumpLater()
        } else {
            registration = try loop.register(
                transport.descriptor, events: hid_epoll_in | hid_epoll_out | hid_epoll_read_hangup, handler: self)
        }
        timer = LoopTimer { [unowned self] in deadlinePassed() }
        stream.requestStart = loop.now
        arm(.header, owner.isDraining ? Self.restless : settings.headerTimeout)
    }

    /// Whether nothing is under way: such a connection is closed at once when the server drains.
    var isIdle: Bool { !exchangeActive && pending.isEmpty && output.isEmpty && stage == .open }

    // MARK: - Events

    func handle(events: UInt32) {
        guard stage != .closed else { return }
        if events & (hid_epoll_error | hid_epoll_hangup) != 0 { return lose(.closed) }
        if events & hid_epoll_out != 0 || transport.mixesDirections {
            if !output.isEmpty { flush() }
            if transport.mixesDirections { readable = true }
        }
        if events & hid_epoll_read_hangup != 0 {
            peerClosed = true
            // Gave up waiting: whatever it sent is not worth the time of those who still wait.
            if loop.isCrowded, !exchangeActive, output.isEmpty, stage == .open { return close() }
            let isWaiting = exchangeActive && requestPhase == .complete && responsePhase != .ended
            if isWaiting, tunnelIdle == nil { return lose(.closed) }
            if stage == .open, requestPhase == .complete, responsePhase == .ended, output.isEmpty { return close() }
        }
        if events & (hid_epoll_in | hid_epoll_read_hangup) != 0 { readable = true }
        if readable { begin() }
    }

    /// Goes on reading: at once, or where much is under way, a new request when its turn comes.
    private func begin() {
        guard loop.isCrowded, stage == .open, !exchangeActive, pending.isEmpty else { return pump() }
        guard !isQueued else { return }
        isQueued = true
        loop.admitLater(self)
    }

    func admit() {
        isQueued = false
        pump()
    }

    private func deadlinePassed() {
        switch deadline {
        case .header where mayBeHTTP2 && HTTP2Preface.isComplete(pending.count):
            // The preface alone is a malformed request of HTTP/1.
            mayBeHTTP2 = false
            pumpLater()
        case .header where isQueued, .keepAlive where isQueued:
            arm(.header, settings.headerTimeout)
        case .header:
            guard !pending.isEmpty else { return close() }
            refuse(.headTimeout)
        case .keepAlive, .drain: close()
        case .bodyIdle where discardsContent: close()
        case .bodyIdle:
            // Paused by back-pressure: the client is not to blame.
            guard !stream.isPaused else { return arm(.bodyIdle, settings.bodyIdleTimeout) }
            refuse(.contentTimeout)
        case .write: lose(.writeTimeout)
        case .tunnel: lose(.tunnelIdle)
        }
    }

    /// Lets the handler answer a request that cannot go on; nothing more of it is read.
    private func refuse(_ failure: RequestFailure) {
        guard responsePhase != .ended else { return closeAfterFlush() }
        // Of a head that was not complete nothing may be used: its ranges may point nowhere.
        if requestPhase == .head { stream.request.reset() }
        requestPhase = .complete
        exchangeActive = true
        closesAfterResponse = true
        handler.requestFailed(stream, failure)
    }

    func arm(_ kind: Deadline, _ delay: Delay) {
        guard let timer else { return }
        deadline = kind
        loop.set(timer, after: delay)
    }

    /// Nothing is wanted of the client but that it takes what waits for it.
    private func disarm() {
        guard output.isEmpty else { return arm(.write, settings.writeTimeout) }
        timer?.cancel()
        deadline = .header
    }

    // MARK: - Reading

    func contentResumed(_ stream: ServerStream) {
        // While it was held back, the client could make no progress.
        if deadline == .bodyIdle { arm(.bodyIdle, settings.bodyIdleTimeout) }
        pumpLater()
    }

    func pumpLater() {
        loop.afterEvents { [weak self] in self?.pump() }
    }

    private var wantsInput: Bool {
        switch stage {
        case .closed: false
        case .lingering: discarded <= settings.drainBytes
        case .open: requestPhase == .head || (requestPhase == .content && !stream.isPaused && !isDrained)
        }
    }

    /// Whether enough was thrown away: the rest stays in the socket until the answer is out.
    private var isDrained: Bool { discardsContent && discarded > settings.drainBytes }

    /// Tells the loop how much waits here.
    func countBuffers() {
        share.set(stage == .closed ? 0 : output.count + pending.count, in: loop.buffers)
    }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer {
            isPumping = false
            // What is about to leave is counted after that.
            if !isFlushScheduled { countBuffers() }
        }
        while wantsInput {
            if !pending.isEmpty, stage == .open {
                let input = pending
                pending = []
                let used = process(input.span)
                if stage == .closed { return }
                if used < input.count { pending = used == 0 ? input : Array(input[used...]) }
                guard wantsInput else { return }
            }
            if stage == .open, requestPhase == .content, reader.isEnded {
                // The last octets came while the client was held back: only the end is left to tell.
                let nothing: [UInt8] = []
                _ = process(nothing.span)
                continue
            }
            guard readable else { return }
            guard receive() else { return }
        }
    }

    /// Reads once.
    ///
    /// Returns whether to go on.
    private func receive() -> Bool {
        switch transport.receive(into: &loop.scratch.bytes) {
        case .again:
            readable = false
            return false
        case .failed:
            lose(.closed)
            return false
        case .endOfStream:
            endOfStream()
            return false
        case .bytes(let count):
            // A short read has drained the socket, unless the end of the stream waits behind it.
            if count < ReadScratch.size, !peerClosed, transport.shortReadIsLast { readable = false }
            received(count)
            return stage != .closed
        }
    }

    private func received(_ count: Int) {
        if stage == .lingering { return linger(count) }
        if exchangeActive || !pending.isEmpty { stream.bytesIn += count } else { began(with: count) }
        let octets = loop.scratch.bytes
        guard pending.isEmpty else { return pending.append(contentsOf: octets[..<count]) }
        let used = process(octets.span.extracting(0..<count))
        guard stage != .closed, used < count else { return }
        pending.append(contentsOf: octets[used..<count])
    }

    private func began(with count: Int) {
        stream.bytesIn = count
        stream.requestStart = loop.now
        arm(.header, settings.headerTimeout)
    }

    private func endOfStream() {
        readable = false
        peerClosed = true
        if stage == .lingering { return close() }
        guard exchangeActive, !discardsContent else { return closeAfterFlush() }
        guard tunnelIdle != nil else { return lose(.closed) }
        // One direction of a tunnel may end before the other.
        requestPhase = .complete
        handler.requestEnded(stream)
    }

    /// Consumes as much of `input` as the exchange takes now.
    ///
    /// Returns how much that was.
    private func process(_ input: Span<UInt8>) -> Int {
        var used = 0
        while stage == .open {
            let rest = input.extracting(used..<input.count)
            switch requestPhase {
            case .complete: return used
            case .head:
                if mayBeHTTP2, !rest.isEmpty, isPreface(rest) { return used }
                guard !rest.isEmpty, let count = parseHead(rest) else { return used }
                used += count
            case .content:
                guard discardsContent ? !isDrained : !stream.isPaused else { return used }
                let (count, goesOn) = readContent(rest)
                used += count
                guard goesOn else { return used }
            }
        }
        return used
    }

    /// Whether the octets must wait, or go to another carrier.
    private func isPreface(_ input: Span<UInt8>) -> Bool {
        switch HTTP2Preface.match(input) {
        case .no:
            mayBeHTTP2 = false
            return false
        case .partial:
            if HTTP2Preface.isComplete(input.count) { arm(.header, Self.prefaceTime) }
            return true
        case .yes:
            loop.afterEvents { [weak self] in self?.becomeHTTP2() }
            return true
        }
    }

    /// Hands everything over to a carrier of HTTP/2; this object is done.
    private func becomeHTTP2() {
        guard stage == .open, let registration else { return }
        stage = .closed
        countBuffers()
        timer?.cancel()
        stream.carrier = nil
        owner.becameHTTP2(
            self,
            OpenedConnection(
                transport: transport, peer: stream.peer, countedPeer: countedPeer, listener: stream.listener,
                registration: registration, early: pending,
                peerClosed: peerClosed))
    }

    /// Returns the octets of a complete head, nil when there is none yet or it was refused.
    private func parseHead(_ input: Span<UInt8>) -> Int? {
        switch parser.parse(input, into: &stream.request) {
        case .needMore: return nil
        case .bad(let fault):
            refuse(.head(fault))
            return nil
        case .complete(let count):
            exchangeActive = true
            discardsContent = false
            discarded = 0
            stream.clearPause()
            reader = BodyReader(framing: stream.request.framing)
            requestPhase =
                stream.request.framing == .none || stream.request.framing == .length(0) ? .complete : .content
            if loop.backlog.sheds(above: owner.settings.queueDelay.nanoseconds) {
                requestPhase = .complete
                disarm()
                refuse(.overload)
                return count
            }
            let hasContent = requestPhase == .content
            progress = 0
            if hasContent { arm(.bodyIdle, settings.bodyIdleTimeout) } else { disarm() }
            handler.requestBegan(stream)
            if !hasContent, exchangeActive, responsePhase != .ended { handler.requestEnded(stream) }
            return count
        }
    }

    private func readContent(_ input: Span<UInt8>) -> (used: Int, goesOn: Bool) {
        switch reader.next(input) {
        case .needMore(let count):
            return (count, false)
        case .data(let range):
            progress += range.count
            // A few octets now and then are no progress: they would hold a place for as long as their sender likes.
            if deadline == .bodyIdle, progress >= Self.leastProgress {
                progress = 0
                arm(.bodyIdle, settings.bodyIdleTimeout)
            }
            if deadline == .tunnel, let tunnelIdle { arm(.tunnel, tunnelIdle) }
            deliver(input.extracting(range))
            return (range.upperBound, stage == .open)
        case .end(let count):
            requestPhase = .complete
            if deadline == .bodyIdle { disarm() }
            stream.trailers = reader.trailers
            if discardsContent { finishExchange() } else { handler.requestEnded(stream) }
            return (count, true)
        case .bad(let fault):
            guard !discardsContent else {
                // The head was refused and answered: what follows it no longer matters, but the answer must leave.
                requestPhase = .complete
                closeAfterFlush()
                return (0, false)
            }
            refuse(.content(fault))
            return (0, false)
        }
    }

    private func deliver(_ content: Span<UInt8>) {
        guard discardsContent else { return handler.requestContent(stream, content) }
        discarded += content.count
        // The write side must not be closed under an answer that has not left yet; `wroteAll` goes on from there.
        if isDrained, output.isEmpty { beginLinger() }
    }

    /// Everything the client sends from now on is content of the tunnel, what waits already as well.
    func beginTunnel(idle: Delay) {
        tunnelIdle = idle
        reader = BodyReader(framing: .untilClose)
        requestPhase = .content
        arm(.tunnel, idle)
        pumpLater()
    }
}
