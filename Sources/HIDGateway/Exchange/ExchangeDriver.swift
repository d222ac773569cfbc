// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDDaemon
internal import HIDHTTP
internal import HIDService
internal import HIDStore
internal import HIDVerifier

/// Performs the actions of the exchanges of one connection: the only place that touches sockets, upstreams and stores.
///
/// Confined to its loop; one at a time, because a stream has one at a time.
final class ExchangeDriver: ServerHandler {
    enum Phase: Equatable {
        /// No exchange, or the answer is on its way and nothing more is wanted.
        case idle
        case holding
        /// Waits for the rest of a small body, so that a slow client does not hold an upstream connection.
        case gathering
        /// Waits for the replay store.
        case marking
        /// The upstream has the head; `isHeldPending`: held content is still going out.
        case forwarding
        /// Octets pass both ways until one side closes.
        case tunnel
    }

    let services: LoopServices
    let listener: String
    let trusted: AddressSet
    unowned let loop: EventLoop

    var plan: GatewayPlan
    var exchange: Exchange
    var scratch = RouteScratch()
    var phase = Phase.idle
    var upstream: UpstreamConnection?
    var forward: ForwardState?
    var held: HeldContent?
    var hasher = SHA256Hasher()
    var contentCount: UInt64 = 0
    /// The client's request is complete, whatever has become of it here.
    var isRequestEnded = false
    private var hasNotedFailure = false
    var requestID: [UInt8] = []
    var supportCode: [UInt8]?
    var client = PeerAddress.local
    var isBehindTrustedProxy = false
    var verifyTime: UInt64 = 0
    var upstreamStatus: Int?
    var status = 0
    var end: ExchangeEnd?
    var isRecorded = true
    /// Since when the client stands still while it holds an upstream connection; nil: it does not.
    var slowSince: UInt64?
    var slowProgress = 0
    /// Ends the gathering of content of unknown length; nil until there is some.
    var gatherTimer: LoopTimer?
    /// The stream of the exchange under way, for events that come from the upstream.
    ///
    /// Held until the exchange is over.
    var stream: ServerStream?

    init(services: LoopServices, listener: String, trusted: AddressSet) {
        self.services = services
        self.listener = listener
        self.trusted = trusted
        loop = services.loop
        plan = services.shared.plans.current
        exchange = Exchange(plan: plan)
    }

    // MARK: - Events of the client

    func requestBegan(_ stream: ServerStream) {
        prepare(stream)
        let request = stream.request
        let address = ClientAddress(peer: stream.peer.address, request: request, trusted: trusted)
        client = address.client
        isBehindTrustedProxy = address.isBehindTrustedProxy
        if isBehindTrustedProxy, let given = RequestIdentity.trusted(request) { requestID = given }
        countDroppedFields(request)
        let action = timed { exchange.begin(request, scratch: &scratch, context: context()) }
        noteFailure()
        perform(action, stream)
    }

    func requestContent(_ stream: ServerStream, _ content: Span<UInt8>) {
        if phase == .tunnel { return sendContent(content, stream) }
        contentCount += UInt64(content.count)
        guard phase != .idle, phase != .marking else { return }
        guard contentCount <= UInt64(plan.configuration.limits.body) else {
            return giveUp(stream, Answer(.reject, .gateway(.bodyTooLarge), status: 413))
        }
        progressed(content.count)
        switch phase {
        case .holding: hold(content, stream)
        case .gathering: gather(content, stream)
        default: sendContent(content, stream)
        }
    }

    func requestEnded(_ stream: ServerStream) {
        isRequestEnded = true
        switch phase {
        // The answer of the replay store goes on from there.
        case .idle, .marking: break
        case .holding:
            let digest = hasher.finish()
            let request = stream.request
            let action = timed { exchange.contentEnded(request, digest: digest, context()) }
            noteFailure()
            perform(action, stream)
            if phase == .forwarding { endContent() }
        case .gathering:
            startForwarding(stream)
            if phase == .forwarding { endContent() }
        case .forwarding, .tunnel: endContent()
        }
    }

    func requestFailed(_ stream: ServerStream, _ failure: RequestFailure) {
        if isRecorded { prepare(stream) }
        let answer: Answer
        switch failure {
        case .head(let fault): answer = Answer(.reject, .head(fault), status: fault.status)
        case .content(let fault):
            answer = Answer(.reject, .content(fault), status: fault.status)
            end = .contentFault
        case .headTimeout:
            answer = Answer(.reject, .gateway(.headerTimeout), status: 408)
            end = .headerTimeout
        case .contentTimeout:
            answer = Answer(.reject, .gateway(.bodyTimeout), status: 408)
            end = .bodyTimeout
        case .overload: answer = Answer(.reject, .gateway(.overload), status: 503, retryAfter: 1)
        // There is nobody to answer.
        case .http2(let fault): return clientLost(stream, .http2(fault))
        }
        giveUp(stream, answer)
    }

    func responseDrained(_ stream: ServerStream) {
        isSlowNoMore()
        upstream?.resume()
    }

    func responseEnded(_ stream: ServerStream) {
        record(stream)
        reset()
    }

    func clientLost(_ stream: ServerStream, _ loss: ClientLoss) {
        guard !isRecorded else { return }
        let reason: StopReason
        switch loss {
        case .closed: (reason, end) = (.gateway(.clientAbort), .clientAbort)
        case .writeTimeout: (reason, end) = (.gateway(.writeTimeout), .writeTimeout)
        case .tunnelIdle: (reason, end) = (.gateway(.tunnelIdle), .tunnelIdle)
        case .cut: (reason, end) = (.gateway(.drainDeadline), .drainDeadline)
        case .http2(let fault): (reason, end) = (.http2(fault), .http2Fault)
        }
        // Exchanges that the client itself brought down are not errors of ours.
        let isRefusal = if case .http2(let fault) = loss { fault != .internalError } else { false }
        if exchange.reason == nil { exchange.ended(by: reason, decision: isRefusal ? .reject : .error) }
        cancelForwarding()
        record(stream)
        reset()
    }

    // MARK: - Actions

    func perform(_ action: Exchange.Action, _ stream: ServerStream) {
        switch action {
        case .answer(let answer): respond(answer, stream)
        case .hold:
            phase = .holding
            held = HeldContent(buffers: loop.buffers)
            hasher = SHA256Hasher()
            if stream.request.expectsContinue { stream.sendInterim(status: 100) }
        case .stream where canGather(stream): beginGathering(stream)
        case .stream, .release: startForwarding(stream)
        case .mark(let use): mark(use, stream)
        }
    }

    private func mark(_ use: ReplayUse, _ stream: ServerStream) {
        phase = .marking
        stream.pauseContent()
        let id = requestID
        services.shared.replay.useOnce(use, now: loop.now) { [weak self, weak stream] answer in
            // The exchange may be over by the time a remote store answers.
            guard let self, let stream, phase == .marking, id == requestID else { return }
            perform(exchange.replayAnswered(answer), stream)
            stream.resumeContent()
            if phase == .forwarding, isRequestEnded { endContent() }
        }
    }

    /// Answers ourselves; what the upstream still does is not wanted.
    func giveUp(_ stream: ServerStream, _ answer: Answer) {
        cancelForwarding()
        exchange.ended(by: answer.reason, decision: answer.decision)
        guard status == 0 else {
            record(stream)
            reset()
            return stream.abort()
        }
        respond(answer, stream)
    }

    func respond(_ answer: Answer, _ stream: ServerStream) {
        isSlowNoMore()
        phase = .idle
        held = nil
        status = answer.status
        let isRefusal = answer.decision == .block || answer.status == 503
        supportCode = services.identity.nextSupportCode()
        let body = answer.body(requestID: requestID, supportCode: supportCode)
        let isHead = stream.request.isMethod("HEAD")
        stream.startResponse(
            status: answer.status,
            framing: isHead ? .none(announcing: UInt64(body.count)) : .length(UInt64(body.count)),
            closing: !isRefusal && answer.status != 429 && answer.status != 405 && answer.status < 500
        ) { out in
            if !body.isEmpty { HeadWriter.field("Content-Type", "application/json", into: &out) }
            HeadWriter.field("Cache-Control", "no-store", into: &out)
            if let seconds = answer.retryAfter { HeadWriter.field("Retry-After", UInt64(seconds), into: &out) }
            if let allow = answer.allow { _ = HeadWriter.field("Allow", checking: Array(allow.utf8), into: &out) }
            _ = HeadWriter.field("X-Request-Id", checking: requestID, into: &out)
        }
        if !isHead { stream.writeContent(body.span) }
        stream.endResponse()
    }

    // MARK: - Content that is held

    private var isOverLimit: Bool { contentCount > UInt64(plan.configuration.limits.signedBody) }

    private func hold(_ content: Span<UInt8>, _ stream: ServerStream) {
        hasher.update(content)
        do throws(HeldContent.SpoolError) {
            try held?.append(content)
        } catch {
            return giveUp(stream, Answer(.error, .gateway(.spoolFailed), status: 503, retryAfter: 1))
        }
        guard isOverLimit else { return }
        let request = stream.request
        perform(exchange.contentOverLimit(request, context()), stream)
    }

    // MARK: - Bookkeeping

    private func prepare(_ stream: ServerStream) {
        self.stream = stream
        plan = services.shared.plans.current
        exchange = Exchange(plan: plan)
        scratch.reset()
        requestID = services.identity.nextRequestID()
        client = stream.peer.address
        contentCount = 0
        isRequestEnded = false
        hasNotedFailure = false
        verifyTime = 0
        upstreamStatus = nil
        status = 0
        supportCode = nil
        end = nil
        isRecorded = false
    }

    func reset() {
        isSlowNoMore()
        gatherTimer?.cancel()
        phase = .idle
        upstream = nil
        forward = nil
        held = nil
        stream = nil
    }

    private func context() -> ExchangeContext {
        ExchangeContext(
            plan: plan, now: loop.wall / 1_000_000_000, startSecond: services.shared.startSecond,
            isOverFailureBudget: services.shared.failures.isExhausted(client, loop: loop),
            signatures: services.signatures)
    }

    private func timed(_ body: () -> Exchange.Action) -> Exchange.Action {
        let start = MonotonicClock.now()
        let action = body()
        if exchange.wasChecked { verifyTime += MonotonicClock.now() &- start }
        return action
    }

    /// A proven failure counts against the address, once for each request; an unknown key asks for a fresh key set.
    private func noteFailure() {
        guard !hasNotedFailure, case .verification(let reason)? = exchange.reason ?? exchange.openReason else { return }
        hasNotedFailure = true
        if reason == .keyIDUnknown || reason == .keysUnavailable { services.shared.onUnknownKey() }
        if reason.isProven { services.shared.failures.note(client, loop: loop) }
    }

    private func countDroppedFields(_ request: RequestHead) {
        for field in request.fields where field.hasUnderscore {
            services.shared.metrics.droppedFields.add(shard: loop.index)
        }
    }
}
