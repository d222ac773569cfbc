// SPDX-License-Identifier: Apache-2.0

package import HIDCrypto
package import HIDHTTP
package import HIDStore
package import HIDVerifier

/// What an exchange sees of the world at its beginning: values, no sources.
package struct ExchangeContext {
    package let plan: GatewayPlan
    /// Wall clock, seconds since 1970.
    package let now: Int64
    /// Tokens issued before this second are refused: the marks of an earlier run are lost.
    ///
    /// nil: they are not.
    package let startSecond: Int64?
    /// Whether this client has failed so many verifications that it is not served now.
    package let isOverFailureBudget: Bool
    package let signatures: SignatureVerifier

    package init(
        plan: GatewayPlan, now: Int64, startSecond: Int64?, isOverFailureBudget: Bool, signatures: SignatureVerifier
    ) {
        self.plan = plan
        self.now = now
        self.startSecond = startSecond
        self.isOverFailureBudget = isOverFailureBudget
        self.signatures = signatures
    }
}

/// One request and its answer, without I/O: events in, actions out.
package struct Exchange {
    package enum Action: Equatable {
        /// Answer at once; what is left of the request is not wanted.
        case answer(Answer)
        /// Keep content back until `contentEnded`, at most that many octets.
        case hold(limit: Int)
        /// Forward the head; content follows as it comes.
        case stream
        /// Forward the head and what was held; content that still comes follows.
        case release
        /// Ask the replay store, then call `replayAnswered`.
        case mark(ReplayUse)
    }

    private enum State: Equatable { case fresh, holding, marking(held: Bool), forwarding, answered }

    /// The route that applies.
    package private(set) var route: RoutePlan
    /// How the path matched it.
    package private(set) var match = RouteMatch.none
    /// Where the query stands in the head's octets, question mark included.
    package private(set) var query = 0..<0
    package private(set) var decision = Decision.pass
    package private(set) var reason: StopReason?

    private var state = State.fresh
    private var headers: HIDHeaders?
    private var verification: RequestVerification?
    private let plan: GatewayPlan

    package init(plan: GatewayPlan) {
        self.plan = plan
        route = plan.fallback
    }

    /// The token, once its signature was verified, whatever else is wrong with it.
    package var token: VerifiedToken? { verification?.token }

    /// Whether the request was checked and everything held.
    package var isVerified: Bool { verification?.isClean == true && reason == nil }

    /// The first check that failed, also while the exchange is still under way.
    package var openReason: StopReason? { verification?.reason.map { .verification($0) } }

    /// Whether it was checked at all.
    package var wasChecked: Bool { verification != nil }

    // MARK: - Events

    /// A complete head.
    ///
    /// `scratch` keeps the canonical path for what follows.
    package mutating func begin(
        _ request: RequestHead, scratch: inout RouteScratch, context: ExchangeContext
    ) -> Action {
        if request.isMethod("TRACE") { return refuse(.gateway(.methodNotAllowed), status: 405) }
        let bytes = request.bytes.span
        let host = bytes.extracting(request.host ?? 0..<0)
        switch scratch.resolve(
            method: bytes.extracting(request.method), target: bytes.extracting(request.target), host: host,
            in: plan.table)
        {
        case .refused(let fault): return refuse(.target(fault), status: fault.status)
        case .resolved(let resolved):
            match = resolved.match
            let start = request.target.lowerBound
            query = (resolved.query.lowerBound + start)..<(resolved.query.upperBound + start)
            route = plan.route(match)
        }
        if case .length(let length) = request.framing, length > UInt64(plan.configuration.limits.body) {
            return refuse(.gateway(.bodyTooLarge), status: 413)
        }
        let headers = HIDHeaders(request)
        self.headers = headers
        return checked(request, headers, context)
    }

    private mutating func checked(
        _ request: RequestHead, _ headers: HIDHeaders, _ context: ExchangeContext
    ) -> Action {
        let enforces = !route.isCritical || route.mode == .block || route.mode == .safeBlocking
        if enforces, let fault = malformed(headers) { return refuse(fault, status: 400) }
        guard route.isCritical, route.mode != .off else { return forward() }
        if let fault = malformed(headers) { note(fault) }
        if match.methodNotListed {
            guard route.methodsNotListed == .refuse else { return forward() }
            if let answer = methodNotListed() { return answer }
        }
        if enforces, context.isOverFailureBudget {
            return finish(Answer(.reject, .gateway(.failedVerifications), status: 429, retryAfter: 1))
        }
        var verification = RequestVerification(route: route)
        let step = verification.checkHead(
            request, headers, tokens: plan.tokens, now: context.now, startSecond: context.startSecond)
        self.verification = verification
        switch step {
        case .refuse(let stop): return finish(Refusal.answer(stop, on: route))
        case .done: return mark(held: false, digest: nil, request, context)
        case .readContent: return hold(request, context)
        }
    }

    /// Two HID headers, or a name that some upstream reads as one: no question of trust.
    private func malformed(_ headers: HIDHeaders) -> StopReason? {
        if headers.hasTwin { return .gateway(.underscoreTwin) }
        if headers.tokenCount > 1 { return .verification(.tokenMultiple) }
        if headers.signatureCount > 1 { return .verification(.signatureMultiple) }
        return nil
    }

    private mutating func methodNotListed() -> Action? {
        let reason = StopReason.gateway(.methodNotListed)
        guard route.mode == .block else {
            note(reason)
            return nil
        }
        return finish(Answer(.block, reason, status: 405, allow: route.allow))
    }

    private mutating func hold(_ request: RequestHead, _ context: ExchangeContext) -> Action {
        let limit = plan.configuration.limits.signedBody
        if case .length(let length) = request.framing, length > UInt64(limit) {
            if let stop = verification?.contentTooLarge() { return finish(Refusal.answer(stop, on: route)) }
            return mark(held: false, digest: nil, request, context)
        }
        if request.framing == .none { return contentEnded(request, digest: SHA256Hasher().finished(), context) }
        state = .holding
        return .hold(limit: limit)
    }

    /// More content came than a signature is checked over.
    package mutating func contentOverLimit(_ request: RequestHead, _ context: ExchangeContext) -> Action {
        if let stop = verification?.contentTooLarge() { return finish(Refusal.answer(stop, on: route)) }
        return mark(held: true, digest: nil, request, context)
    }

    /// The content is complete; `digest` is the SHA-256 of its octets.
    package mutating func contentEnded(
        _ request: RequestHead, digest: SHA256.Digest, _ context: ExchangeContext
    ) -> Action {
        guard let headers else { return forward() }
        if let stop = verification?.checkSignature(request, headers, digest: digest, verifier: context.signatures) {
            return finish(Refusal.answer(stop, on: route))
        }
        return mark(held: state == .holding, digest: digest, request, context)
    }

    /// The answer to `mark`.
    package mutating func replayAnswered(_ answer: ReplayAnswer) -> Action {
        guard case .marking(let held) = state else { return .stream }
        let reason: Reason? =
            switch answer {
            case .first, .graced: nil
            case .repeated: .replay
            case .full: .replayFull
            case .unavailable: .replayStore
            }
        if let reason, let stop = verification?.replayed(reason) { return finish(Refusal.answer(stop, on: route)) }
        return forward(held: held)
    }

    /// The exchange ends otherwise than decided here: the upstream, the client or a limit ended it.
    package mutating func ended(by reason: StopReason, decision: Decision) {
        self.reason = reason
        self.decision = decision
        state = .answered
    }

    // MARK: - Ways out

    /// The replay mark comes last, and only for a request that holds: a bad one must not burn a good token.
    ///
    /// A verdict that is let pass is no bad request: its token too is good for one.
    private mutating func mark(
        held: Bool, digest: SHA256.Digest?, _ request: RequestHead, _ context: ExchangeContext
    ) -> Action {
        guard let token, verification?.spendsToken == true, route.replay != .off else { return forward(held: held) }
        state = .marking(held: held)
        let leeway = plan.tokens.issuers.map(\.leeway).max() ?? 0
        let seconds = max(0, token.expiresAt &- context.now) &+ leeway &+ 1
        var grace: UInt64 = 0
        if case .onceWithGrace(let time) = route.replay, digest != nil { grace = time.nanoseconds }
        let key = token.replayKey
        return .mark(
            ReplayUse(
                key: .init(high: key.high, low: key.low), fingerprint: fingerprint(request, digest),
                life: UInt64(clamping: seconds) &* 1_000_000_000, grace: grace))
    }

    private func fingerprint(_ request: RequestHead, _ digest: SHA256.Digest?) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(request.bytes[request.method])
        hasher.combine(request.bytes[request.target])
        if let host = request.host { hasher.combine(request.bytes[host]) }
        if let digest { for index in digest.indices { hasher.combine(digest[index]) } }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private mutating func forward(held: Bool = false) -> Action {
        if let failed = verification?.reason {
            note(.verification(failed))
            // A route that opens when something is missing lets the request pass on purpose.
            if route.mode == .block, Refusal.isOpened(failed, on: route) { decision = .pass }
        }
        state = .forwarding
        return held ? .release : .stream
    }

    /// What would have stopped the request in `block`.
    private mutating func note(_ found: StopReason) {
        if reason == nil { reason = found }
        decision = .wouldBlock
    }

    private mutating func refuse(_ reason: StopReason, status: Int) -> Action {
        finish(Answer(.reject, reason, status: status))
    }

    private mutating func finish(_ answer: Answer) -> Action {
        reason = answer.reason
        decision = answer.decision
        state = .answered
        return .answer(answer)
    }
}

extension SHA256Hasher {
    /// The digest of what was hashed, leaving this hasher as it is.
    func finished() -> SHA256.Digest {
        var copy = self
        return copy.finish()
    }
}
