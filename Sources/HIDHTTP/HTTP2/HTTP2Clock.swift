// SPDX-License-Identifier: Apache-2.0

/// The deadlines of one HTTP/2 connection, in nanoseconds of its loop's clock.
struct HTTP2Clock {
    /// What is due for the connection as a whole.
    enum Due {
        /// Nothing at all was ever sent.
        case silent
        /// The preface or a header block is not whole.
        case header
        /// No stream is open.
        case idle
        /// The client has not answered the PING of a graceful end.
        case goodbye
        /// The socket takes nothing.
        case write
    }

    /// No deadline is looked for more often.
    static let shortest: UInt64 = 1_000_000
    /// How long a graceful end waits for the client to have seen it.
    private static let goodbyeTime: UInt64 = 1_000_000_000

    private let header: UInt64
    private let content: UInt64
    private let keepAlive: UInt64
    private let write: UInt64
    private let accepted: UInt64
    private var blockedSince: UInt64?
    private var shutdownSince: UInt64?
    /// Less than any timeout, so that a deadline that begins now is seen before it is over.
    let tick: UInt64

    init(settings: ServerSettings, now: UInt64) {
        header = settings.headerTimeout.nanoseconds
        content = settings.bodyIdleTimeout.nanoseconds
        keepAlive = settings.keepAliveTimeout.nanoseconds
        write = settings.writeTimeout.nanoseconds
        accepted = now
        let least = min(header, content, keepAlive, write)
        tick = max(Self.shortest, min(least / 4, 1_000_000_000))
    }

    mutating func blocked(at now: UInt64, hasProgressed: Bool) {
        if blockedSince == nil || hasProgressed { blockedSince = now }
    }

    mutating func unblocked() {
        blockedSince = nil
    }

    mutating func shutdownBegan(at now: UInt64) {
        if shutdownSince == nil { shutdownSince = now }
    }

    private func idleSince(_ session: HTTP2Session) -> UInt64 { max(accepted, session.lastStreamEnd) }

    /// The most urgent thing that is due now.
    func due(_ session: HTTP2Session, isBlocked: Bool, at now: UInt64) -> Due? {
        if isBlocked, let blockedSince, now >= blockedSince &+ write { return .write }
        if !session.isReady, now >= accepted &+ header { return session.hasReceived ? .header : .silent }
        if let start = session.headerBlockSince, now >= start &+ header { return .header }
        guard !session.hasSaidGoodbye else { return nil }
        if let shutdownSince, now >= shutdownSince &+ Self.goodbyeTime { return .goodbye }
        return session.hasNoStreams && now >= idleSince(session) &+ keepAlive ? .idle : nil
    }

    /// Whether content that is expected has not come for too long.
    func isContentLate(_ stream: HTTP2Stream, at now: UInt64) -> Bool {
        now >= stream.lastInput &+ content
    }

    /// Whether the client has opened no window for an answer for too long.
    func isAnswerStuck(_ stream: HTTP2Stream, at now: UInt64) -> Bool {
        stream.hasWaitingOutput && !stream.isOver && now >= stream.lastOutput &+ write
    }

    /// When to look again.
    func next(_ session: HTTP2Session, isBlocked: Bool, at now: UInt64) -> UInt64 {
        var next = UInt64.max
        if isBlocked, let blockedSince { next = min(next, blockedSince &+ write) }
        if !session.isReady { next = min(next, accepted &+ header) }
        if let start = session.headerBlockSince { next = min(next, start &+ header) }
        if let shutdownSince, !session.hasSaidGoodbye { next = min(next, shutdownSince &+ Self.goodbyeTime) }
        if session.hasNoStreams { next = min(next, idleSince(session) &+ keepAlive) }
        for stream in session.openStreams {
            if !stream.isRequestComplete { next = min(next, max(stream.lastInput &+ content, now &+ tick)) }
            if stream.hasWaitingOutput { next = min(next, max(stream.lastOutput &+ write, now &+ tick)) }
        }
        return min(next, now &+ max(tick, keepAlive))
    }
}
