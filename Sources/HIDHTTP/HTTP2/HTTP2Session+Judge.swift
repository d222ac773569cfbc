// SPDX-License-Identifier: Apache-2.0

/// Judging frames by their headers, before anything is decoded or kept.
extension HTTP2Session {
    /// What is wrong with a frame that is about to come; what only the framing layer can know is left to it.
    func judge(_ header: FrameHeader) -> HTTP2Fault? {
        let kind = header.kind
        if isBlockOpen {
            // Anything but CONTINUATION here ends the connection in the framing layer (RFC 9113 section 6.10).
            return kind == .continuation ? judgeContinuation(header) : nil
        }
        isBlockFrame = kind == .headers
        let stream = streams[header.stream]
        stream?.bytesIn += FrameHeader.size + header.length
        switch kind {
        case .headers: return judgeHeaders(header, isOpen: stream?.isClosed == false)
        case .data: return judgeData(header, isOpen: stream?.isClosed == false)
        case .resetStream: return judgeReset(header, stream)
        default: return judgeControl(header, kind)
        }
    }

    private func judgeHeaders(_ header: FrameHeader, isOpen: Bool) -> HTTP2Fault? {
        blockStarted = now
        blockOctets = header.length
        blockContinuations = 0
        isBlockOpen = !header.endsHeaders
        if header.length == 0, let fault = budget.emptyHeader(at: now) { return fault }
        if header.stream > lastOpened {
            if header.stream & 1 == 1 {
                lastOpened = header.stream
                budget.streamOpened(at: now)
            }
            return nil
        }
        guard header.stream > 0, header.stream & 1 == 1, !isOpen else { return nil }
        switch closed.endedByClient(header.stream) {
        case true?: return .streamClosed
        case false?: return budget.strayFrame(at: now)
        case nil: return .streamID
        }
    }

    private func judgeContinuation(_ header: FrameHeader) -> HTTP2Fault? {
        streams[header.stream]?.bytesIn += FrameHeader.size + header.length
        blockContinuations += 1
        blockOctets += header.length
        isBlockOpen = !header.endsHeaders
        if header.length == 0, let fault = budget.emptyHeader(at: now) { return fault }
        if blockContinuations > limits.continuations { return .continuationFlood }
        return blockOctets > limits.headerBlock ? .headerBlockTooLarge : nil
    }

    private func judgeData(_ header: FrameHeader, isOpen: Bool) -> HTTP2Fault? {
        if header.length == 0, !header.endsStream, let fault = budget.emptyDataFrame(at: now) { return fault }
        guard !isOpen, header.stream > 0, header.stream <= lastOpened else { return nil }
        if closed.endedByClient(header.stream) == true { return .streamClosed }
        return header.length == 0 ? budget.strayFrame(at: now) : nil
    }

    private func judgeReset(_ header: FrameHeader, _ stream: HTTP2Stream?) -> HTTP2Fault? {
        guard let stream, !stream.isClosed, !stream.isRefused else { return budget.strayFrame(at: now) }
        stream.isResetByPeer = true
        // A reset of an answer that is already out costs nothing.
        return stream.isLocalEnded ? nil : budget.streamReset(at: now)
    }

    private func judgeControl(_ header: FrameHeader, _ kind: FrameHeader.Kind) -> HTTP2Fault? {
        // The framing layer passes over PRIORITY without a look (RFC 9113 section 6.3).
        if header.type == 2, header.stream == 0 { return .protocolError }
        if kind == .windowUpdate, header.stream > 0, header.stream <= lastOpened, streams[header.stream] == nil {
            return budget.strayFrame(at: now) ?? budget.controlFrame(kind, at: now)
        }
        return budget.controlFrame(kind, at: now)
    }
}
