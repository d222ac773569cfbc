// SPDX-License-Identifier: Apache-2.0

internal import CNghttp2

/// What nghttp2 calls back: only the state of the session changes here, nothing is told.
extension HTTP2Session {
    static func makeSession(_ limits: HTTP2Limits) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard unsafe nghttp2_option_new(&option) == 0 else { return nil }
        defer { unsafe nghttp2_option_del(option) }
        // Windows open as the application takes content, not as it comes.
        unsafe nghttp2_option_set_no_auto_window_update(option, 1)
        // Fields are judged here, by the rules of HTTP/1.
        unsafe nghttp2_option_set_no_http_messaging(option, 1)
        // Closed streams would be kept up to the number of streams, which nghttp2 thinks has no limit.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        unsafe nghttp2_option_set_max_outbound_ack(option, limits.queuedAcknowledgements)
        // Past this a head would not be sent, and its stream would wait for ever.
        unsafe nghttp2_option_set_max_send_header_block_length(option, limits.answerHead)
        unsafe nghttp2_option_set_max_deflate_dynamic_table_size(option, limits.headerTable)
        // Counted here: nghttp2 counts reads, so that a frame header in nine pieces is nine frames to it.
        unsafe nghttp2_option_set_max_continuations(option, Int(UInt32.max))
        // Resets are counted here, with the streams they belong to.
        unsafe nghttp2_option_set_stream_reset_rate_limit(option, UInt64(UInt32.max), UInt64(UInt32.max))
        unsafe setCallbacks(callbacks)
        var session: OpaquePointer?
        guard unsafe nghttp2_session_server_new2(&session, callbacks, nil, option) == 0 else { return nil }
        return unsafe session
    }

    private static func setCallbacks(_ callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            unsafe HTTP2Session.of(context)?.beginHeaders(frame)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            let name = unsafe UnsafeBufferPointer(start: name, count: nameLength)
            let value = unsafe UnsafeBufferPointer(start: value, count: valueLength)
            unsafe HTTP2Session.of(context)?.header(frame, Span(_unsafeElements: name), Span(_unsafeElements: value))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            unsafe HTTP2Session.of(context)?.received(frame)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, octets, count, context in
            let content = unsafe UnsafeBufferPointer(start: octets, count: count)
            unsafe HTTP2Session.of(context)?.data(id, Span(_unsafeElements: content))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
            unsafe HTTP2Session.of(context)?.streamClosed(id, code)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            unsafe HTTP2Session.of(context)?.sent(frame)
            return 0
        }
    }

    /// The session is the context of its own nghttp2 session and outlives it.
    static func of(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
        unsafe context.map { unsafe Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: - Header blocks

    private func beginHeaders(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let id = unsafe frame.pointee.hd.stream_id
        if let stream = streams[id], !stream.isClosed {
            if stream.hasHead, stream.loss == nil {
                stream.trailerBuilder = HTTP2TrailerBuilder(policy: headLimits.connection)
            }
            return
        }
        let stream = HTTP2Stream(id: id, now: blockStarted)
        stream.bytesIn = FrameHeader.size + blockOctets
        streams[id] = stream
        guard slots < limits.concurrentStreams, !hasSaidGoodbye else {
            stream.isRefused = true
            return fail(stream, .refusedStream)
        }
        slots += 1
        stream.holdsSlot = true
        stream.builder = HTTP2HeadBuilder(limits: headLimits)
        // Streams share the connection fairly: no priorities of clients are followed.
        var fair = nghttp2_extpri(urgency: UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY), inc: 1)
        unsafe nghttp2_session_change_extpri_stream_priority(session, id, &fair, 1)
    }

    private func header(_ frame: UnsafePointer<nghttp2_frame>?, _ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard let frame = unsafe frame, let stream = unsafe streams[frame.pointee.hd.stream_id] else { return }
        if name.isEmpty, let found = budget.emptyHeader(at: now) { pendingFault = pendingFault ?? found }
        guard stream.loss == nil else { return }
        if stream.trailerBuilder != nil {
            stream.trailerBuilder?.add(name: name, value: value)
        } else {
            stream.builder?.add(name: name, value: value)
        }
    }

    private func headersEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        guard stream.loss == nil, !stream.isClosed else { return }
        if let trailers = stream.trailerBuilder {
            stream.trailerBuilder = nil
            guard endsStream else { return fail(stream, .trailers) }
            if let fault = trailers.fault { return fail(stream, fault) }
            stream.trailers = trailers.lines
            return remoteEnded(stream)
        }
        guard let outcome = stream.builder?.finish(endsStream: endsStream) else { return }
        stream.builder = nil
        stream.lastInput = now
        switch outcome {
        case .malformed(let fault): return fail(stream, fault)
        case .refused(let fault): stream.refusal = fault
        case .head(let head): stream.head = head
        }
        stream.hasHead = true
        touch(stream)
        if endsStream { remoteEnded(stream) }
    }

    // MARK: - Frames received

    private func received(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let header = unsafe frame.pointee.hd
        let endsStream = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        let isAnswer = UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            if let stream = streams[header.stream_id] { headersEnded(stream, endsStream: endsStream) }
        case NGHTTP2_DATA.rawValue:
            let padding = unsafe frame.pointee.data.padlen
            if !endsStream, header.length > 0, header.length <= padding {
                pendingFault = pendingFault ?? budget.emptyDataFrame(at: now)
            }
            if endsStream, let stream = streams[header.stream_id], stream.loss == nil { remoteEnded(stream) }
        case NGHTTP2_SETTINGS.rawValue where isAnswer: isAcknowledged = true
        case NGHTTP2_SETTINGS.rawValue: isReady = true
        case NGHTTP2_PING.rawValue where isAnswer: pingAnswered()
        default: break
        }
    }

    private func data(_ id: Int32, _ content: Span<UInt8>) {
        guard let stream = streams[id], !stream.isClosed else { return }
        stream.lastInput = now
        stream.input.append(content)
        waitingInput += content.count
        stream.received += UInt64(content.count)
        touch(stream)
        if let length = stream.announcedLength, stream.received > length { fail(stream, .contentLength) }
        if waitingInput + waitingOutput > limits.bufferedOctets { pendingFault = pendingFault ?? .bufferLimit }
    }

    private func remoteEnded(_ stream: HTTP2Stream) {
        guard !stream.isRemoteEnded else { return }
        stream.isRemoteEnded = true
        if let length = stream.announcedLength, stream.received != length { return fail(stream, .contentLength) }
        touch(stream)
    }

    /// Resets a stream for what the client did.
    func fail(_ stream: HTTP2Stream, _ found: HTTP2Fault) {
        guard stream.loss == nil, !stream.isClosed, fault == nil else { return }
        stream.loss = .fault(found)
        reports.append((found, stream.id))
        touch(stream)
        submitReset(stream.id, found.errorCode)
    }

    func submitReset(_ id: Int32, _ code: HTTP2ErrorCode) {
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        if unsafe nghttp2_submit_rst_stream(session, flags, id, code.rawValue) != 0 {
            pendingFault = pendingFault ?? .internalError
        }
    }

    // MARK: - Streams closed and frames sent

    private func streamClosed(_ id: Int32, _ code: UInt32) {
        guard let stream = streams[id], !stream.isClosed else { return }
        stream.isClosed = true
        closed.add(id, byClient: stream.isRemoteEnded || stream.isResetByPeer)
        if !stream.isLocalEnded, stream.loss == nil {
            if stream.isResetByPeer {
                stream.loss = .resetByPeer(code)
            } else if !stream.isResetByChoice {
                stream.loss = .fault(.streamError)
            }
        }
        touch(stream)
    }

    private func sent(_ frame: UnsafePointer<nghttp2_frame>?) {
        guard let frame = unsafe frame else { return }
        let header = unsafe frame.pointee.hd
        let stream = streams[header.stream_id]
        stream?.bytesOut += FrameHeader.size + header.length
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue:
            budget.sentData(at: now)
            if let stream, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 { localEnded(stream) }
        case NGHTTP2_HEADERS.rawValue:
            if let stream, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 { localEnded(stream) }
        case NGHTTP2_RST_STREAM.rawValue: sentReset(header.stream_id, stream)
        case NGHTTP2_GOAWAY.rawValue:
            let code = unsafe frame.pointee.goaway.error_code
            if code != HTTP2ErrorCode.noError.rawValue { end(fault(ofGoAway: code)) } else { noticeSent() }
        default: break
        }
    }

    /// Behind a whole answer the rest of the request is not wanted (RFC 9113 section 8.1).
    private func localEnded(_ stream: HTTP2Stream) {
        guard !stream.isLocalEnded else { return }
        stream.isLocalEnded = true
        touch(stream)
        guard !stream.isRemoteEnded else { return }
        stream.isResetByChoice = true
        submitReset(stream.id, .noError)
    }

    /// A reset that the client brought about counts like one of its own.
    private func sentReset(_ id: Int32, _ stream: HTTP2Stream?) {
        guard stream?.isResetByChoice != true, fault == nil else { return }
        if let stream, stream.isRefused, !isAcknowledged {
            // It cannot have known the limit yet, but it need not open a thousand streams either.
            earlyRefusals += 1
            if earlyRefusals > limits.manyResets { pendingFault = pendingFault ?? .rapidReset }
            return
        }
        if let stream, stream.loss == nil, !stream.isLocalEnded {
            stream.loss = .fault(.streamError)
            reports.append((.streamError, id))
            touch(stream)
        }
        if let found = budget.streamReset(at: now) { pendingFault = pendingFault ?? found }
    }

    /// The name of an end that nghttp2 decided on.
    private func fault(ofGoAway code: UInt32) -> HTTP2Fault {
        guard isReady else { return .preface }
        return switch HTTP2ErrorCode(rawValue: code) {
        case .flowControlError: .flowControl
        case .frameSizeError: .frameSize
        case .compressionError: .compression
        case .streamClosed: .streamClosed
        case .enhanceYourCalm: .controlQueue
        case .internalError: .internalError
        default: .protocolError
        }
    }
}
