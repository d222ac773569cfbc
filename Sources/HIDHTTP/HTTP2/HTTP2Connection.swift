// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// One downstream HTTP/2 connection: a socket, a session, and a handler for each stream.
///
/// Confined to its loop.
final class HTTP2Connection: EventHandler, Flushable, ConnectionMember {
    enum Stage { case open, lingering, closed }

    let loop: EventLoop
    let countedPeer: PeerAddress?
    let session: HTTP2Session
    let settings: ServerSettings
    private let endpoint: PeerEndpoint
    private let listener: Int
    private let security: ConnectionSecurity?
    let transport: ServerTransport
    private unowned let owner: ConnectionGroup
    private var registration: Registration?
    private var early: [UInt8]
    private var output = OutputQueue()
    private var readable = false
    private var peerClosed = false
    private var isFlushScheduled = false
    private var isFraming = false
    private var isPumping = false
    private var discarded = 0
    var stage = Stage.open
    var clock: HTTP2Clock
    /// Exchanges that are over for the client while work for them goes on.
    private var working: [HTTP2Exchange] = []
    private var loss = ClientLoss.closed
    /// An exchange was told of the fault that ended the connection.
    private var isFaultNamed = false
    private var timer: LoopTimer?
    private var timerAt = UInt64.max
    private var share = BufferShare()

    /// Octets that are framed before the socket has taken those before them.
    private static let framedAhead = 64 << 10

    /// Takes over a connection whose client speaks HTTP/2, and the octets that were read of it.
    init(_ opened: OpenedConnection, owner: ConnectionGroup) throws(HTTP2Fault) {
        transport = opened.transport
        endpoint = opened.peer
        countedPeer = opened.countedPeer
        listener = opened.listener
        registration = opened.registration
        early = opened.early
        peerClosed = opened.peerClosed
        security = opened.transport.tls.flatMap { ConnectionSecurity($0) }
        self.owner = owner
        loop = owner.loop
        settings = owner.settings
        clock = HTTP2Clock(settings: owner.settings, now: owner.loop.now)
        session = try HTTP2Session(headLimits: owner.settings.limits, now: owner.loop.now, delegate: nil)
        session.delegate = self
    }

    func start() throws(SystemCallError) {
        if let registration {
            loop.reassign(registration, to: self)
        } else {
            registration = try loop.register(
                transport.descriptor, events: hid_epoll_in | hid_epoll_out | hid_epoll_read_hangup, handler: self)
        }
        timer = LoopTimer { [unowned self] in deadlinePassed() }
        // Octets may have come before: the first read finds out.
        readable = true
        loop.afterEvents { [weak self] in self?.begin() }
    }

    private func begin() {
        guard stage == .open else { return }
        let octets = early
        early = []
        if !octets.isEmpty { session.receive(octets.span, now: loop.now) }
        pump()
        scheduleFlush()
    }

    // MARK: - Events

    func handle(events: UInt32) {
        guard stage != .closed else { return }
        if events & (hid_epoll_error | hid_epoll_hangup) != 0 { return lose(.closed) }
        if events & hid_epoll_out != 0 || transport.mixesDirections {
            if !output.isEmpty { flush() }
            if transport.mixesDirections { readable = true }
        }
        if events & hid_epoll_read_hangup != 0 { peerClosed = true }
        if events & (hid_epoll_in | hid_epoll_read_hangup) != 0 { readable = true }
        if readable { pump() }
    }

    /// Whether octets of the client are read: behind a fault only so many that GOAWAY is not lost to a reset.
    private var wantsInput: Bool {
        switch stage {
        case .open: session.fault == nil
        case .lingering: discarded <= settings.drainBytes
        case .closed: false
        }
    }

    /// Tells the loop how much waits here, and asks whether it may be as much as usual.
    private func countBuffers() {
        let waiting = output.count + session.waitingInput + session.waitingOutput
        share.set(stage == .closed ? 0 : waiting, in: loop.buffers)
        session.outputShare = loop.buffers.isScarce ? 4 : 1
    }

    /// Reads until the socket is empty or the session is over.
    ///
    /// The windows and budgets of the session bound how much a client can send before anything is written.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer {
            isPumping = false
            countBuffers()
        }
        while readable, wantsInput {
            switch transport.receive(into: &loop.scratch.bytes) {
            case .again: readable = false
            case .failed: return lose(.closed)
            case .endOfStream:
                readable = false
                return lose(.closed)
            case .bytes(let count):
                // A short read has drained the socket, unless the end of the stream waits behind it.
                if count < ReadScratch.size, transport.shortReadIsLast, !peerClosed { readable = false }
                received(count)
            }
        }
    }

    private func received(_ count: Int) {
        guard stage == .open else { return discarded += count }
        releaseIdle()
        let octets = loop.scratch.bytes
        session.receive(octets.span.extracting(0..<count), now: loop.now)
        scheduleFlush()
    }

    // MARK: - Writing

    func scheduleFlush() {
        guard !isFlushScheduled, stage != .closed else { return }
        isFlushScheduled = true
        loop.flushAfterEvents(self)
    }

    /// Moves what the session has to send into the output, as far as that is wanted.
    func frameOutput() {
        guard !isFraming, stage == .open else { return }
        isFraming = true
        session.transmit(into: &output, upTo: Self.framedAhead, now: loop.now)
        isFraming = false
    }

    func flush() {
        isFlushScheduled = false
        guard stage != .closed else { return }
        defer { countBuffers() }
        let wasDone = session.isDone
        while true {
            frameOutput()
            if output.isEmpty { break }
            let before = output.count
            let result = output.drain { [transport] in transport.send($0, from: $1) }
            if case .failed = result { return lose(.closed) }
            guard output.isEmpty else {
                clock.blocked(at: loop.now, hasProgressed: output.count < before)
                break
            }
            clock.unblocked()
        }
        session.deliver()
        releaseIdle()
        guard stage == .open else { return }
        if session.isDone, output.isEmpty {
            // What was told last may have left something to say.
            if wasDone { beginLinger() } else { scheduleFlush() }
            return
        }
        need(by: loop.now &+ clock.tick)
    }

    // MARK: - Deadlines

    private func need(by deadline: UInt64) {
        guard let timer, deadline < timerAt else { return }
        timerAt = deadline
        loop.set(timer, after: Delay(.nanoseconds(Int64(clamping: deadline - min(deadline, loop.now)))))
    }

    private func deadlinePassed() {
        timerAt = .max
        guard stage == .open else { return close() }
        let now = loop.now
        if let due = clock.due(session, isBlocked: !output.isEmpty, at: now) { return end(due) }
        for stream in Array(session.openStreams) {
            guard let exchange = stream.context as? HTTP2Exchange else { continue }
            if exchange.awaitsContent, clock.isContentLate(stream, at: now) {
                exchange.fail(.contentTimeout)
            } else if output.isEmpty, clock.isAnswerStuck(stream, at: now) {
                session.cut(stream, .streamWriteTimeout, now: now)
            }
        }
        scheduleFlush()
        need(by: max(clock.next(session, isBlocked: !output.isEmpty, at: now), now &+ HTTP2Clock.shortest))
    }

    private func end(_ due: HTTP2Clock.Due) {
        switch due {
        case .silent: return close()
        case .idle, .goodbye:
            session.finishShutdown()
            need(by: loop.now &+ clock.tick)
        case .header: session.terminate(.headerTimeout)
        case .write:
            session.terminate(.writeTimeout)
            return lose(.writeTimeout)
        }
        session.deliver()
        scheduleFlush()
    }

    // MARK: - Work that outlives its stream

    /// The exchange is over; its place is free once nothing works for it.
    func ended(_ exchange: HTTP2Exchange) {
        if exchange.isWorking {
            working.append(exchange)
        } else {
            session.release(exchange.carried)
        }
    }

    private func releaseIdle() {
        guard !working.isEmpty else { return }
        for exchange in working where !exchange.isWorking { session.release(exchange.carried) }
        working.removeAll { !$0.isWorking }
    }

    /// Begins an exchange, unless the loop is so far behind that it is one of those to be refused.
    func begin(_ exchange: HTTP2Exchange) {
        if loop.backlog.sheds(above: owner.settings.queueDelay.nanoseconds) {
            exchange.fail(.overload)
        } else {
            exchange.began()
        }
    }

    /// Begins an exchange that had to wait, and tells what has come of it meanwhile.
    func admitted(_ exchange: HTTP2Exchange) {
        guard stage == .open else { return }
        begin(exchange)
        session.resume(exchange.carried, now: loop.now)
        scheduleFlush()
    }

    func resumeLater(_ exchange: HTTP2Exchange) {
        loop.afterEvents { [weak self] in
            guard let self, stage == .open else { return }
            session.resume(exchange.carried, now: loop.now)
            scheduleFlush()
        }
    }

    // MARK: - The end

    /// Says that no new stream is wanted; the connection ends with its last stream.
    func closeIfIdle() {
        guard stage == .open else { return }
        session.beginShutdown()
        clock.shutdownBegan(at: loop.now)
        need(by: loop.now &+ clock.tick)
        scheduleFlush()
    }

    func cut() {
        lose(.cut)
    }

    private func lose(_ found: ClientLoss) {
        guard stage != .closed else { return }
        loss = found
        close()
        session.connectionLost()
        working = []
    }

    /// Closes the write side first, so that GOAWAY is not lost to a reset, and reads on for a while.
    private func beginLinger() {
        stage = .lingering
        session.connectionLost()
        transport.closeWrite()
        guard let timer else { return close() }
        loop.set(timer, after: settings.drainTime)
        readable = true
        loop.afterEvents { [weak self] in self?.pump() }
    }

    private func close() {
        guard stage != .closed else { return }
        stage = .closed
        countBuffers()
        timer?.cancel()
        if let registration { loop.deregister(registration, transport.descriptor, closing: true) }
        transport.close()
        owner.remove(self)
    }
}

extension HTTP2Connection: HTTP2SessionDelegate {
    private func exchange(_ stream: HTTP2Stream) -> HTTP2Exchange? { stream.context as? HTTP2Exchange }

    private func makeExchange(_ stream: HTTP2Stream) -> HTTP2Exchange {
        releaseIdle()
        let carried = ServerStream(
            loop: loop, peer: endpoint, listener: listener, isHTTP2: true, security: security)
        let exchange = HTTP2Exchange(
            stream, stream: carried, handler: owner.factory.makeHandler(loop: loop, listener: listener),
            connection: self)
        stream.context = exchange
        return exchange
    }

    func requestBegan(_ stream: HTTP2Stream) {
        makeExchange(stream).begin()
    }

    func requestRefused(_ stream: HTTP2Stream, _ fault: RequestFault) {
        makeExchange(stream).fail(.head(fault))
    }

    func holdsContent(_ stream: HTTP2Stream) -> Bool {
        exchange(stream)?.holdsContent ?? false
    }

    func requestContent(_ stream: HTTP2Stream, _ content: Span<UInt8>) {
        exchange(stream)?.content(content)
    }

    func requestEnded(_ stream: HTTP2Stream) {
        exchange(stream)?.requestEnded()
    }

    func requestCut(_ stream: HTTP2Stream, _ fault: HTTP2Fault) {
        if fault.isOfConnection { isFaultNamed = true }
        tellCut(fault, stream)
    }

    func streamLost(_ stream: HTTP2Stream, _ cause: HTTP2StreamLoss) {
        guard let exchange = exchange(stream) else { return session.release(stream) }
        stream.context = nil
        switch cause {
        case .connectionClosed: exchange.lost(loss)
        case .fault(.streamWriteTimeout): exchange.lost(.writeTimeout)
        case .fault(let fault):
            let isTold = exchange.lost(fault == .writeTimeout ? .writeTimeout : .http2(fault))
            if isTold, fault.isOfConnection { isFaultNamed = true }
        case .resetByPeer: exchange.lost(.closed)
        }
        ended(exchange)
    }

    func outputDrained(_ stream: HTTP2Stream) {
        exchange(stream)?.drained()
    }

    func answerSent(_ stream: HTTP2Stream) {
        guard let exchange = exchange(stream) else { return session.release(stream) }
        stream.context = nil
        exchange.finish()
        ended(exchange)
    }

    func faultOccurred(_ fault: HTTP2Fault, stream: Int32) {
        owner.http2Faults.note(fault)
        owner.onHTTP2Fault?(fault, endpoint, listener)
        // With no exchange under way nothing else would name it.
        if stream == 0, !isFaultNamed { tellCut(fault, nil) }
    }

    /// Tells a handler of a cut that no exchange can tell of.
    private func tellCut(_ fault: HTTP2Fault, _ stream: HTTP2Stream?) {
        let carried = ServerStream(
            loop: loop, peer: endpoint, listener: listener, isHTTP2: true, security: security)
        carried.requestStart = stream?.began ?? loop.now
        carried.bytesIn = stream?.bytesIn ?? 0
        if let stream { carried.request = stream.head }
        owner.factory.makeHandler(loop: loop, listener: listener).requestFailed(carried, .http2(fault))
    }
}
