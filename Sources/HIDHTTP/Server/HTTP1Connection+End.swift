// SPDX-License-Identifier: Apache-2.0

/// Between exchanges, and the ways a connection ends.
extension HTTP1Connection {
    func finishExchange() {
        exchangeActive = false
        discardsContent = false
        guard !closesAfterResponse else { return }
        responsePhase = .none
        requestPhase = .head
        stream.recycle()
        stream.bytesIn = pending.count
        parser.reset()
        stream.requestStart = loop.now
        armForRequest()
        guard loop.isCrowded, !isQueued else { return pumpLater() }
        guard readable || !pending.isEmpty else { return }
        isQueued = true
        loop.admitLater(self)
    }

    /// Waits for the next request, or for the rest of one that has begun.
    func armForRequest() {
        guard pending.isEmpty else { return arm(.header, settings.headerTimeout) }
        // The answer before a drain did not announce a close: the client may be sending already.
        arm(.keepAlive, owner.isDraining ? Self.restless : settings.keepAliveTimeout)
    }

    /// Nothing more will be read: closes once what was written has left.
    func closeAfterFlush() {
        guard !output.isEmpty else { return close() }
        exchangeActive = false
        closesAfterResponse = true
        responsePhase = .ended
        requestPhase = .complete
        scheduleFlush()
    }

    /// Closes if nothing is under way; for the start of a drain.
    ///
    /// A client that was here a moment ago may be sending its next request now. It gets an answer that announces the
    /// close instead of a reset, if it comes soon.
    func closeIfIdle() {
        guard isIdle else { return }
        guard loop.now &- stream.requestStart < Self.restless.nanoseconds else { return close() }
        arm(.keepAlive, Self.restless)
    }

    /// Closes the write side first, so that the answer is not lost to a reset, and reads on for a while.
    func beginLinger() {
        guard stage == .open else { return }
        exchangeActive = false
        stage = .lingering
        pending = []
        transport.closeWrite()
        arm(.drain, settings.drainTime)
        if peerClosed { return close() }
        pumpLater()
    }

    /// Beyond the limit nothing more is read, and the window holds the client back until the time is over: closing at
    /// once would send a reset, which may overtake the answer.
    func linger(_ count: Int) {
        discarded += count
    }

    func lose(_ loss: ClientLoss) {
        guard stage != .closed else { return }
        let wasActive = exchangeActive && responsePhase != .ended
        close()
        if wasActive { handler.clientLost(stream, loss) }
    }

    /// Ends the connection at the deadline of a drain.
    func cut() {
        lose(.cut)
    }

    func close() {
        guard stage != .closed else { return }
        stage = .closed
        countBuffers()
        exchangeActive = false
        timer?.cancel()
        if let registration { loop.deregister(registration, transport.descriptor, closing: true) }
        if case .started = responsePhase { transport.close(cut: true) } else { transport.close() }
        stream.carrier = nil
        owner.remove(self)
    }
}
