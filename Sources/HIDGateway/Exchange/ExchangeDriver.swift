// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDDaemon
internal import HIDHTTP
internal import HIDService
internal import HIDStore
internal import HIDVerifier

/// Performs the actions of the exchanges of one connection: the only place that touches sockets, upstreams and stores.
///
/// Confined to its loop; one at a time, because a connection has one exchange at a time.
final class ExchangeDriver: ServerHandler {
    enum Phase: Equatable {
        /// No exchange, or the answer is on its way and nothing more is wanted.
        case idle
        case holding
        /// Waits for the replay store.
        case marking
        /// The upstream has the head; `isHeldPending`: held content is still going out.
        case forwarding
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
    private var isRequestEnded = false
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
    /// The connection of the exchange under way, for events that come from the upstream.
    ///
    /// Held until the exchange is over.
    var connection: ServerConnection?

    init(services: LoopServices, listener: String, trusted: AddressSet) {
        self.services = services
        self.listener = listener
        self.trusted = trusted
        loop = services.loop
        plan = services.shared.plans.current
        exchange = Exchange(plan: plan)
    }

    // MARK: - Events of the client

    func requestBegan(_ connection: ServerConnection) {
        prepare(connection)
        let request = connection.request
        let address = ClientAddress(peer: connection.peer, request: request, trusted: trusted)
        client = address.client
        isBehindTrustedProxy = address.isBehindTrustedProxy
        if isBehindTrustedProxy, let given = RequestIdentity.trusted(request) { requestID = given }
        countDroppedFields(request)
        let action = timed { exchange.begin(request, scratch: &scratch, context: context()) }
        noteFailure()
        perform(action, connection)
    }

    func requestContent(_ connection: ServerConnection, _ content: Span<UInt8>) {
        contentCount += UInt64(content.count)
        guard phase != .idle, phase != .marking else { return }
        guard contentCount <= UInt64(plan.configuration.limits.body) else {
            return giveUp(connection, Answer(.reject, .gateway(.bodyTooLarge), status: 413))
        }
        if phase == .holding { hold(content, connection) } else { sendContent(content, connection) }
    }

    func requestEnded(_ connection: ServerConnection) {
        isRequestEnded = true
        switch phase {
        // The answer of the replay store goes on from there.
        case .idle, .marking: break
        case .holding:
            let digest = hasher.finish()
            let request = connection.request
            let action = timed { exchange.contentEnded(request, digest: digest, context()) }
            noteFailure()
            perform(action, connection)
            if phase == .forwarding { endContent() }
        case .forwarding: endContent()
        }
    }

    func requestFailed(_ connection: ServerConnection, _ failure: RequestFailure) {
        if isRecorded { prepare(connection) }
        let answer =
            switch failure {
            case .head(let fault): Answer(.reject, .head(fault), status: fault.status)
            case .content(let fault): Answer(.reject, .content(fault), status: fault.status)
            case .headTimeout: Answer(.reject, .gateway(.headerTimeout), status: 408)
            case .contentTimeout: Answer(.reject, .gateway(.bodyTimeout), status: 408)
            }
        switch failure {
        case .head: break
        case .content: end = .contentFault
        case .headTimeout: end = .headerTimeout
        case .contentTimeout: end = .bodyTimeout
        }
        giveUp(connection, answer)
    }

    func responseDrained(_ connection: ServerConnection) {
        upstream?.resume()
    }

    func responseEnded(_ connection: ServerConnection) {
        record(connection)
        reset()
    }

    func clientLost(_ connection: ServerConnection, _ loss: ClientLoss) {
        guard !isRecorded else { return }
        let reason: GatewayReason
        switch loss {
        case .closed: (reason, end) = (.clientAbort, .clientAbort)
        case .writeTimeout: (reason, end) = (.writeTimeout, .writeTimeout)
        case .cut: (reason, end) = (.drainDeadline, .drainDeadline)
        }
        if exchange.reason == nil { exchange.ended(by: .gateway(reason), decision: .error) }
        cancelForwarding()
        record(connection)
        reset()
    }

    // MARK: - Actions

    func perform(_ action: Exchange.Action, _ connection: ServerConnection) {
        switch action {
        case .answer(let answer): respond(answer, connection)
        case .hold:
            phase = .holding
            held = HeldContent()
            hasher = SHA256Hasher()
            if connection.request.expectsContinue { connection.sendInterim(status: 100) }
        case .stream, .release: startForwarding(connection)
        case .mark(let use): mark(use, connection)
        }
    }

    private func mark(_ use: ReplayUse, _ connection: ServerConnection) {
        phase = .marking
        connection.pauseContent()
        let id = requestID
        services.shared.replay.useOnce(use, now: loop.now) { [weak self, weak connection] answer in
            // The exchange may be over by the time a remote store answers.
            guard let self, let connection, phase == .marking, id == requestID else { return }
            perform(exchange.replayAnswered(answer), connection)
            connection.resumeContent()
            if phase == .forwarding, isRequestEnded { endContent() }
        }
    }

    /// Answers ourselves; what the upstream still does is not wanted.
    private func giveUp(_ connection: ServerConnection, _ answer: Answer) {
        cancelForwarding()
        exchange.ended(by: answer.reason, decision: answer.decision)
        guard status == 0 else {
            record(connection)
            reset()
            return connection.abort()
        }
        respond(answer, connection)
    }

    func respond(_ answer: Answer, _ connection: ServerConnection) {
        phase = .idle
        held = nil
        status = answer.status
        let isRefusal = answer.decision == .block || answer.status == 503
        supportCode = services.identity.nextSupportCode()
        let body = answer.body(requestID: requestID, supportCode: supportCode)
        let isHead = connection.request.isMethod("HEAD")
        connection.startResponse(
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
        if !isHead { connection.writeContent(body.span) }
        connection.endResponse()
    }

    // MARK: - Content that is held

    private var isOverLimit: Bool { contentCount > UInt64(plan.configuration.limits.signedBody) }

    private func hold(_ content: Span<UInt8>, _ connection: ServerConnection) {
        hasher.update(content)
        do throws(HeldContent.SpoolError) {
            try held?.append(content)
        } catch {
            return giveUp(connection, Answer(.error, .gateway(.spoolFailed), status: 503, retryAfter: 1))
        }
        guard isOverLimit else { return }
        let request = connection.request
        perform(exchange.contentOverLimit(request, context()), connection)
    }

    // MARK: - Bookkeeping

    private func prepare(_ connection: ServerConnection) {
        self.connection = connection
        plan = services.shared.plans.current
        exchange = Exchange(plan: plan)
        scratch.reset()
        requestID = services.identity.nextRequestID()
        client = connection.peer
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
        phase = .idle
        upstream = nil
        forward = nil
        held = nil
        connection = nil
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
