// SPDX-License-Identifier: Apache-2.0

internal import CNghttp2

/// The server's side of one HTTP/2 connection, without I/O: octets in, events and octets out (RFC 9113).
///
/// nghttp2 does the framing, HPACK and flow control. What a request is, what a client may cost, and what every cut is
/// called is decided here: frame headers are judged before nghttp2 sees them, fields by the rules of HTTP/1. Events are
/// gathered while octets are read and told afterwards, so no application code runs inside nghttp2. Confined to its
/// loop.
@safe package final class HTTP2Session {
    package weak var delegate: (any HTTP2SessionDelegate)?
    package let limits: HTTP2Limits
    /// Why the connection is over, once it is.
    package internal(set) var fault: HTTP2Fault?
    /// Whether any octet of the client has come.
    package private(set) var hasReceived = false
    /// When a stream last gave its place back.
    package internal(set) var lastStreamEnd: UInt64 = 0
    /// Whether the preface and the client's first SETTINGS have come.
    package internal(set) var isReady = false
    /// Streams that hold one of the client's places: open, or with work of ours still under way.
    package internal(set) var slots = 0
    /// Octets of answers that wait in streams.
    package internal(set) var waitingOutput = 0
    /// What may wait is divided by this: more than 1 while memory is scarce.
    var outputShare = 1
    /// Octets of requests that wait for their application.
    package internal(set) var waitingInput = 0
    /// Whether GOAWAY with the last stream has been queued (RFC 9113 section 6.8).
    package internal(set) var hasSaidGoodbye = false

    /// nghttp2_session, owned: deleted in deinit.
    let session: OpaquePointer
    let headLimits: HeadLimits
    var now: UInt64
    var streams: [Int32: HTTP2Stream] = [:]
    var budget: FrameBudget
    var scanner = FrameScanner()
    var closed = ClosedStreams()
    var touched: [HTTP2Stream] = []
    var reports: [(fault: HTTP2Fault, stream: Int32)] = []
    var backedUp = 0
    /// Set by a callback; the connection ends when nghttp2 has returned.
    var pendingFault: HTTP2Fault?
    var lastOpened: Int32 = 0
    var blockStarted: UInt64 = 0
    var blockOctets = 0
    var blockContinuations = 0
    var isBlockOpen = false
    var isBlockFrame = false
    var isAcknowledged = false
    var earlyRefusals = 0
    private var isDelivering = false
    private var isFirstFrameSent = false
    private var isShuttingDown = false

    /// Makes the session and queues its SETTINGS.
    ///
    /// - Throws: `internalError` when nghttp2 has no memory.
    package init(
        limits: HTTP2Limits = HTTP2Limits(), headLimits: HeadLimits, now: UInt64,
        delegate: (any HTTP2SessionDelegate)?
    ) throws(HTTP2Fault) {
        guard let session = unsafe Self.makeSession(limits) else { throw .internalError }
        unsafe self.session = session
        self.limits = limits
        self.headLimits = headLimits
        self.now = now
        self.delegate = delegate
        budget = FrameBudget(limits: limits)
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        guard queueSettings() else { throw .internalError }
    }

    deinit { unsafe nghttp2_session_del(session) }

    // MARK: - Octets in

    /// Reads octets of the client and tells what they came to.
    ///
    /// After a fault nothing more is read: `transmit` what is left and close.
    package func receive(_ bytes: Span<UInt8>, now: UInt64) {
        self.now = now
        if !bytes.isEmpty { hasReceived = true }
        read(bytes)
        deliver()
    }

    private func read(_ bytes: Span<UInt8>) {
        var fed = 0
        var position = 0
        while fault == nil, let (header, end) = scanner.next(bytes, from: position) {
            // Everything before the header first: it is judged by the state that leads up to it.
            let start = max(fed, end - FrameHeader.size)
            guard feed(bytes.extracting(fed..<start)) else { return }
            fed = start
            if let found = judge(header) { return terminate(found) }
            position = end
        }
        if fault == nil { _ = feed(bytes.extracting(fed..<bytes.count)) }
    }

    /// Gives octets to nghttp2; false when the connection is over.
    private func feed(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return true }
        let count = unsafe bytes.withUnsafeBufferPointer {
            unsafe nghttp2_session_mem_recv(session, $0.baseAddress, $0.count)
        }
        if count < 0 {
            terminate(Self.fault(ofResult: Int32(clamping: count)))
        } else if let pendingFault {
            terminate(pendingFault)
        } else if unsafe nghttp2_session_get_outbound_queue_size(session) > limits.queuedAcknowledgements {
            terminate(.controlQueue)
        }
        return fault == nil
    }

    private static func fault(ofResult result: Int32) -> HTTP2Fault {
        switch result {
        case hid_h2_bad_preface: .preface
        case hid_h2_flooded: .controlQueue
        default: .internalError
        }
    }

    /// Since when a header block is under way that is not whole yet.
    package var headerBlockSince: UInt64? {
        isBlockOpen || (isBlockFrame && scanner.isInsidePayload) ? blockStarted : nil
    }

    // MARK: - Octets out

    /// Moves octets to be sent into `output` until it holds `limit`, or nothing is left to send now.
    ///
    /// Tells nothing; call `deliver` afterwards.
    func transmit(into output: inout OutputQueue, upTo limit: Int, now: UInt64) {
        self.now = now
        while output.count < limit {
            var pointer: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &pointer)
            guard count > 0, let start = unsafe pointer else {
                if count < 0, fault == nil { end(.internalError) }
                return
            }
            let frame = unsafe Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
            if !isFirstFrameSent {
                isFirstFrameSent = true
                output.append(announcedSettings().span)
            } else {
                output.append(frame)
            }
            // What was sent may have been one reset too many.
            if let pendingFault { terminate(pendingFault) }
        }
    }

    /// Whether there is something to send now.
    package var wantsWrite: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    /// Whether every stream has ended and no new one will come.
    package var isDone: Bool { fault != nil || (hasSaidGoodbye && streams.isEmpty) }

    /// Whether no stream is open and no work is under way.
    package var hasNoStreams: Bool { streams.isEmpty }

    /// Streams that are not over or whose work is still under way.
    package var openStreams: some Sequence<HTTP2Stream> { streams.values }

    // MARK: - SETTINGS

    private var settings: [(id: nghttp2_settings_id, value: UInt32)] {
        [
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, UInt32(clamping: limits.headerTable)),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(clamping: limits.concurrentStreams)),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(clamping: limits.streamWindow)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(clamping: headLimits.headBytes)),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
    }

    /// The first frame, as the client is told it.
    ///
    /// nghttp2 is told of no limit to the streams: past it, it would end the connection, and it does not count streams
    /// whose work goes on behind a reset. We refuse the stream alone (RFC 9113 section 5.1.2).
    private func announcedSettings() -> [UInt8] {
        var payload: [UInt8] = []
        for (id, value) in settings {
            payload.append(UInt8(truncatingIfNeeded: id.rawValue >> 8))
            payload.append(UInt8(truncatingIfNeeded: id.rawValue))
            for shift in [24, 16, 8, 0] as [UInt32] { payload.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return [0, 0, UInt8(truncatingIfNeeded: payload.count), 4, 0, 0, 0, 0, 0] + payload
    }

    private func queueSettings() -> Bool {
        let entries = settings.map { id, value in
            let isStreams = id == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
            return nghttp2_settings_entry(
                settings_id: Int32(bitPattern: id.rawValue), value: isStreams ? UInt32(Int32.max) : value)
        }
        let none = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        return unsafe nghttp2_submit_settings(session, none, entries, entries.count) == 0
            && nghttp2_session_set_local_window_size(session, none, 0, Int32(clamping: limits.connectionWindow)) == 0
    }

    // MARK: - Ends

    /// Ends the connection with GOAWAY; every stream is lost.
    package func terminate(_ found: HTTP2Fault) {
        guard fault == nil else { return }
        unsafe nghttp2_session_terminate_session(session, found.errorCode.rawValue)
        end(found)
    }

    /// Notes that the connection is over and why.
    func end(_ found: HTTP2Fault) {
        guard fault == nil else { return }
        fault = found
        reports.append((found, 0))
        loseAll(.fault(found))
    }

    /// Tells every stream that the connection is gone.
    package func connectionLost() {
        loseAll(.connectionClosed)
        deliver()
    }

    private func loseAll(_ loss: HTTP2StreamLoss) {
        for stream in streams.values {
            if !stream.isLocalEnded, stream.loss == nil { stream.loss = loss }
            stream.isClosed = true
            touch(stream)
        }
    }

    /// Begins a graceful end: no new streams, please (RFC 9113 section 6.8).
    ///
    /// `finishShutdown` follows by itself when the client has seen it; call it when that takes too long.
    package func beginShutdown() {
        guard !isShuttingDown, fault == nil else { return }
        isShuttingDown = true
        if unsafe nghttp2_submit_shutdown_notice(session) != 0 { terminate(.internalError) }
    }

    /// The notice is out: the answer to a PING behind it says that the client has seen it.
    func noticeSent() {
        guard isShuttingDown, !hasSaidGoodbye else { return }
        let none = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        if unsafe nghttp2_submit_ping(session, none, nil) != 0 { pendingFault = .internalError }
    }

    /// Names the last stream that is served; those open go on to their end.
    package func finishShutdown() {
        guard !hasSaidGoodbye, fault == nil else { return }
        hasSaidGoodbye = true
        let result = unsafe nghttp2_submit_goaway(
            session, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue),
            nghttp2_session_get_last_proc_stream_id(session), HTTP2ErrorCode.noError.rawValue, nil, 0)
        if result != 0 { terminate(.internalError) }
    }

    /// An answer to our PING came.
    func pingAnswered() {
        if isShuttingDown { finishShutdown() }
    }

    // MARK: - Telling

    func touch(_ stream: HTTP2Stream) {
        guard !stream.isTouched else { return }
        stream.isTouched = true
        touched.append(stream)
    }

    /// Tells the delegate everything that has happened since the last time.
    package func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while true {
            let batch = touched
            touched = []
            for stream in batch { tell(stream) }
            guard touched.isEmpty else { continue }
            let faults = reports
            reports = []
            for (fault, stream) in faults { delegate?.faultOccurred(fault, stream: stream) }
            if backedUp > 0 { tellDrained() }
            if touched.isEmpty, reports.isEmpty { return }
        }
    }

    private func tellDrained() {
        for stream in Array(streams.values) where stream.isBackedUp && !hasTooMuchOutput(stream, below: 2) {
            stream.isBackedUp = false
            backedUp -= 1
            if !stream.isOver { delegate?.outputDrained(stream) }
        }
    }
}
