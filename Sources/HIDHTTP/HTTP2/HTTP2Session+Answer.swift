// SPDX-License-Identifier: Apache-2.0

internal import CNghttp2

/// Answering. Fields come as octets of HTTP/1 lines; what HTTP/2 does not have is dropped.
extension HTTP2Session {
    /// Sends an interim answer, 100 or 103 (RFC 9113 section 8.1).
    package func sendInterim(_ stream: HTTP2Stream, status: Int, lines: [UInt8]) {
        guard canAnswer(stream), !stream.isAnswerBegun else { return }
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        let result = unsafe withFields(HTTP2FieldBlock(status: status, lines: lines)) { fields in
            unsafe nghttp2_submit_headers(session, flags, stream.id, nil, fields.baseAddress, fields.count, nil)
        }
        if result < 0 { terminate(.internalError) }
    }

    /// Begins the answer; with `endsStream` it is the whole answer.
    package func respond(_ stream: HTTP2Stream, status: Int, lines: [UInt8], endsStream: Bool) {
        guard canAnswer(stream), !stream.isAnswerBegun else { return }
        stream.isAnswerBegun = true
        stream.isAnswerEnded = endsStream
        stream.lastOutput = now
        let result = unsafe withFields(HTTP2FieldBlock(status: status, lines: lines)) { fields in
            guard !endsStream else {
                return unsafe nghttp2_submit_response(session, stream.id, fields.baseAddress, fields.count, nil)
            }
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(fd: 0),
                read_callback: { _, id, buffer, room, flags, _, context in
                    let space = unsafe UnsafeMutableBufferPointer(start: buffer, count: room)
                    return unsafe HTTP2Session.of(context)?.pull(id, space, flags) ?? Int(hid_h2_deferred)
                })
            return unsafe nghttp2_submit_response(
                session, stream.id, fields.baseAddress, fields.count, &provider)
        }
        if result < 0 { terminate(.internalError) }
        if endsStream { touch(stream) }
    }

    /// Adds content to the answer.
    package func write(_ stream: HTTP2Stream, _ content: Span<UInt8>) {
        guard canAnswer(stream), stream.isAnswerBegun, !stream.isAnswerEnded, !content.isEmpty else { return }
        if stream.output.isEmpty { stream.lastOutput = now }
        stream.output.append(content)
        waitingOutput += content.count
        if !stream.isBackedUp, hasTooMuchOutput(stream, below: 1) {
            stream.isBackedUp = true
            backedUp += 1
        }
        wake(stream)
        if waitingInput + waitingOutput > limits.bufferedOctets { terminate(.bufferLimit) }
    }

    /// Completes the answer, with field lines behind the content where there are some.
    package func end(_ stream: HTTP2Stream, trailers: [UInt8] = []) {
        guard canAnswer(stream), stream.isAnswerBegun, !stream.isAnswerEnded else { return }
        stream.isAnswerEnded = true
        stream.answerTrailers = trailers.isEmpty ? nil : trailers
        wake(stream)
        touch(stream)
    }

    /// Resets a stream by our own choice; nothing more is told of it.
    package func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        guard !stream.isOver, fault == nil else { return }
        stream.isResetByChoice = true
        stream.isLossTold = true
        stream.loss = .connectionClosed
        submitReset(stream.id, code)
        touch(stream)
    }

    /// Resets a stream for a limit that it is over; the delegate is told.
    package func cut(_ stream: HTTP2Stream, _ found: HTTP2Fault, now: UInt64) {
        self.now = now
        // What the client did not take is no attack by itself: the budget of resets does not count it.
        stream.isResetByChoice = true
        fail(stream, found)
        deliver()
    }

    /// Whether the producer of the answer should pause.
    package func isBackedUp(_ stream: HTTP2Stream) -> Bool { stream.isBackedUp }

    func hasTooMuchOutput(_ stream: HTTP2Stream, below part: Int) -> Bool {
        let part = part * outputShare
        return stream.output.count > limits.streamOutput / part
            || (waitingOutput > limits.connectionOutput / part && !stream.output.isEmpty)
    }

    private func canAnswer(_ stream: HTTP2Stream) -> Bool { fault == nil && !stream.isOver }

    private func wake(_ stream: HTTP2Stream) {
        guard stream.isDeferred else { return }
        stream.isDeferred = false
        unsafe nghttp2_session_resume_data(session, stream.id)
    }

    /// Fills a DATA frame from what waits; called by nghttp2 when the windows are open.
    private func pull(
        _ id: Int32, _ space: UnsafeMutableBufferPointer<UInt8>, _ flags: UnsafeMutablePointer<UInt32>?
    ) -> Int {
        guard let stream = streams[id] else { return Int(hid_h2_deferred) }
        guard !stream.output.isEmpty || stream.isAnswerEnded else {
            stream.isDeferred = true
            return Int(hid_h2_deferred)
        }
        let count = min(space.count, stream.output.count)
        if count > 0 {
            let part = stream.output.rest.prefix(count)
            _ = unsafe part.withUnsafeBufferPointer { unsafe space.update(fromContentsOf: $0) }
            stream.output.drop(count)
            waitingOutput -= count
            stream.lastOutput = now
        }
        if stream.output.isEmpty, stream.isAnswerEnded {
            unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            if let trailers = stream.answerTrailers {
                stream.answerTrailers = nil
                unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
                submitTrailers(stream, trailers)
            }
        }
        return count
    }

    private func submitTrailers(_ stream: HTTP2Stream, _ lines: [UInt8]) {
        let result = unsafe withFields(HTTP2FieldBlock(lines: lines)) { fields in
            unsafe nghttp2_submit_trailer(session, stream.id, fields.baseAddress, fields.count)
        }
        if result != 0 { pendingFault = pendingFault ?? .internalError }
    }

    /// Lends the fields in the form nghttp2 takes them; it copies them.
    private func withFields(
        _ block: HTTP2FieldBlock, _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        var bytes = block.bytes
        return unsafe bytes.withUnsafeMutableBufferPointer { octets in
            guard let start = octets.baseAddress else { return -1 }
            let none = UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NONE.rawValue)
            let fields = unsafe block.fields.map { field in
                unsafe nghttp2_nv(
                    name: start + field.name.lowerBound, value: start + field.value.lowerBound,
                    namelen: field.name.count, valuelen: field.value.count, flags: none)
            }
            return unsafe fields.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}
