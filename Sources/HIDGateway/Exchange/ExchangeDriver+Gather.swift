// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// Content that is gathered before the request goes to the upstream, so that a client that sends slowly holds no
/// upstream connection meanwhile.
///
/// A body of at most 64 KiB is gathered as a whole where its length is announced: who announces it does not wait for
/// an answer meanwhile. Of a longer one, and of one whose length nobody knows, it is the first 16 KiB; and the latter
/// goes on after 100 ms, because its client may wait for an answer before it sends more.
extension ExchangeDriver {
    /// Of a body too long to be gathered as a whole; its upstream may have an answer before it is complete.
    private static let gatheredOfLarge: UInt64 = 16 << 10
    /// How long content of unknown length is gathered.
    private static let gatherTime = Delay(.milliseconds(100))

    /// Whether content comes that can be gathered.
    func canGather(_ stream: ServerStream) -> Bool {
        guard phase == .idle else { return false }
        switch stream.request.framing {
        case .length(let length): return length > 0
        case .chunked: return !stream.isHTTP2 && !Self.isConversation(stream.request)
        case .none, .untilClose: return false
        }
    }

    /// Whether a request says of itself that its two directions belong together.
    private static func isConversation(_ request: RequestHead) -> Bool {
        if request.expectsContinue || request.first(Names.te) != nil || request.first(Names.upgrade) != nil {
            return true
        }
        guard let type = request.first(Names.contentType)?.value else { return false }
        let octets = request.bytes.span
        return Names.grpc.isPrefix(of: octets.extracting(type))
    }

    /// Keeps back what comes for a moment.
    func beginGathering(_ stream: ServerStream) {
        phase = .gathering
        held = HeldContent(buffers: loop.buffers)
        if stream.request.expectsContinue { stream.sendInterim(status: 100) }
        guard stream.request.framing == .chunked else { return }
        let timer = gatherTimer ?? LoopTimer { [weak self] in self?.gatheredLongEnough() }
        gatherTimer = timer
        loop.set(timer, after: Self.gatherTime)
    }

    func gather(_ content: Span<UInt8>, _ stream: ServerStream) {
        do throws(HeldContent.SpoolError) {
            try held?.append(content)
        } catch {
            return giveUp(stream, Answer(.error, .gateway(.spoolFailed), status: 503, retryAfter: 1))
        }
        if case .length(let length) = stream.request.framing, length <= UInt64(HeldContent.memoryLimit) { return }
        if contentCount >= Self.gatheredOfLarge { startForwarding(stream) }
    }

    private func gatheredLongEnough() {
        guard phase == .gathering, let stream else { return }
        if held?.count == 0 { held = nil }
        startForwarding(stream)
    }
}

private enum Names {
    static let te = FieldName("te")
    static let upgrade = FieldName("upgrade")
    static let contentType = FieldName("content-type")
    static let grpc = FieldName("application/grpc")
}
