// SPDX-License-Identifier: Apache-2.0

/// Reads one request head after the other from bytes that arrive in any pieces (RFC 9112 sections 2 to 7).
///
/// The answer to a given run of bytes does not depend on how it was cut. Nothing here judges the request-target
/// beyond its bytes, or the method beyond its form. After `.bad` the connection is over: every further call
/// repeats the fault.
package struct RequestParser: Sendable {
    private enum Phase {
        case start
        case method
        case target
        case version
        case fields
        case failed(RequestFault)
    }

    private let limits: HeadLimits
    private var phase = Phase.start
    private var position = 0
    /// Where the part of the request line now being read begins.
    private var partStart = 0
    /// Octets before the method: 0, or 2 for one empty line (RFC 9112 section 2.2).
    private var lead = 0
    private var version: (major: UInt8, minor: UInt8) = (0, 0)
    private var scanner = FieldScanner(position: 0)
    private var framing = FramingFields()
    private var isExpecting = false

    package init(limits: HeadLimits = HeadLimits()) {
        self.limits = limits
    }

    /// Whether no octet of a request has come yet; an empty line before it does not count.
    package var isAtStart: Bool {
        if case .start = phase { true } else { false }
    }

    /// Makes ready for the next request of the connection.
    package mutating func reset() {
        phase = .start
        position = 0
        partStart = 0
        lead = 0
        framing = FramingFields()
        isExpecting = false
    }

    /// Looks at the octets that are new since the last call.
    ///
    /// - Parameters:
    ///   - bytes: Everything unread of the connection, with the same first octet until `.complete` or `.bad`.
    ///   - head: Filled step by step; whole only after `.complete`. It is reset at the start of a request.
    /// - Returns: `.complete` once the empty line has come. The parser is then ready for the next request.
    package mutating func parse(_ bytes: Span<UInt8>, into head: inout RequestHead) -> HeadProgress<RequestFault> {
        if case .start = phase { head.reset() }
        let end = min(bytes.count, limits.headBytes)
        var fault = readLine(bytes, end, &head)
        if fault == nil, case .fields = phase {
            switch readFields(bytes, end, &head) {
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

    // MARK: - Request line

    private mutating func readLine(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout RequestHead
    ) -> RequestFault? {
        while position < end {
            let before = position
            let fault: RequestFault?
            switch phase {
            case .start: fault = start(bytes, end)
            case .method: fault = readMethod(bytes, end, &head)
            case .target: fault = readTarget(bytes, end, &head)
            case .version: fault = readVersion(bytes, end, &head)
            case .fields: return nil
            case .failed(let known): return known
            }
            if let fault { return fault }
            if position == before, position &+ 1 >= end { return nil }
        }
        if case .failed(let known) = phase { return known }
        return nil
    }

    private mutating func start(_ bytes: Span<UInt8>, _ end: Int) -> RequestFault? {
        switch bytes[position] {
        case 0x0D:
            guard lead == 0 else { return .requestLine }
            guard position &+ 1 < end else { return nil }
            guard bytes[position &+ 1] == 0x0A else { return .bareCR }
            lead = 2
            position = 2
            return nil
        case 0x0A:
            return .bareLF
        case 0x20, 0x09:
            return .requestLine
        case let byte where ByteClass.contains(byte, ByteClass.token):
            partStart = position
            phase = .method
            return nil
        default:
            return .methodBad
        }
    }

    private mutating func readMethod(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout RequestHead
    ) -> RequestFault? {
        let stop = min(end, partStart &+ limits.method &+ 1)
        position = ByteClass.skip(ByteClass.token, in: bytes, from: position, to: stop)
        if position &- partStart > limits.method { return .methodTooLong }
        guard position < end else { return nil }
        switch bytes[position] {
        case 0x20:
            head.method = partStart..<position
            position &+= 1
            partStart = position
            phase = .target
            return nil
        case 0x0D: return lineEnd(bytes, end, otherwise: .requestLine)
        case 0x0A: return .bareLF
        case 0x09: return .requestLine
        default: return .methodBad
        }
    }

    private mutating func readTarget(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout RequestHead
    ) -> RequestFault? {
        let stop = min(end, partStart &+ limits.target &+ 1)
        position = ByteClass.skip(ByteClass.target, in: bytes, from: position, to: stop)
        if position &- partStart > limits.target { return .targetTooLong }
        guard position < end else { return nil }
        let isEmpty = position == partStart
        switch bytes[position] {
        case 0x20:
            if isEmpty { return .requestLine }
            head.target = partStart..<position
            position &+= 1
            partStart = position
            phase = .version
            return nil
        case 0x0D: return lineEnd(bytes, end, otherwise: isEmpty ? .requestLine : .version)
        case 0x0A: return .bareLF
        default: return .targetBadByte
        }
    }

    private mutating func readVersion(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout RequestHead
    ) -> RequestFault? {
        while position < end {
            let offset = position &- partStart
            let byte = bytes[position]
            if byte == 0x0D {
                guard offset == 8 else { return lineEnd(bytes, end, otherwise: offset == 0 ? .requestLine : .version) }
                guard position &+ 1 < end else { return nil }
                return bytes[position &+ 1] == 0x0A ? finishLine(&head) : .bareCR
            }
            if let fault = Version.check(byte, at: offset) { return fault }
            if offset == 5 { version.major = byte &- 0x30 }
            if offset == 7 { version.minor = byte &- 0x30 }
            position &+= 1
        }
        return nil
    }

    private mutating func finishLine(_ head: inout RequestHead) -> RequestFault? {
        if version.major == 0 { return .version }
        guard version.major == 1, version.minor <= 1 else { return .versionUnsupported }
        head.minorVersion = version.minor
        position &+= 2
        scanner = FieldScanner(position: position)
        phase = .fields
        return nil
    }

    /// A CR where it cannot be: the octet behind it tells a short line from a bare CR.
    private func lineEnd(_ bytes: Span<UInt8>, _ end: Int, otherwise fault: RequestFault) -> RequestFault? {
        guard position &+ 1 < end else { return nil }
        return bytes[position &+ 1] == 0x0A ? fault : .bareCR
    }

    // MARK: - Fields

    private mutating func readFields(
        _ bytes: Span<UInt8>, _ end: Int, _ head: inout RequestHead
    ) -> HeadProgress<RequestFault> {
        while true {
            switch scanner.next(bytes, end: end) {
            case .needMore:
                return .needMore
            case .field(let field):
                if head.fields.count >= limits.fields { return .bad(.tooManyFields) }
                head.fields.append(field)
                if let fault = note(field, bytes, &head) { return .bad(fault) }
            case .bad(let fault):
                return .bad(RequestFault(fault))
            case .end(let consumed):
                if let fault = finish(&head) { return .bad(fault) }
                head.bytes.append(copying: bytes.extracting(0..<consumed))
                reset()
                return .complete(consumed: consumed)
            }
        }
    }

    private mutating func note(_ field: FieldLine, _ bytes: Span<UInt8>, _ head: inout RequestHead) -> RequestFault? {
        let value = bytes.extracting(field.value)
        switch field.name.count {
        case 4:
            guard FieldName.host.matches(bytes.extracting(field.name)) else { return nil }
            guard head.host == nil else { return .hostMultiple }
            guard HostSyntax.isValid(value) else { return .hostBad }
            head.host = field.value
        case 6:
            guard FieldName.expect.matches(bytes.extracting(field.name)) else { return nil }
            guard KnownToken.continueExpectation.matches(value) else { return .expectation }
            isExpecting = true
        default:
            let minor = head.minorVersion
            return framing.note(field, bytes, minorVersion: minor, policy: limits.connection).map(RequestFault.init)
        }
        return nil
    }

    private func finish(_ head: inout RequestHead) -> RequestFault? {
        if head.host == nil, head.minorVersion == 1 { return .hostMissing }
        if framing.isChunked {
            head.framing = .chunked
        } else if let length = framing.contentLength {
            head.framing = .length(length)
        }
        head.isPersistent = framing.isPersistent(minorVersion: head.minorVersion)
        // RFC 9110 section 10.1.1: ignored in HTTP/1.0, and pointless when no content follows.
        let hasContent = head.framing != .none && head.framing != .length(0)
        head.expectsContinue = isExpecting && hasContent && head.minorVersion == 1
        return nil
    }
}

/// `HTTP-version` of RFC 9112 section 2.3, octet by octet.
enum Version {
    /// What is wrong with that octet of the third part of a request line, CR apart.
    static func check(_ byte: UInt8, at offset: Int) -> RequestFault? {
        let isRight =
            switch offset {
            case 0: byte == 0x48
            case 1, 2: byte == 0x54
            case 3: byte == 0x50
            case 4: byte == 0x2F
            case 5, 7: byte &- 0x30 < 10
            case 6: byte == 0x2E
            default: false
            }
        if isRight { return nil }
        if byte == 0x0A { return .bareLF }
        if byte == 0x20 || byte == 0x09 { return .requestLine }
        // A part that does not even begin like a version is a fourth part: the target held a space.
        return offset == 0 && byte != 0x68 ? .requestLine : .version
    }
}
