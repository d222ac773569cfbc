// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
internal import HIDService

/// Where the forwarding of one request stands.
struct ForwardState {
    /// Monotonic nanoseconds.
    var start: UInt64
    var headTime: UInt64?
    var name: String
    var isChunked: Bool
    /// Held content has not all gone out.
    var isHeldPending = false
    /// The client's request is complete.
    var isRequestComplete = false
    /// Sent again already.
    var wasRetried = false
    /// The upgrade that the request asks for and the route allows.
    var handshake: WebSocketHandshake?
}

/// The upstream's side of an exchange.
extension ExchangeDriver: UpstreamHandler {
    // MARK: - The request

    func startForwarding(_ stream: ServerStream) {
        let isGathered = phase == .gathering
        phase = .forwarding
        let request = stream.request
        let isComplete = held != nil && !isGathered && contentCount <= UInt64(plan.configuration.limits.signedBody)
        let framing: BodyFraming = isComplete ? .length(contentCount) : request.framing
        forward = ForwardState(
            start: loop.now, name: plan.upstreams[exchange.route.upstream].name, isChunked: framing == .chunked)
        forward?.isHeldPending = held != nil
        if exchange.route.allowsWebSocket, !stream.isHTTP2 { forward?.handshake = WebSocketHandshake(request) }
        guard connectUpstream(stream, framing: framing) else { return }
        if !isRequestEnded, request.framing != .none { becameSlow() }
        if held == nil, request.expectsContinue, request.framing != .none { stream.sendInterim(status: 100) }
        sendHeld()
    }

    /// Takes a connection and writes the head.
    ///
    /// False when there is none: the client has its answer.
    private func connectUpstream(_ stream: ServerStream, framing: BodyFraming, fresh: Bool = false) -> Bool {
        let request = stream.request
        let pool = services.pool(exchange.route.upstream, of: plan)
        do throws(UpstreamFault) {
            let upstream = try acquire(from: pool, isHeadRequest: request.isMethod("HEAD"), fresh: fresh)
            self.upstream = upstream
            let head = ForwardedRequest(
                request: request, path: scratch.path, query: exchange.query, route: exchange.route,
                token: exchange.token, wasChecked: exchange.wasChecked, isVerified: exchange.isVerified,
                requestID: requestID, peer: stream.peer.address, isBehindTrustedProxy: isBehindTrustedProxy,
                authority: pool.target.authority, framing: framing, isUpgrade: forward?.handshake != nil)
            upstream.expectsSwitch = forward?.handshake != nil
            upstream.write { head.write(into: &$0) }
            return true
        } catch {
            fail(error, stream)
            return false
        }
    }

    /// Where all connections are in use, the slowest client gives one up.
    private func acquire(
        from pool: UpstreamPool, isHeadRequest: Bool, fresh: Bool
    ) throws(UpstreamFault) -> UpstreamConnection {
        do throws(UpstreamFault) {
            return try pool.acquire(for: self, isHeadRequest: isHeadRequest, fresh: fresh)
        } catch {
            guard error == .tooManyConnections, let name = forward?.name,
                let slow = services.slow.slowest(at: name, now: loop.now), slow !== self
            else { throw error }
            slow.cutForOthers()
            return try pool.acquire(for: self, isHeadRequest: isHeadRequest, fresh: fresh)
        }
    }

    /// Sends what was held, as far as the upstream takes it; the client waits until it is out.
    private func sendHeld() {
        guard forward?.isHeldPending == true, let held, let upstream, let stream else { return }
        while !upstream.isBackedUp {
            do throws(HeldContent.SpoolError) {
                guard let piece = try held.next() else {
                    forward?.isHeldPending = false
                    self.held = nil
                    if forward?.isRequestComplete == true { finishRequest() } else { stream.resumeContent() }
                    return
                }
                write(piece.span, to: upstream)
            } catch {
                upstream.cancel()
                self.upstream = nil
                exchange.ended(by: .gateway(.spoolFailed), decision: .error)
                respond(Answer(.error, .gateway(.spoolFailed), status: 503, retryAfter: 1), stream)
                return
            }
        }
        stream.pauseContent()
    }

    func sendContent(_ content: Span<UInt8>, _ stream: ServerStream) {
        // While held content is still going out the client is paused, so the order is kept.
        guard let upstream else { return }
        write(content, to: upstream)
        guard upstream.isBackedUp else { return }
        // Now the upstream is the slow one.
        isSlowNoMore()
        stream.pauseContent()
    }

    private func write(_ content: Span<UInt8>, to upstream: UpstreamConnection) {
        let isChunked = forward?.isChunked == true
        upstream.write { out in
            if isChunked { HeadWriter.chunkHeader(content.count, into: &out) }
            out.append(copying: content)
            if isChunked { HeadWriter.chunkEnd(into: &out) }
        }
    }

    /// Tells the upstream that the request is complete; once, however often it is called.
    func endContent() {
        guard phase != .tunnel else { upstream?.endTunnel(); return }
        guard forward?.isRequestComplete == false else { return }
        forward?.isRequestComplete = true
        isSlowNoMore()
        if forward?.isHeldPending != true { finishRequest() }
    }

    private func finishRequest() {
        guard let upstream else { return }
        if forward?.isChunked == true {
            let trailers = ForwardedTrailers.request(stream?.trailers ?? [])
            upstream.write { HeadWriter.lastChunk(trailers: trailers, into: &$0) }
        }
        upstream.endRequest()
    }

    func upstreamDrained() {
        if forward?.isHeldPending == true { return sendHeld() }
        if forward?.isRequestComplete == false, phase == .forwarding { becameSlow() }
        stream?.resumeContent()
    }

    // MARK: - The answer

    func upstreamHead(_ upstream: UpstreamConnection) {
        guard let stream else { return }
        let response = upstream.response
        if response.status == 101 { return switchProtocols(response, upstream, stream) }
        if response.status < 200 {
            // 100 was ours to send; 103 is for the client.
            if response.status == 103 {
                stream.sendInterim(status: 103) { ForwardedResponse.write(response, into: &$0) }
            }
            return
        }
        if forward?.headTime == nil { forward?.headTime = loop.now }
        upstreamStatus = response.status
        status = response.status
        stream.startResponse(status: response.status, framing: framing(response)) { out in
            ForwardedResponse.write(response, into: &out)
            _ = HeadWriter.field("X-Request-Id", checking: requestID, into: &out)
        }
    }

    /// A tunnel opens only for the answer to the very handshake that was sent.
    private func switchProtocols(_ response: ResponseHead, _ upstream: UpstreamConnection, _ stream: ServerStream) {
        guard forward?.handshake?.isAccepted(by: response) == true else {
            upstream.cancel()
            self.upstream = nil
            return fail(.switchedProtocols, stream)
        }
        forward?.headTime = loop.now
        upstreamStatus = 101
        status = 101
        phase = .tunnel
        stream.switchProtocols(idle: Delay(plan.configuration.tunnelIdle)) { out in
            ForwardedResponse.write(response, into: &out)
            out.append(literal: "Connection: upgrade\r\nUpgrade: websocket\r\n")
            _ = HeadWriter.field("X-Request-Id", checking: requestID, into: &out)
        }
    }

    private func framing(_ response: ResponseHead) -> ResponseFraming {
        switch response.framing {
        case .none: .none(announcing: ForwardedResponse.announcedLength(response))
        case .length(let length): .length(length)
        case .chunked, .untilClose: .unknown
        }
    }

    func upstreamContent(_ upstream: UpstreamConnection, _ content: Span<UInt8>) {
        guard let stream else { return }
        stream.writeContent(content)
        guard stream.isBackedUp else { return }
        upstream.pause()
        if slowSince == nil, phase == .forwarding { becameSlow() }
    }

    func upstreamEnded(trailers: [UInt8]) {
        upstream = nil
        isSlowNoMore()
        stream?.endResponse(trailers: ForwardedTrailers.response(trailers))
    }

    func upstreamFailed(_ fault: UpstreamFault) {
        let failed = upstream
        upstream = nil
        guard let stream else { return }
        if let failed, canRetry(fault, failed, stream) {
            forward?.wasRetried = true
            services.shared.metrics.upstreamRetries.add(shard: loop.index)
            guard connectUpstream(stream, framing: stream.request.framing, fresh: true) else { return }
            return finishRequest()
        }
        fail(fault, stream)
    }

    /// A safe request without content, once, on a reused connection that died before it said a word (RFC 9110 9.2.2).
    private func canRetry(
        _ fault: UpstreamFault, _ failed: UpstreamConnection, _ stream: ServerStream
    ) -> Bool {
        let request = stream.request
        let isSafe = request.isMethod("GET") || request.isMethod("HEAD") || request.isMethod("OPTIONS")
        return fault == .closed && failed.isReused && !failed.hasAnswered && forward?.wasRetried == false && isSafe
            && (request.framing == .none || request.framing == .length(0)) && status == 0
    }

    private func fail(_ fault: UpstreamFault, _ stream: ServerStream) {
        exchange.ended(by: .upstream(fault), decision: .error)
        guard status == 0 else {
            end = .upstreamAbort
            record(stream)
            reset()
            return stream.abort()
        }
        let retryAfter = fault.status == 503 ? 1 : nil
        respond(Answer(.error, .upstream(fault), status: fault.status, retryAfter: retryAfter), stream)
    }
}
