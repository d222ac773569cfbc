// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// What the connections of one kind belong to.
///
/// All calls come on the connection's loop.
protocol UpstreamConnectionOwner: AnyObject {
    /// The exchange is over; `fault` nil: it was answered, or given up by us.
    func exchangeEnded(_ connection: UpstreamConnection, _ fault: UpstreamFault?)
    /// It may serve another exchange.
    func becameIdle(_ connection: UpstreamConnection)
    func closed(_ connection: UpstreamConnection)
}

/// The application side of one exchange with an upstream.
///
/// All calls come on the connection's loop.
package protocol UpstreamHandler: AnyObject {
    /// A checked head is in `connection.response`; interim (1xx) heads come too.
    func upstreamHead(_ connection: UpstreamConnection)
    /// Content octets, without any transfer coding.
    func upstreamContent(_ connection: UpstreamConnection, _ content: Span<UInt8>)
    /// The answer is complete; the connection belongs to the pool again.
    ///
    /// `trailers` are field lines as octets, each with its CRLF.
    func upstreamEnded(trailers: [UInt8])
    /// There will be no (further) answer; the connection is gone.
    func upstreamFailed(_ fault: UpstreamFault)
    /// What was written has left; more may follow.
    func upstreamDrained()
}

/// One connection to an upstream: requests to octets, octets to answers.
///
/// It can be written to at once; what comes before the connection stands waits in its queue. Confined to its loop.
package final class UpstreamConnection: EventHandler, Flushable {
    private enum State { case dialling, active, idle, closed }

    package let loop: EventLoop
    /// The head of the answer under way.
    package private(set) var response = ResponseHead()
    /// Whether an earlier exchange used the connection: it may have died unnoticed.
    package private(set) var isReused = false
    /// Whether any octet of the answer under way has come.
    package private(set) var hasAnswered = false
    /// Whether the request asks for another protocol, so that a 101 is an answer and no fault.
    ///
    /// What follows it is a tunnel: octets both ways until one side closes.
    package var expectsSwitch = false
    /// Answer octets received for the exchange under way.
    package private(set) var bytesIn = 0

    /// Where it leads.
    package let endpoint: UpstreamEndpoint
    private let target: UpstreamTarget
    private let delays: UpstreamDelays
    /// Held: a pool that a reload retired lives until its last connection has closed.
    private let owner: any UpstreamConnectionOwner
    /// Goes out before anything else; such a connection serves one exchange.
    private let preamble: [UInt8]
    private let transport: CurlTransport
    /// Held from `begin` to the end of the exchange, whatever the end is.
    private var handler: (any UpstreamHandler)?
    private var registration: Registration?
    private var timer: LoopTimer?
    private var state = State.dialling
    private var output = OutputQueue()
    private var isFlushScheduled = false
    private var isCongested = false
    private var readable = false
    private var peerClosed = false
    private var isPumping = false
    private var isHeadRequest = false
    private var requestEnded = false
    private var parser: ResponseParser
    private var reader: BodyReader?
    private var pending: [UInt8] = []
    private var share = BufferShare()
    private var interimCount = 0
    private var isTunnel = false
    private var isTunnelEnded = false

    /// Well below what libcurl reads at once.
    private static let shortRead = 16 << 10
    /// More than any honest upstream sends before one answer.
    private static let maximumInterim = 32

    init(
        target: UpstreamTarget, delays: UpstreamDelays, endpoint: UpstreamEndpoint, preamble: [UInt8] = [],
        owner: any UpstreamConnectionOwner, loop: EventLoop
    ) throws(UpstreamFault) {
        self.target = target
        self.delays = delays
        self.endpoint = endpoint
        self.preamble = preamble
        self.owner = owner
        self.loop = loop
        parser = ResponseParser(limits: HeadLimits(headBytes: target.maximumResponseHead, fields: 200))
        transport = try CurlTransport(target: target, address: endpoint.address, loop: loop)
        timer = LoopTimer { [unowned self] in deadlinePassed() }
        transport.connect { [unowned self] fault in dialled(fault) }
        arm(delays.connect)
    }

    private func dialled(_ fault: UpstreamFault?) {
        guard state == .dialling else { return }
        if let fault { return fail(fault) }
        do throws(SystemCallError) {
            registration = try loop.register(
                transport.descriptor, events: hid_epoll_in | hid_epoll_out | hid_epoll_read_hangup, handler: self)
        } catch {
            return fail(.connect)
        }
        state = .active
        if !preamble.isEmpty { output.prepend(preamble) }
        armForAnswer()
        scheduleFlush()
    }

    // MARK: - The pool's side

    /// Gives the connection to an exchange.
    func begin(for handler: any UpstreamHandler, isHeadRequest: Bool) {
        self.handler = handler
        self.isHeadRequest = isHeadRequest
        requestEnded = false
        hasAnswered = false
        interimCount = 0
        bytesIn = 0
        reader = nil
        isPaused = false
        expectsSwitch = false
        response.reset()
        parser.reset()
        if state == .idle {
            state = .active
            isReused = true
            timer?.cancel()
        }
    }

    /// Whether an idle connection still is what it seems: open, and without a single octet to read.
    ///
    /// An answer nobody asked for would otherwise go to the next client.
    func isClean() -> Bool {
        guard state == .idle else { return false }
        return target.isTLS ? transport.hasNothingToRead() : SystemCall.hasNothingToRead(transport.descriptor)
    }

    /// Tells the loop how much waits here.
    private func countBuffers() {
        share.set(state == .closed ? 0 : output.count + pending.count, in: loop.buffers)
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        countBuffers()
        timer?.cancel()
        if let registration { loop.deregister(registration, transport.descriptor) }
        registration = nil
        transport.close()
        owner.closed(self)
    }

    /// Takes over the request of a connection that could not be dialled: not one octet of it was sent.
    package func takeOver(_ failed: UpstreamConnection) {
        swap(&output, &failed.output)
        isCongested = failed.isCongested
        expectsSwitch = failed.expectsSwitch
        requestEnded = failed.requestEnded
        expectsSwitch = failed.expectsSwitch
        guard state == .active else { return }
        armForAnswer()
        scheduleFlush()
    }

    // MARK: - The exchange's side

    /// Adds octets of the request; `body` must only append.
    package func write(_ body: (inout [UInt8]) -> Void) {
        guard state == .dialling || state == .active else { return }
        output.append(body)
        if output.count > loop.buffers.highWater(target.highWater) { isCongested = true }
        if state == .active { scheduleFlush() } else { countBuffers() }
    }

    /// Whether the upstream takes the request more slowly than it comes.
    package var isBackedUp: Bool { isCongested }

    /// Tells that the request is complete; the time to answer starts.
    package func endRequest() {
        requestEnded = true
        armForAnswer()
    }

    /// Tells the far end of a tunnel that nothing more comes, once what was written has left.
    ///
    /// Through TLS there is no way to say so alone: the connection ends.
    package func endTunnel() {
        guard isTunnel, !isTunnelEnded else { return }
        isTunnelEnded = true
        scheduleFlush()
    }

    /// Gives the exchange up: whatever is under way is cut.
    package func cancel() {
        release(nil)
        close()
    }

    /// Lets go of the exchange, once, and returns its handler.
    @discardableResult
    private func release(_ fault: UpstreamFault?) -> (any UpstreamHandler)? {
        guard let handler else { return nil }
        self.handler = nil
        owner.exchangeEnded(self, fault)
        return handler
    }

    private var isPaused = false

    /// Stops reading the answer; the upstream is held back by its window.
    package func pause() {
        isPaused = true
        timer?.cancel()
    }

    /// Goes on reading after the events at hand.
    package func resume() {
        guard isPaused else { return }
        isPaused = false
        armForAnswer()
        loop.afterEvents { [weak self] in self?.pump() }
    }

    // MARK: - Events

    package func handle(events: UInt32) {
        guard state != .closed else { return }
        if events & hid_epoll_out != 0, !output.isEmpty { flush() }
        let ending = events & (hid_epoll_read_hangup | hid_epoll_hangup | hid_epoll_error) != 0
        guard ending || events & hid_epoll_in != 0 else { return }
        if ending { peerClosed = true }
        readable = true
        if state == .idle {
            if isClean() { readable = false } else { close() }
        } else {
            pump()
        }
    }

    private func deadlinePassed() {
        switch state {
        case .idle: close()
        case .dialling: fail(.connectTimeout)
        case .active: fail(.timeout)
        case .closed: break
        }
    }

    private func arm(_ delay: Delay) {
        guard let timer else { return }
        loop.set(timer, after: delay)
    }

    /// The upstream owes us something: to take octets, or to answer a complete request.
    private func armForAnswer() {
        guard state == .active, !isPaused, !isTunnel else { return }
        if requestEnded || !output.isEmpty || hasAnswered { arm(delays.response) } else { timer?.cancel() }
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.flushAfterEvents(self)
    }

    func flush() {
        isFlushScheduled = false
        guard state == .active else { return }
        defer { countBuffers() }
        let before = output.count
        let result = output.drain { [transport] in transport.send($0, from: $1) }
        if case .failed = result {
            // The answer may have been sent before the connection broke: what can be read is read first.
            readable = true
            pump()
            if state == .active { fail(.closed) }
            return
        }
        if output.count < before { armForAnswer() }
        if isTunnelEnded, output.isEmpty { return target.isTLS ? finishTunnel() : transport.closeWrite() }
        if isCongested, output.count < loop.buffers.highWater(target.highWater) / 2 {
            isCongested = false
            handler?.upstreamDrained()
        }
    }

    // MARK: - Reading

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer {
            isPumping = false
            // What is about to leave is counted after that.
            if !isFlushScheduled { countBuffers() }
        }
        while state == .active, !isPaused {
            if !pending.isEmpty {
                let input = pending
                pending = []
                let used = process(input.span)
                guard state == .active, used < input.count else { continue }
                pending = used == 0 ? input : Array(input[used...])
                if isPaused { return }
            }
            if reader?.isEnded == true {
                // The last octets came while the client was backed up: only the end is left to tell.
                let nothing: [UInt8] = []
                _ = process(nothing.span)
                continue
            }
            guard readable, receive() else { return }
        }
    }

    /// Reads once.
    ///
    /// Returns whether to go on.
    private func receive() -> Bool {
        let result = transport.receive(into: &loop.scratch.bytes, limit: loop.buffers.readSize)
        switch result {
        case .again:
            readable = false
            return false
        case .failed, .endOfStream:
            readable = false
            endOfStream(clean: result == .endOfStream)
            return false
        case .bytes(let count):
            // A short read has drained a plain socket, unless the end of the stream waits behind it. A TLS library may
            // hold more than it gave, and libcurl may have cut a long read.
            if count < Self.shortRead, !target.isTLS, !peerClosed { readable = false }
            bytesIn += count
            hasAnswered = true
            armForAnswer()
            let octets = loop.scratch.bytes
            guard pending.isEmpty else {
                pending.append(contentsOf: octets[..<count])
                return true
            }
            let used = process(octets.span.extracting(0..<count))
            guard state == .active, used < count else { return true }
            pending.append(contentsOf: octets[used..<count])
            return true
        }
    }

    private func endOfStream(clean: Bool) {
        guard let reader else { return fail(.closed) }
        guard clean, reader.atEndOfStream() == .complete else { return fail(.truncated) }
        complete(leftOver: 0, canReuse: false)
    }

    private func process(_ input: Span<UInt8>) -> Int {
        var used = 0
        while state == .active, !isPaused {
            let rest = input.extracting(used..<input.count)
            if reader == nil {
                guard !rest.isEmpty, let count = parseHead(rest) else { return used }
                used += count
                continue
            }
            switch reader?.next(rest) {
            case .needMore(let count): return used + count
            case .data(let range):
                handler?.upstreamContent(self, rest.extracting(range))
                used += range.upperBound
            case .end(let count):
                used += count
                complete(leftOver: input.count - used, canReuse: true)
                return input.count
            case .bad, nil:
                fail(.malformed)
                return input.count
            }
        }
        return used
    }

    /// Returns the octets of a complete head, nil when there is none yet or the answer was given up.
    private func parseHead(_ input: Span<UInt8>) -> Int? {
        switch parser.parse(input, into: &response, requestMethodIsHead: isHeadRequest) {
        case .needMore: return nil
        case .bad:
            fail(.malformed)
            return nil
        case .complete(let count):
            let status = response.status
            if status == 101, expectsSwitch, requestEnded, output.isEmpty {
                beginTunnel()
            } else if status < 200 {
                guard interim(status) else { return nil }
            } else {
                reader = BodyReader(framing: response.framing)
                handler?.upstreamHead(self)
            }
            return count
        }
    }

    /// The time that a tunnel may be silent is the client side's to watch: it sees both directions.
    private func beginTunnel() {
        isTunnel = true
        timer?.cancel()
        reader = BodyReader(framing: .untilClose)
        handler?.upstreamHead(self)
    }

    private func interim(_ status: Int) -> Bool {
        interimCount += 1
        guard status != 101 else {
            fail(.switchedProtocols)
            return false
        }
        guard interimCount <= Self.maximumInterim else {
            fail(.tooManyInterim)
            return false
        }
        handler?.upstreamHead(self)
        response.reset()
        parser.reset()
        return state == .active
    }

    private func finishTunnel() {
        complete(leftOver: 0, canReuse: false)
    }

    private func complete(leftOver: Int, canReuse: Bool) {
        let trailers = reader?.trailers ?? []
        let handler = release(nil)
        timer?.cancel()
        if canReuse, leftOver == 0, pending.isEmpty, requestEnded, output.isEmpty, response.isPersistent,
            preamble.isEmpty
        {
            state = .idle
            arm(delays.idle)
            owner.becameIdle(self)
        } else {
            close()
        }
        handler?.upstreamEnded(trailers: trailers)
    }

    private func fail(_ fault: UpstreamFault) {
        let handler = release(fault)
        close()
        handler?.upstreamFailed(fault)
    }
}
