// SPDX-License-Identifier: Apache-2.0

/// Answering: what the handler writes, gathered in a turn and sent once at its end.
extension HTTP1Connection: StreamCarrier {
    /// Sends an interim answer, 100 or 103.
    ///
    /// Nothing may be sent once the answer proper has begun.
    func sendInterim(_ stream: ServerStream, status: Int, fields: (inout [UInt8]) -> Void) {
        guard responsePhase == .none, stage == .open, stream.request.minorVersion == 1 else { return }
        write { bytes in
            HeadWriter.statusLine(status, into: &bytes)
            fields(&bytes)
            HeadWriter.endOfHead(into: &bytes)
        }
    }

    /// Begins the answer.
    ///
    /// `fields` appends every field line but the framing and Connection ones.
    func startResponse(
        _ stream: ServerStream, status: Int, framing: ResponseFraming, closing: Bool,
        fields: (inout [UInt8]) -> Void
    ) {
        guard responsePhase == .none, stage == .open else { return }
        if closing || !stream.request.isPersistent || owner.isDraining || !canOutliveContent {
            closesAfterResponse = true
        }
        let isChunked = framing == .unknown && stream.request.minorVersion == 1
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
        } else if stream.request.minorVersion == 0 {
            HeadWriter.field("Connection", "keep-alive", into: &bytes)
        }
    }

    /// Whether what is left of the request can be read and thrown away so that the connection stays usable.
    private var canOutliveContent: Bool {
        guard requestPhase == .content else { return true }
        guard !stream.request.expectsContinue, case .length(let total) = stream.request.framing else { return false }
        return total <= UInt64(settings.drainBytes)
    }

    /// Writes content octets of the answer.
    func writeContent(_ stream: ServerStream, _ content: Span<UInt8>) {
        guard case .started(let isChunked) = responsePhase, !content.isEmpty else { return }
        write { bytes in
            if isChunked { HeadWriter.chunkHeader(content.count, into: &bytes) }
            bytes.append(copying: content)
            if isChunked { HeadWriter.chunkEnd(into: &bytes) }
        }
        if output.count > loop.buffers.highWater(settings.highWater) { stream.isBackedUp = true }
    }

    /// Completes the answer.
    func endResponse(_ stream: ServerStream, trailers: [UInt8]) {
        guard case .started(let isChunked) = responsePhase else { return }
        if isChunked { write { HeadWriter.lastChunk(trailers: trailers, into: &$0) } }
        responsePhase = .ended
        scheduleFlush()
        handler.responseEnded(stream)
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

    func switchProtocols(_ stream: ServerStream, idle: Delay, fields: (inout [UInt8]) -> Void) {
        guard responsePhase == .none, stage == .open, requestPhase == .complete else { return }
        closesAfterResponse = true
        responsePhase = .started(chunked: false)
        write { bytes in
            HeadWriter.statusLine(101, into: &bytes)
            fields(&bytes)
            HeadWriter.endOfHead(into: &bytes)
        }
        beginTunnel(idle: idle)
    }

    /// Cuts the connection: the client must see that its answer is incomplete.
    func abort(_ stream: ServerStream) {
        close()
    }

    private func write(_ body: (inout [UInt8]) -> Void) {
        let before = output.count
        output.append(body)
        stream.bytesOut += output.count - before
        scheduleFlush()
    }

    func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.flushAfterEvents(self)
    }

    func flush() {
        isFlushScheduled = false
        guard stage != .closed else { return }
        defer { countBuffers() }
        let before = output.count
        let result = output.drain { [transport] in transport.send($0, from: $1) }
        if case .failed = result { return lose(.closed) }
        if !output.isEmpty {
            // Progress moves the deadline, standing still and a few octets now and then do not.
            writeProgress += before - output.count
            if deadline != .write || writeProgress >= Self.leastProgress {
                writeProgress = 0
                arm(.write, settings.writeTimeout)
            }
        } else {
            wroteAll()
        }
        if stream.isBackedUp, output.count < loop.buffers.highWater(settings.highWater) / 2 {
            stream.isBackedUp = false
            handler.responseDrained(stream)
        }
    }

    private func wroteAll() {
        if responsePhase == .ended, closesAfterResponse, stage == .open { return beginLinger() }
        if let tunnelIdle { return arm(.tunnel, tunnelIdle) }
        guard deadline == .write else { return }
        timer?.cancel()
        deadline = .header
        if !exchangeActive {
            armForRequest()
        } else if requestPhase == .content {
            if discardsContent { arm(.drain, settings.drainTime) } else { arm(.bodyIdle, settings.bodyIdleTimeout) }
        }
    }
}
