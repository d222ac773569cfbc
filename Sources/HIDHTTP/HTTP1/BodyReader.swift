// SPDX-License-Identifier: Apache-2.0

/// What one message's content may cost.
package struct BodyLimits: Sendable, Equatable {
    /// Octets of content, or nil for no limit; one more is 413.
    package var content: UInt64?
    /// Octets of the extensions of one chunk.
    package var chunkExtension: Int
    /// Octets of all chunk extensions of a message.
    package var chunkExtensions: Int
    /// Octets of the trailer section; one more is 431.
    package var trailerBytes: Int
    /// Lines of the trailer section; one more is 431.
    package var trailerFields: Int

    package init(
        content: UInt64? = nil, chunkExtension: Int = 1_024, chunkExtensions: Int = 16_384,
        trailerBytes: Int = 8_192, trailerFields: Int = 32
    ) {
        self.content = content
        self.chunkExtension = chunkExtension
        self.chunkExtensions = chunkExtensions
        self.trailerBytes = trailerBytes
        self.trailerFields = trailerFields
    }
}

/// What the reader made of the octets it was given.
package enum BodyStep: Sendable, Equatable {
    /// All octets are consumed (the count is theirs) and the message goes on.
    case needMore(consumed: Int)
    /// Octets of content; everything up to the upper bound is consumed. Call again, with the rest or with nothing.
    case data(Range<Int>)
    /// The message is over and the octets behind the consumed ones belong to the next. Repeats with 0.
    case end(consumed: Int)
    /// The message cannot be read on. Repeats.
    case bad(BodyFault)
}

/// What the end of the connection means for a message.
package enum EndOfStream: Sendable, Equatable {
    /// The message was whole, or ends here by its framing.
    case complete
    /// Octets are missing: the message must not be passed on as whole (RFC 9112 section 8).
    case truncated
}

/// Delimits the content of one message (RFC 9112 sections 6 and 7.1).
///
/// Octets are given once and forgotten: what a step consumed must not be given again. Chunk extensions are checked,
/// bounded and dropped; trailers are checked, bounded and kept apart. The answer does not depend on how the octets were
/// cut.
package struct BodyReader: Sendable {
    enum State {
        /// Octets of content that remain; for chunked, of this chunk.
        case length
        case untilClose
        case chunked(ChunkState)
        case ended
        case failed(BodyFault)
    }

    let limits: BodyLimits
    var state: State
    var remaining: UInt64 = 0
    /// Octets of content announced or delivered so far.
    private(set) var total: UInt64 = 0
    var chunk = ChunkLine()
    var trailer = TrailerScanner()
    /// The trailer section of a complete message: field lines as octets, each with its CRLF, in the order they came.
    package internal(set) var trailers: [UInt8] = []

    package init(framing: BodyFraming, limits: BodyLimits = BodyLimits()) {
        self.limits = limits
        switch framing {
        case .none, .length(0): state = .ended
        case .length(let length):
            state = .length
            remaining = length
            if let limit = limits.content, length > limit { state = .failed(.contentTooLarge) }
        case .chunked: state = .chunked(.size)
        case .untilClose: state = .untilClose
        }
    }

    /// Whether the message is over, so that the next octet belongs to another one.
    package var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// What it means that the connection ended here.
    package func atEndOfStream() -> EndOfStream {
        switch state {
        case .ended, .untilClose: .complete
        case .length, .chunked, .failed: .truncated
        }
    }

    /// Consumes octets up to the end of the next run of content.
    package mutating func next(_ bytes: Span<UInt8>) -> BodyStep {
        switch state {
        case .ended: .end(consumed: 0)
        case .failed(let fault): .bad(fault)
        case .length: nextOfLength(bytes)
        case .untilClose: nextUntilClose(bytes)
        case .chunked(let chunkState): nextOfChunked(bytes, chunkState)
        }
    }

    private mutating func nextOfLength(_ bytes: Span<UInt8>) -> BodyStep {
        guard !bytes.isEmpty else { return .needMore(consumed: 0) }
        let count = take(bytes.count)
        if remaining == 0 { state = .ended }
        return .data(0..<count)
    }

    private mutating func nextUntilClose(_ bytes: Span<UInt8>) -> BodyStep {
        guard !bytes.isEmpty else { return .needMore(consumed: 0) }
        guard announce(UInt64(bytes.count)) else { return fail(.contentTooLarge) }
        return .data(0..<bytes.count)
    }

    /// How many of the octets at hand belong to the run, which is shortened by them.
    mutating func take(_ available: Int) -> Int {
        let count = remaining < UInt64(available) ? Int(remaining) : available
        remaining -= UInt64(count)
        return count
    }

    /// Counts content that is known to come; false when it would pass the limit.
    mutating func announce(_ count: UInt64) -> Bool {
        let (sum, overflow) = total.addingReportingOverflow(count)
        total = overflow ? .max : sum
        return total <= limits.content ?? .max
    }

    mutating func fail(_ fault: BodyFault) -> BodyStep {
        state = .failed(fault)
        return .bad(fault)
    }
}
