// SPDX-License-Identifier: Apache-2.0

/// Reads response heads of an upstream, as strictly as a client's requests (RFC 9112 sections 4 to 6).
///
/// The answer to a given run of bytes does not depend on how it was cut. Interim responses and 101 come out like any
/// other; the caller decides what they mean. After `.bad` every further call repeats the fault.
package struct ResponseParser: Sendable {
    private enum Phase {
        case version
        case status
        case reason
        case fields
        case failed(ResponseFault)
    }

    private let limits: HeadLimits
    private var phase = Phase.version
    private var position = 0
    private var scanner = FieldScanner(position: 0)
    private var framing = FramingFields()

    package init(limits: HeadLimits = HeadLimits(fields: 200)) {
        self.limits = limits
    }

    /// Whether no octet of a response has come yet.
    package var isAtStart: Bool {
        if case .version = phase { position == 0 } else { false }
    }

    /// Makes ready for the next response of the connection.
    package mutating func reset() {
        phase = .version
        position = 0
        framing = FramingFields()
    }

    /// Looks at the octets that are new since the last call.
    ///
    /// - Parameters:
    ///   - bytes: Everything unread of the connection, with the same first octet until `.complete` or `.bad`.
    ///   - head: Filled step by step; whole only after `.complete`. It is reset at the start of a response.
    ///   - requestMethodIsHead: Whether the response answers HEAD and so has no content.
    /// - Returns: `.complete` once the empty line has come. The parser is then ready for the next response.
    package mutating func parse(
        _ bytes: Span<UInt8>, into head: inout ResponseHead, requestMethodIsHead: Bool
    ) -> HeadProgress<ResponseFault> {
        if position == 0 { head.reset() }
        let end = min(bytes.count, limits.headBytes)
        var fault = readLine(bytes, end, &head)
        if fault == nil, case .fields = phase {
            switch readFields(bytes, end, &head, requestMethodIsHead) {
            case .complete(let consumed): return .complete(consumed: consumed)
            case .bad(let found): fault = found
            case .needMore: break
            }
        }
        if fault == nil, bytes.count >= limits.headBytes { fault = .headTooLarge }
        guard let fault else { return .needMore }
        phase = .failed(fault)
        return .bad(fault)
    }

    private mutating func readLine(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout ResponseHead
    ) -> ResponseFault? {
        while position < end {
            switch phase {
            case .version:
                if let fault = readVersion(bytes[position], &head) { return fault }
            case .status:
                if let fault = readStatus(bytes[position], &head) { return fault }
            case .reason:
                let fault = readReason(bytes, end, &head)
                if fault != nil || position &+ 1 >= end { return fault }
            case .fields: return nil
            case .failed(let known): return known
            }
        }
        if case .failed(let known) = phase { return known }
        return nil
    }

    private mutating func readVersion(_ byte: UInt8, _ head: inout ResponseHead) -> ResponseFault? {
        if position == 8 {
            guard byte == 0x20 else { return .statusLine }
            phase = .status
        } else if Version.check(byte, at: position) != nil {
            return .statusLine
        } else if position == 5, byte != 0x31 {
            return .version
        } else if position == 7 {
            guard byte <= 0x31 else { return .version }
            head.minorVersion = byte &- 0x30
        }
        position &+= 1
        return nil
    }

    private mutating func readStatus(_ byte: UInt8, _ head: inout ResponseHead) -> ResponseFault? {
        if position == 12 {
            // The space is part of the grammar even when no reason follows (RFC 9112 section 4).
            guard byte == 0x20 else { return .statusLine }
            guard head.status >= 100, head.status <= 599 else { return .statusCode }
            phase = .reason
        } else {
            guard byte &- 0x30 < 10 else { return .statusLine }
            head.status = head.status &* 10 &+ Int(byte &- 0x30)
        }
        position &+= 1
        return nil
    }

    private mutating func readReason(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout ResponseHead
    ) -> ResponseFault? {
        position = bytes.skipFieldValue(from: position, to: end)
        guard position < end else { return nil }
        switch bytes[position] {
        case 0x0D:
            guard position &+ 1 < end else { return nil }
            guard bytes[position &+ 1] == 0x0A else { return .bareCR }
            head.reasonPhrase = 13..<position
            position &+= 2
            scanner = FieldScanner(position: position)
            phase = .fields
            return nil
        case 0x0A: return .bareLF
        default: return .statusLine
        }
    }

    private mutating func readFields(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout ResponseHead, _ isHead: Bool
    ) -> HeadProgress<ResponseFault> {
        while true {
            switch scanner.next(bytes, end: end) {
            case .needMore:
                return .needMore
            case .field(let field):
                if head.fields.count >= limits.fields { return .bad(.tooManyFields) }
                head.fields.append(field)
                if let fault = framing.note(field, bytes, minorVersion: head.minorVersion, policy: nil) {
                    return .bad(ResponseFault(fault))
                }
            case .bad(let fault):
                return .bad(ResponseFault(fault))
            case .end(let consumed):
                finish(&head, isHead)
                head.bytes.append(copying: bytes.extracting(0..<consumed))
                reset()
                return .complete(consumed: consumed)
            }
        }
    }

    /// RFC 9112 section 6.3, without its lenient branches.
    private func finish(_ head: inout ResponseHead, _ isHead: Bool) {
        if isHead || head.status < 200 || head.status == 204 || head.status == 304 {
            head.framing = .none
        } else if framing.isChunked {
            head.framing = .chunked
        } else if let length = framing.contentLength {
            head.framing = .length(length)
        } else {
            head.framing = .untilClose
        }
        head.isPersistent = framing.isPersistent(minorVersion: head.minorVersion) && head.framing != .untilClose
    }
}
