// SPDX-License-Identifier: Apache-2.0
import HIDHTTP

/// Everything the codec made of one client connection.
struct Replay: Equatable {
    struct Message: Equatable {
        var head: RequestHead
        var content: [UInt8] = []
        var isWhole = false
    }

    enum Outcome: Equatable {
        /// Every octet belongs to a whole message.
        case idle
        /// The octets end inside a message.
        case truncated
        case refused(code: String, status: Int)
    }

    var messages: [Message] = []
    var outcome = Outcome.idle
}

/// Plays octets into the codec as a connection does.
struct ReplayConnection {
    private var parser: RequestParser
    private var head = RequestHead()
    private var body: BodyReader?
    private var bodyLimits: BodyLimits
    private var start = 0
    private var result = Replay()

    init(limits: HeadLimits = .test, body: BodyLimits = BodyLimits()) {
        parser = RequestParser(limits: limits)
        bodyLimits = body
    }

    /// Plays octets cut at the given offsets and says what came out.
    static func play(
        _ octets: [UInt8], cuts: some Sequence<Int>, limits: HeadLimits = .test, body: BodyLimits = BodyLimits()
    ) -> Replay {
        var connection = ReplayConnection(limits: limits, body: body)
        for cut in cuts { connection.feed(octets, upTo: cut) }
        connection.feed(octets, upTo: octets.count)
        return connection.finish(octets)
    }

    private mutating func feed(_ octets: [UInt8], upTo end: Int) {
        let all = octets.span
        while true {
            if case .refused = result.outcome { return }
            let rest = all.extracting(start..<end)
            let goesOn = body == nil ? readHead(rest) : readBody(rest)
            if !goesOn { return }
        }
    }

    private mutating func readHead(_ rest: Span<UInt8>) -> Bool {
        switch parser.parse(rest, into: &head) {
        case .needMore:
            return false
        case .complete(let consumed):
            start += consumed
            result.messages.append(Replay.Message(head: head))
            body = BodyReader(framing: head.framing, limits: bodyLimits)
            return true
        case .bad(let fault):
            result.outcome = .refused(code: fault.code, status: fault.status)
            return false
        }
    }

    private mutating func readBody(_ rest: Span<UInt8>) -> Bool {
        guard let step = body?.next(rest) else { return false }
        let last = result.messages.count - 1
        switch step {
        case .needMore(let consumed):
            start += consumed
            return false
        case .data(let range):
            for index in range { result.messages[last].content.append(rest[index]) }
            start += range.upperBound
            return true
        case .end(let consumed):
            start += consumed
            result.messages[last].isWhole = true
            body = nil
            return true
        case .bad(let fault):
            result.outcome = .refused(code: fault.code, status: fault.status)
            return false
        }
    }

    private func finish(_ octets: [UInt8]) -> Replay {
        var result = result
        if case .refused = result.outcome { return result }
        if body != nil || !parser.isAtStart { result.outcome = .truncated }
        return result
    }
}

extension HeadLimits {
    /// The defaults with the names this product protects.
    static let test = HeadLimits(connection: ConnectionPolicy(prefixes: [FieldName("X-HID-")]))
}

/// Ways to cut octets: whole, one by one, and once at every offset (at 64 offsets when there are many).
func everyCut(of count: Int) -> [[Int]] {
    let step = count <= 2_000 ? 1 : max(1, count / 64)
    return [[], Array(0...count)] + stride(from: 1, to: max(count, 2), by: step).map { [$0] }
}

extension Replay {
    /// The result, which must be the same for every cut; nil when it is not.
    static func ofEveryCut(_ octets: [UInt8]) -> Replay? {
        let whole = ReplayConnection.play(octets, cuts: [])
        for cuts in everyCut(of: octets.count) where ReplayConnection.play(octets, cuts: cuts) != whole { return nil }
        return whole
    }
}
