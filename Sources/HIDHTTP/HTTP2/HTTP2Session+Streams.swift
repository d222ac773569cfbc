// SPDX-License-Identifier: Apache-2.0

internal import CNghttp2

/// Streams as their application sees them: what came is told in order, what is taken opens the window again.
extension HTTP2Session {
    func tell(_ stream: HTTP2Stream) {
        stream.isTouched = false
        announce(stream)
        if stream.isAnnounced {
            tellContent(stream)
            if let loss = stream.loss, !stream.isLossTold {
                stream.isLossTold = true
                delegate?.streamLost(stream, loss)
            }
            if stream.isLocalEnded, !stream.isLossTold {
                stream.isLossTold = true
                delegate?.answerSent(stream)
            }
        } else if case .fault(let fault)? = stream.loss, !stream.isLossTold {
            stream.isLossTold = true
            delegate?.requestCut(stream, fault)
        }
        if stream.isOver || stream.isAnswerEnded { discardInput(stream) }
        if stream.isOver { discardOutput(stream) }
        forgetIfDone(stream)
    }

    /// A request that was reset before it could be told costs nobody anything.
    private func announce(_ stream: HTTP2Stream) {
        guard !stream.isAnnounced, !stream.isRefused, stream.loss == nil, !stream.isClosed else { return }
        if let refusal = stream.refusal {
            stream.isAnnounced = true
            delegate?.requestRefused(stream, refusal)
        } else if stream.hasHead {
            stream.isAnnounced = true
            delegate?.requestBegan(stream)
        }
    }

    private func tellContent(_ stream: HTTP2Stream) {
        guard stream.refusal == nil else { return discardInput(stream) }
        while !stream.input.isEmpty, !stream.isOver, !stream.isAnswerEnded, !isHeld(stream) {
            let octets = stream.input.takeAll()
            waitingInput -= octets.count
            consume(stream, octets.count)
            delegate?.requestContent(stream, octets.span)
        }
        guard stream.isRemoteEnded, !stream.isEndTold, stream.input.isEmpty, !isHeld(stream) else { return }
        guard !stream.isOver, !stream.isAnswerEnded else { return }
        stream.isEndTold = true
        delegate?.requestEnded(stream)
    }

    private func consume(_ stream: HTTP2Stream, _ count: Int) {
        guard count > 0, fault == nil else { return }
        if unsafe nghttp2_session_consume(session, stream.id, count) != 0 { terminate(.internalError) }
    }

    private func discardInput(_ stream: HTTP2Stream) {
        let count = stream.input.count
        guard count > 0 else { return }
        stream.input.drop(count)
        waitingInput -= count
        consume(stream, count)
    }

    private func discardOutput(_ stream: HTTP2Stream) {
        waitingOutput -= stream.output.count
        stream.output.drop(stream.output.count)
        if stream.isBackedUp {
            stream.isBackedUp = false
            backedUp -= 1
        }
    }

    /// Whether content waits: the window of the stream then holds the client back.
    private func isHeld(_ stream: HTTP2Stream) -> Bool {
        delegate?.holdsContent(stream) ?? true
    }

    /// Goes on telling content that was held.
    package func resume(_ stream: HTTP2Stream, now: UInt64) {
        self.now = now
        stream.lastInput = now
        touch(stream)
        deliver()
    }

    // MARK: - The end of a stream

    /// Gives the client its place back: nothing of ours works for the stream any more.
    ///
    /// A stream that was reset keeps its place until this is called, so that resets do not buy more work than
    /// `limits.concurrentStreams` at a time.
    package func release(_ stream: HTTP2Stream) {
        stream.isReleased = true
        forgetIfDone(stream)
    }

    func forgetIfDone(_ stream: HTTP2Stream) {
        guard stream.isClosed, stream.isReleased || !stream.isAnnounced, !stream.isTouched else { return }
        guard let known = streams[stream.id], known === stream else { return }
        streams[stream.id] = nil
        lastStreamEnd = now
        if stream.holdsSlot {
            stream.holdsSlot = false
            slots -= 1
        }
    }
}
