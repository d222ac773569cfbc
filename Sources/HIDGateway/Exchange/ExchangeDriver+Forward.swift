// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
internal import HIDService

/// Where the forwarding of one request stands.
struct ForwardState {
    /// Monotonic nanoseconds.
    var start: UInt64
    var headTime: UInt64?
    var name: String
    /// Of the request to the upstream.
    var framing: BodyFraming
    /// Held content has not all gone out.
    var isHeldPending = false
    /// The client's request is complete.
    var isRequestComplete = false
    /// Waits for a connection.
    var isWaiting = false
    /// Content that came meanwhile: enough of it is taken to notice that a client with a short request has left.
    var early: [UInt8] = []
    static let earlyLimit = 64 << 10
    /// Sent again already.
    var wasRetried = false
    /// The upgrade that the request asks for and the route allows.
    var handshake: WebSocketHandshake?
    /// The client got an interim answer of the upstream.
    var hasSentInterim = false
    /// Connections that were given the request.
    var attempts = 0
    /// Addresses that could not be reached or failed.
    var tried: [UpstreamEndpoint] = []
    /// The address of the last attempt.
    var server: String?
    var isReused = false
    /// Octets that the connection begins with.
    var preamble: [UInt8] = []

    var isChunked: Bool { framing == .chunked }
}

/// The upstream's side of an exchange.
extension ExchangeDriver: UpstreamHandler, UpstreamWaiter {
    // MARK: - The request

    func startForwarding(_ stream: ServerStream) {
        let isGathered = phase == .gathering
        phase = .forwarding
        let request = stream.request
        let isComplete = held != nil && !isGathered && contentCount <= UInt64(plan.configuration.limits.signedBody)
        let upstream = plan.upstreams[exchange.route.upstream]
        var state = ForwardState(
            start: loop.now, name: upstream.name, framing: isComplete ? .length(contentCount) : request.framing)
        state.isHeldPending = held != nil
        if exchange.route.allowsWebSocket, !stream.isHTTP2 { state.handshake = WebSocketHandshake(request) }
        if upstream.policy.sendsProxyHeader { state.preamble = proxyHeader(stream) }
        forward = state
        guard let pool = services.pool(exchange.route.upstream, of: plan) else { return fail(.connect, stream) }
        do throws(UpstreamFault) {
            let isHead = request.isMethod("HEAD")
            guard let given = try pool.acquireOrWait(for: self, isHeadRequest: isHead, preamble: state.preamble) else {
                forward?.isWaiting = true
                services.relieve()
                // What is held goes out first, so nothing may come after it before that.
                if held != nil { stream.pauseContent() }
                return
            }
            begin(given, stream)
        } catch {
            fail(error, stream)
        }
    }

    /// The first octets of the request on the connection that it was given.
    private func begin(_ given: UpstreamConnection, _ stream: ServerStream) {
        take(given)
        writeHead(given, stream)
        let request = stream.request
        if !isRequestEnded, request.framing != .none { becameSlow() }
        if held == nil, request.expectsContinue, request.framing != .none { stream.sendInterim(status: 100) }
        sendHeld()
        guard let early = forward?.early, !early.isEmpty else { return }
        forward?.early = []
        write(early.span, to: given)
    }

    func upstreamReady(_ given: UpstreamConnection) {
        guard let stream, forward?.isWaiting == true else { return given.cancel() }
        forward?.isWaiting = false
        let isHeld = held != nil
        begin(given, stream)
        guard upstream === given else { return stream.resumeContent() }
        // Held content tells by itself when it is out.
        guard !isHeld else { return }
        if forward?.isRequestComplete == true { finishRequest() } else { stream.resumeContent() }
    }

    func upstreamRefused(_ fault: UpstreamFault) {
        guard let stream, forward?.isWaiting == true else { return }
        forward?.isWaiting = false
        fail(fault, stream)
        stream.resumeContent()
    }

    /// Gives up what the upstream still does, or the place in its queue.
    func cancelForwarding() {
        upstream?.cancel()
        upstream = nil
        guard forward?.isWaiting == true else { return }
        forward?.isWaiting = false
        services.pool(exchange.route.upstream, of: plan)?.leave(self)
    }

    private func take(_ given: UpstreamConnection) {
        upstream = given
        forward?.attempts += 1
        forward?.server = given.endpoint.label
        forward?.isReused = given.isReused
    }

    private func writeHead(_ given: UpstreamConnection, _ stream: ServerStream) {
        guard let framing = forward?.framing else { return }
        let target = plan.upstreams[exchange.route.upstream]
        let head = ForwardedRequest(
            request: stream.request, path: scratch.path, query: exchange.query, route: exchange.route,
            token: exchange.token, wasChecked: exchange.wasChecked, isVerified: exchange.isVerified,
            requestID: requestID, peer: stream.peer.address, client: client,
            isBehindTrustedProxy: isBehindTrustedProxy, security: stream.security, authority: target.authority,
            framing: framing, isUpgrade: forward?.handshake != nil)
        given.expectsSwitch = forward?.handshake != nil
        given.write { head.write(into: &$0) }
    }

    private func proxyHeader(_ stream: ServerStream) -> [UInt8] {
        var local = stream.localEndpoint
        // What is not known of the listening side is all zeros.
        if local.address.isLocal {
            local = PeerEndpoint(
                address: PeerAddress(high: 0, low: client.isIPv4 ? 0xFFFF_0000_0000 : 0), port: 0)
        }
        // A proxy in between says who the client is, not from which port it came.
        let port = client == stream.peer.address ? stream.peer.port : 0
        return ProxyProtocol.header(
            ProxyHeader.Connection(source: PeerEndpoint(address: client, port: port), destination: local))
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
        if forward?.isWaiting == true {
            forward?.early.append(copying: content)
            if let early = forward?.early, early.count > ForwardState.earlyLimit { stream.pauseContent() }
            return
        }
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
                forward?.hasSentInterim = true
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
        guard let failed, status == 0, forward?.hasSentInterim == false, tryAgain(fault, failed, stream) else {
            return fail(fault, stream)
        }
    }

    /// Gives the request to another connection where that is safe; false when it is not, or there is none.
    private func tryAgain(
        _ fault: UpstreamFault, _ failed: UpstreamConnection, _ stream: ServerStream
    ) -> Bool {
        guard let pool = services.pool(exchange.route.upstream, of: plan), let state = forward else { return false }
        if fault.isDialFailure { return dialAnother(pool, failed, stream) }
        // Octets of the request went out: only once, and only what may be done twice (RFC 9110 section 9.2.2).
        let request = stream.request
        let isSafe = request.isMethod("GET") || request.isMethod("HEAD") || request.isMethod("OPTIONS")
        guard !state.wasRetried, isSafe, request.framing == .none || request.framing == .length(0) else { return false }
        let diedIdle = fault == .closed && failed.isReused && !failed.hasAnswered
        guard diedIdle || (fault.isWorthAnotherServer && state.attempts < pool.attemptLimit) else { return false }
        if !diedIdle { forward?.tried.append(failed.endpoint) }
        guard pool.takeRetry(), let given = another(pool, stream, fresh: diedIdle) else { return false }
        forward?.wasRetried = true
        services.shared.metrics.upstreamRetries.add(shard: loop.index)
        take(given)
        writeHead(given, stream)
        // What failed may have answered before it got all of the request.
        if forward?.isRequestComplete == true { finishRequest() }
        return true
    }

    /// Nothing was sent: the next server gets what the first one was to get, whatever the method.
    private func dialAnother(
        _ pool: UpstreamPool, _ failed: UpstreamConnection, _ stream: ServerStream
    ) -> Bool {
        forward?.tried.append(failed.endpoint)
        guard let attempts = forward?.attempts, attempts < pool.attemptLimit,
            let given = another(pool, stream, fresh: false)
        else { return false }
        services.shared.metrics.upstreamRedials.add(shard: loop.index)
        take(given)
        given.takeOver(failed)
        return true
    }

    private func another(_ pool: UpstreamPool, _ stream: ServerStream, fresh: Bool) -> UpstreamConnection? {
        let state = forward
        return try? pool.acquire(
            for: self, isHeadRequest: stream.request.isMethod("HEAD"), preamble: state?.preamble ?? [],
            fresh: fresh, avoiding: state?.tried ?? [])
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
