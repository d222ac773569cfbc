// SPDX-License-Identifier: Apache-2.0

/// One stream between its connection and its handler: what carries a `ServerStream` over HTTP/2.
///
/// Holds the `ServerStream`, which holds it, until the exchange is over.
final class HTTP2Exchange: StreamCarrier, Newcomer {
    private enum Phase { case none, started, ended }

    let stream: ServerStream
    let carried: HTTP2Stream
    var transport: ServerTransport { connection.transport }
    private(set) var handler: (any ServerHandler)?
    /// The handler, for as long as anybody works with it.
    private weak var worker: (any ServerHandler)?
    private unowned let connection: HTTP2Connection
    private var phase = Phase.none
    private var hasFailed = false
    /// The request has come and waits for its turn; its handler knows nothing of it yet.
    private var isQueued = false

    init(_ carried: HTTP2Stream, stream: ServerStream, handler: any ServerHandler, connection: HTTP2Connection) {
        self.carried = carried
        self.stream = stream
        self.handler = handler
        self.connection = connection
        worker = handler
        stream.carrier = self
        stream.request = carried.head
        stream.requestStart = carried.began
        count()
    }

    /// Whether something still holds the handler of an exchange that is over, because work for it is under way.
    var isWorking: Bool { worker != nil }
    /// Whether the client is expected to send content now.
    var awaitsContent: Bool {
        !carried.isRequestComplete && !holdsContent && phase != .ended && !hasFailed && !carried.isOver
    }

    /// Whether content must wait.
    var holdsContent: Bool { stream.isPaused || isQueued }

    // MARK: - The request

    /// Begins at once, or where much is under way when its turn comes.
    func begin() {
        guard !stream.loop.admitsAnother() else { return connection.begin(self) }
        isQueued = true
        stream.loop.admitLater(self)
    }

    func admit() {
        isQueued = false
        // Its client may have left meanwhile, and its connection with it.
        guard phase == .none else { return }
        connection.admitted(self)
    }

    func began() {
        handler?.requestBegan(stream)
    }

    func content(_ octets: Span<UInt8>) {
        guard !hasFailed else { return }
        count()
        handler?.requestContent(stream, octets)
    }

    func requestEnded() {
        guard !hasFailed else { return }
        count()
        stream.trailers = carried.trailers
        handler?.requestEnded(stream)
    }

    /// Lets the handler answer a request that cannot go on.
    func fail(_ failure: RequestFailure) {
        guard !hasFailed, phase != .ended else { return }
        hasFailed = true
        handler?.requestFailed(stream, failure)
    }

    /// Ends the exchange; whether its handler was told of it.
    ///
    /// Who leaves before his turn has come costs nobody anything.
    @discardableResult
    func lost(_ loss: ClientLoss) -> Bool {
        count()
        let handler = handler
        let wasActive = phase != .ended
        finish()
        guard wasActive else { return false }
        if !isQueued {
            handler?.clientLost(stream, loss)
        } else if case .http2(let fault) = loss {
            handler?.requestFailed(stream, .http2(fault))
        } else {
            return false
        }
        return true
    }

    func drained() {
        guard stream.isBackedUp else { return }
        stream.isBackedUp = false
        handler?.responseDrained(stream)
    }

    /// The exchange is over; nothing is told any more.
    func finish() {
        phase = .ended
        stream.carrier = nil
        handler = nil
    }

    private func count() {
        stream.bytesIn = carried.bytesIn
        stream.bytesOut = carried.bytesOut + carried.waitingOutput
    }

    // MARK: - The answer

    func sendInterim(_ stream: ServerStream, status: Int, fields: (inout [UInt8]) -> Void) {
        guard phase == .none else { return }
        var lines: [UInt8] = []
        fields(&lines)
        connection.session.sendInterim(carried, status: status, lines: lines)
        connection.scheduleFlush()
    }

    /// `closing` has no meaning here: each stream is judged alone, and a connection ends by GOAWAY.
    func startResponse(
        _ stream: ServerStream, status: Int, framing: ResponseFraming, closing: Bool,
        fields: (inout [UInt8]) -> Void
    ) {
        guard phase == .none else { return }
        phase = .started
        var lines: [UInt8] = []
        fields(&lines)
        switch framing {
        case .length(let length), .none(announcing: let length?):
            HeadWriter.field("content-length", length, into: &lines)
        case .none, .unknown: break
        }
        let isWhole = if case .none = framing { true } else { framing == .length(0) }
        connection.session.respond(carried, status: status, lines: lines, endsStream: isWhole)
        connection.scheduleFlush()
    }

    func writeContent(_ stream: ServerStream, _ content: Span<UInt8>) {
        guard phase == .started else { return }
        connection.session.write(carried, content)
        if connection.session.isBackedUp(carried) { stream.isBackedUp = true }
        connection.scheduleFlush()
    }

    func endResponse(_ stream: ServerStream, trailers: [UInt8]) {
        guard phase == .started else { return }
        phase = .ended
        connection.session.end(carried, trailers: trailers)
        // Framed at once, so that the octets are counted.
        connection.frameOutput()
        count()
        handler?.responseEnded(stream)
        handler = nil
    }

    /// HTTP/2 has no Upgrade (RFC 9113 section 8.6): no handshake can have come this way.
    func switchProtocols(_ stream: ServerStream, idle: Delay, fields: (inout [UInt8]) -> Void) {
        abort(stream)
    }

    func abort(_ stream: ServerStream) {
        finish()
        connection.session.reset(carried, .internalError)
        connection.ended(self)
        connection.scheduleFlush()
    }

    func contentResumed(_ stream: ServerStream) {
        connection.resumeLater(self)
    }
}
