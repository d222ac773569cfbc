// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// One downstream HTTP/1 connection: octets to requests, answers to octets, strictly one exchange at a time.
///
/// Pipelined requests wait in the socket until the exchange before them is over, so answers cannot change places and
/// a fault in a later request cannot spoil an earlier answer. Confined to its loop.
package final class ServerConnection: EventHandler, Flushable {
    private enum RequestPhase { case head, content, complete }
    private enum ResponsePhase: Equatable { case none, started(chunked: Bool), ended }
    private enum Stage { case open, lingering, closed }
    private enum Deadline { case header, keepAlive, bodyIdle, write, drain }

    package let loop: EventLoop
    /// The peer as the kernel names it.
    package let peer: PeerAddress
    /// Position of the listener in the configuration.
    package let listener: Int
    /// The head of the request under way.
    package private(set) var request = RequestHead()
    /// Octets received and sent for the exchange under way, heads and framing included.
    package private(set) var bytesIn = 0
    package private(set) var bytesOut = 0
    /// When the first octet of the request under way came, on the loop's monotonic clock.
    package private(set) var requestStart: UInt64 = 0

    private let descriptor: Int32
    private let settings: ServerSettings
    private unowned let owner: ConnectionGroup
    private let handler: any ServerHandler
    private var registration: Registration?
    private var timer: LoopTimer?
    private var deadline = Deadline.header

    private var parser: RequestParser
    private var reader = BodyReader(framing: .none)
    private var pending: [UInt8] = []
    private var output = OutputQueue()
    private var stage = Stage.open
    private var requestPhase = RequestPhase.head
    private var responsePhase = ResponsePhase.none
    private var exchangeActive = false
    private var readable = false
    private var peerClosed = false
    private var isPumping = false
    private var isFlushScheduled = false
    private var isCongested = false
    private var closesAfterResponse = false
    private var discardsContent = false
    private var discarded = 0

    /// Takes over an accepted, non-blocking socket.
    init(
        descriptor: Int32, peer: PeerAddress, listener: Int, loop: EventLoop, settings: ServerSettings,
        owner: ConnectionGroup, handler: any ServerHandler
    ) {
        self.descriptor = descriptor
        self.peer = peer
        self.listener = listener
        self.loop = loop
        self.settings = settings
        self.owner = owner
        self.handler = handler
        parser = RequestParser(limits: settings.limits)
    }

    func start() throws(SystemCallError) {
        registration = try loop.register(
            descriptor, events: hid_epoll_in | hid_epoll_out | hid_epoll_read_hangup, handler: self)
        timer = LoopTimer { [unowned self] in deadlinePassed() }
        requestStart = loop.now
        arm(.header, settings.headerTimeout)
    }

    /// Whether nothing is under way: such a connection is closed at once when the server drains.
    package var isIdle: Bool { !exchangeActive && pending.isEmpty && output.isEmpty && stage == .open }

    // MARK: - Events

    package func handle(events: UInt32) {
        guard stage != .closed else { return }
        if events & (hid_epoll_error | hid_epoll_hangup) != 0 { return lose(.closed) }
        if events & hid_epoll_out != 0, !output.isEmpty { flush() }
        if events & hid_epoll_read_hangup != 0 {
            peerClosed = true
            if exchangeActive, requestPhase == .complete, responsePhase != .ended { return lose(.closed) }
        }
        if events & (hid_epoll_in | hid_epoll_read_hangup) != 0 {
            readable = true
            pump()
        }
    }

    private func deadlinePassed() {
        switch deadline {
        case .header:
            guard !pending.isEmpty else { return close() }
            refuse(.headTimeout)
        case .keepAlive, .drain: close()
        case .bodyIdle:
            // Paused by back-pressure: the client is not to blame.
            guard !isPaused else { return arm(.bodyIdle, settings.bodyIdleTimeout) }
            refuse(.contentTimeout)
        case .write: lose(.writeTimeout)
        }
    }

    /// Lets the handler answer a request that cannot go on; nothing more of it is read.
    private func refuse(_ failure: RequestFailure) {
        // Of a head that was not complete nothing may be used: its ranges may point nowhere.
        if requestPhase == .head { request.reset() }
        requestPhase = .complete
        exchangeActive = true
        closesAfterResponse = true
        handler.requestFailed(self, failure)
    }

    private func arm(_ kind: Deadline, _ delay: Delay) {
        guard let timer else { return }
        deadline = kind
        loop.set(timer, after: delay)
    }

    // MARK: - Reading

    /// Stops reading content; the client is held back by its window.
    ///
    /// Used while the upstream is slow.
    package private(set) var isPaused = false

    /// Stops delivering content until `resumeContent`.
    package func pauseContent() {
        isPaused = true
    }

    /// Goes on delivering content after the events at hand.
    package func resumeContent() {
        guard isPaused else { return }
        isPaused = false
        pumpLater()
    }

    private func pumpLater() {
        loop.afterEvents { [weak self] in self?.pump() }
    }

    private var wantsInput: Bool {
        switch stage {
        case .closed: false
        case .lingering: discarded <= settings.drainBytes
        case .open: requestPhase == .head || (requestPhase == .content && !isPaused && !isDrained)
        }
    }

    /// Whether enough was thrown away: the rest stays in the socket until the answer is out.
    private var isDrained: Bool { discardsContent && discarded > settings.drainBytes }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while wantsInput {
            if !pending.isEmpty, stage == .open {
                let input = pending
                pending = []
                let used = process(input.span)
                if stage == .closed { return }
                if used < input.count { pending = used == 0 ? input : Array(input[used...]) }
                guard wantsInput else { return }
            }
            guard readable else { return }
            guard receive() else { return }
        }
    }

    /// Reads once.
    ///
    /// Returns whether to go on.
    private func receive() -> Bool {
        switch SystemCall.receive(descriptor, into: &loop.scratch.bytes) {
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
            if count < ReadScratch.size, !peerClosed { readable = false }
            received(count)
            return stage != .closed
        }
    }

    private func received(_ count: Int) {
        if stage == .lingering { return linger(count) }
        if exchangeActive || !pending.isEmpty { bytesIn += count } else { began(with: count) }
        let octets = loop.scratch.bytes
        guard pending.isEmpty else { return pending.append(contentsOf: octets[..<count]) }
        let used = process(octets.span.extracting(0..<count))
        guard stage != .closed, used < count else { return }
        pending.append(contentsOf: octets[used..<count])
    }

    private func began(with count: Int) {
        bytesIn = count
        requestStart = loop.now
        arm(.header, settings.headerTimeout)
    }

    private func endOfStream() {
        readable = false
        if stage == .lingering || !exchangeActive { return close() }
        if requestPhase == .content, discardsContent { return close() }
        lose(.closed)
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
                guard !rest.isEmpty, let count = parseHead(rest) else { return used }
                used += count
            case .content:
                guard discardsContent ? !isDrained : !isPaused else { return used }
                let (count, goesOn) = readContent(rest)
                used += count
                guard goesOn else { return used }
            }
        }
        return used
    }

    /// Returns the octets of a complete head, nil when there is none yet or it was refused.
    private func parseHead(_ input: Span<UInt8>) -> Int? {
        switch parser.parse(input, into: &request) {
        case .needMore: return nil
        case .bad(let fault):
            refuse(.head(fault))
            return nil
        case .complete(let count):
            exchangeActive = true
            discardsContent = false
            discarded = 0
            isPaused = false
            reader = BodyReader(framing: request.framing)
            requestPhase = request.framing == .none || request.framing == .length(0) ? .complete : .content
            let hasContent = requestPhase == .content
            if hasContent { arm(.bodyIdle, settings.bodyIdleTimeout) } else { timer?.cancel() }
            handler.requestBegan(self)
            if !hasContent, exchangeActive, responsePhase != .ended { handler.requestEnded(self) }
            return count
        }
    }

    private func readContent(_ input: Span<UInt8>) -> (used: Int, goesOn: Bool) {
        switch reader.next(input) {
        case .needMore(let count):
            return (count, false)
        case .data(let range):
            if deadline == .bodyIdle { arm(.bodyIdle, settings.bodyIdleTimeout) }
            deliver(input.extracting(range))
            return (range.upperBound, stage == .open)
        case .end(let count):
            requestPhase = .complete
            if deadline == .bodyIdle { timer?.cancel() }
            if discardsContent { finishExchange() } else { handler.requestEnded(self) }
            return (count, true)
        case .bad(let fault):
            guard !discardsContent else {
                close()
                return (0, false)
            }
            refuse(.content(fault))
            return (0, false)
        }
    }

    private func deliver(_ content: Span<UInt8>) {
        guard discardsContent else { return handler.requestContent(self, content) }
        discarded += content.count
        // The write side must not be closed under an answer that has not left yet; `wroteAll` goes on from there.
        if isDrained, output.isEmpty { beginLinger() }
    }

    // MARK: - Answering

    /// Sends an interim answer, 100 or 103.
    ///
    /// Nothing may be sent once the answer proper has begun.
    package func sendInterim(status: Int, fields: (inout [UInt8]) -> Void = { _ in }) {
        guard responsePhase == .none, stage == .open, request.minorVersion == 1 else { return }
        write { bytes in
            HeadWriter.statusLine(status, into: &bytes)
            fields(&bytes)
            HeadWriter.endOfHead(into: &bytes)
        }
    }

    /// Begins the answer.
    ///
    /// `fields` appends every field line but the framing and Connection ones.
    package func startResponse(
        status: Int, framing: ResponseFraming, closing: Bool = false, fields: (inout [UInt8]) -> Void
    ) {
        guard responsePhase == .none, stage == .open else { return }
        if closing || !request.isPersistent || owner.isDraining || !canOutliveContent { closesAfterResponse = true }
        let isChunked = framing == .unknown && request.minorVersion == 1
        if framing == .unknown, !isChunked { closesAfterResponse = true }
        responsePhase = .started(chunked: isChunked)
        write { bytes in
            HeadWriter.statusLine(status, into: &bytes)
            fields(&bytes)
            appendFraming(framing, isChunked: isChunked, into: &bytes)
            HeadWriter.endOfHead(into: &bytes)
        }
    }

    private func appendFraming(_ framing: ResponseFraming, isChunked: Bool, into bytes: inout [UInt8]) {
        switch framing {
        case .length(let length), .none(announcing: let length?):
            HeadWriter.field("Content-Length", length, into: &bytes)
        case .unknown where isChunked:
            HeadWriter.field("Transfer-Encoding", "chunked", into: &bytes)
        case .none, .unknown: break
        }
        if closesAfterResponse {
            HeadWriter.field("Connection", "close", into: &bytes)
        } else if request.minorVersion == 0 {
            HeadWriter.field("Connection", "keep-alive", into: &bytes)
        }
    }

    /// Whether what is left of the request can be read and thrown away so that the connection stays usable.
    private var canOutliveContent: Bool {
        guard requestPhase == .content else { return true }
        guard !request.expectsContinue, case .length(let total) = request.framing else { return false }
        return total <= UInt64(settings.drainBytes)
    }

    /// Writes content octets of the answer.
    package func writeContent(_ content: Span<UInt8>) {
        guard case .started(let isChunked) = responsePhase, !content.isEmpty else { return }
        write { bytes in
            if isChunked { HeadWriter.chunkHeader(content.count, into: &bytes) }
            bytes.append(copying: content)
            if isChunked { HeadWriter.chunkEnd(into: &bytes) }
        }
        if output.count > settings.highWater { isCongested = true }
    }

    /// Whether the client takes the answer more slowly than it comes.
    package var isBackedUp: Bool { isCongested }

    /// Completes the answer.
    package func endResponse() {
        guard case .started(let isChunked) = responsePhase else { return }
        if isChunked { write { HeadWriter.lastChunk(into: &$0) } }
        responsePhase = .ended
        scheduleFlush()
        handler.responseEnded(self)
        if requestPhase == .content {
            // The rest of the request is not wanted any more.
            discardsContent = true
            if closesAfterResponse { return }
            arm(.drain, settings.drainTime)
            pumpLater()
        } else {
            finishExchange()
        }
    }

    /// Cuts the connection: the client must see that its answer is incomplete.
    package func abort() {
        close()
    }

    private func write(_ body: (inout [UInt8]) -> Void) {
        let before = output.count
        output.append(body)
        bytesOut += output.count - before
        scheduleFlush()
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.flushAfterEvents(self)
    }

    func flush() {
        isFlushScheduled = false
        guard stage != .closed else { return }
        let before = output.count
        let result = output.drain { [descriptor] in SystemCall.send(descriptor, $0, from: $1) }
        if case .failed = result { return lose(.closed) }
        if !output.isEmpty {
            // Progress moves the deadline, standing still does not.
            if deadline != .write || output.count < before { arm(.write, settings.writeTimeout) }
        } else {
            wroteAll()
        }
        if isCongested, output.count < settings.highWater / 2 {
            isCongested = false
            handler.responseDrained(self)
        }
    }

    private func wroteAll() {
        if responsePhase == .ended, closesAfterResponse, stage == .open { return beginLinger() }
        guard deadline == .write else { return }
        timer?.cancel()
        deadline = .header
        if !exchangeActive { arm(.keepAlive, settings.keepAliveTimeout) }
        if exchangeActive, requestPhase == .content { arm(.bodyIdle, settings.bodyIdleTimeout) }
    }

    // MARK: - Between exchanges and the end

    private func finishExchange() {
        exchangeActive = false
        discardsContent = false
        if owner.isDraining { closesAfterResponse = true }
        guard !closesAfterResponse else { return }
        responsePhase = .none
        requestPhase = .head
        bytesIn = pending.count
        bytesOut = 0
        request.reset()
        parser.reset()
        requestStart = loop.now
        arm(
            pending.isEmpty ? .keepAlive : .header, pending.isEmpty ? settings.keepAliveTimeout : settings.headerTimeout
        )
        pumpLater()
    }

    /// Closes if nothing is under way; for the start of a drain.
    package func closeIfIdle() {
        if isIdle { close() }
    }

    /// Closes the write side first, so that the answer is not lost to a reset, and reads on for a while.
    private func beginLinger() {
        guard stage == .open else { return }
        exchangeActive = false
        stage = .lingering
        pending = []
        shutdown(descriptor, Int32(SHUT_WR))
        arm(.drain, settings.drainTime)
        if peerClosed { return close() }
        pumpLater()
    }

    /// Beyond the limit nothing more is read, and the window holds the client back until the time is over: closing at
    /// once would send a reset, which may overtake the answer.
    private func linger(_ count: Int) {
        discarded += count
    }

    private func lose(_ loss: ClientLoss) {
        guard stage != .closed else { return }
        let wasActive = exchangeActive && responsePhase != .ended
        close()
        if wasActive { handler.clientLost(self, loss) }
    }

    /// Ends the connection at the deadline of a drain.
    package func cut() {
        lose(.cut)
    }

    private func close() {
        guard stage != .closed else { return }
        stage = .closed
        exchangeActive = false
        timer?.cancel()
        if let registration { loop.deregister(registration, descriptor, closing: true) }
        Glibc.close(descriptor)
        owner.remove(self)
    }
}
