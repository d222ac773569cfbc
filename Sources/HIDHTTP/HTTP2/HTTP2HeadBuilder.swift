// SPDX-License-Identifier: Apache-2.0

/// Turns the fields of one HTTP/2 request into the octets of the equivalent HTTP/1 head (RFC 9113 section 8.3).
///
/// Every octet is checked before it is written, and what was written goes through `RequestParser`: no later stage can
/// see a head that an HTTP/1 client could not have sent. Octets past a limit are counted, not kept.
struct HTTP2HeadBuilder {
    enum Outcome: Equatable {
        case head(RequestHead)
        /// The request is well-formed and too much for us; the status of the fault answers it.
        case refused(RequestFault)
        /// The stream is reset.
        case malformed(HTTP2Fault)
    }

    private enum Pseudo: Int {
        case method, path, scheme, authority, `protocol`
    }

    private static let names: [(FieldName, Pseudo)] = [
        (FieldName(":method"), .method), (FieldName(":path"), .path), (FieldName(":scheme"), .scheme),
        (FieldName(":authority"), .authority), (FieldName(":protocol"), .protocol),
    ]
    private static let cookie = FieldName("cookie")
    private static let settings = FieldName("http2-settings")
    /// What RFC 9113 section 6.5.2 adds to each field when it speaks of the size of a list.
    private static let overhead = 32

    private let limits: HeadLimits
    private var pseudo: [UInt8] = []
    private var ranges = [5 of Range<Int>?](repeating: nil)
    private var lines: [UInt8] = []
    private var cookies: [UInt8] = []
    private var host: [UInt8]?
    private var fieldCount = 0
    private var hasFields = false
    private var decoded = 0
    private var tooMuch: RequestFault?
    private var fault: HTTP2Fault?
    private var expects = false

    init(limits: HeadLimits) {
        self.limits = limits
    }

    // MARK: - Fields

    /// Takes the next field as it was decoded.
    mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        decoded += name.count + value.count + Self.overhead
        guard fault == nil, tooMuch == nil else { return }
        guard decoded <= limits.headBytes else { return tooMuch = .headTooLarge }
        if !name.isEmpty, name[0] == 0x3A { return addPseudo(name, value) }
        hasFields = true
        fault = HTTP2FieldRules.fault(name: name, value: value)
        if fault == nil { addField(name, value) }
    }

    private mutating func addPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard !hasFields else { return fault = .pseudoField }
        for (known, which) in Self.names where known.bytes.count == name.count {
            // An upper-case pseudo-field is an unknown one.
            var isSame = true
            for index in name.indices where name[index] != known.bytes[index] { isSame = false }
            guard isSame else { continue }
            guard ranges[which.rawValue] == nil else { return fault = .pseudoField }
            let start = pseudo.count
            pseudo.append(copying: value)
            ranges[which.rawValue] = start..<pseudo.count
            return
        }
        fault = .pseudoField
    }

    private mutating func addField(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        if Self.cookie.matches(name) {
            guard !value.isEmpty else { return }
            if !cookies.isEmpty { cookies.append(literal: "; ") }
            return cookies.append(copying: value)
        }
        if FieldName.host.matches(name) {
            guard host == nil else { return fault = .authority }
            var octets: [UInt8] = []
            octets.append(copying: value)
            return host = octets
        }
        if Self.settings.matches(name) { return }
        if FieldName.expect.matches(name) { expects = true }
        fieldCount += 1
        guard fieldCount <= limits.fields else { return tooMuch = .tooManyFields }
        lines.append(copying: name)
        lines.append(literal: ": ")
        lines.append(copying: value)
        lines.append(literal: "\r\n")
    }

    // MARK: - The end of the block

    /// Makes the head.
    ///
    /// - Parameter endsStream: Whether the header block ended the stream, so that no content follows.
    /// - Returns: The head, or why there is none; the builder is of no use afterwards.
    mutating func finish(endsStream: Bool) -> Outcome {
        if let fault { return .malformed(fault) }
        if let tooMuch { return .refused(tooMuch) }
        if let fault = checkPseudo() { return .malformed(fault) }
        var octets: [UInt8] = []
        octets.reserveCapacity(pseudo.count + lines.count + cookies.count + 64)
        write(into: &octets)
        var head = RequestHead()
        var parser = RequestParser(limits: limits)
        switch parser.parse(octets.span, into: &head) {
        case .needMore: return .malformed(.malformedHead)
        case .bad(let fault): return Self.outcome(fault)
        case .complete(let consumed):
            guard consumed == octets.count, isAsWritten(head) else { return .malformed(.malformedHead) }
        }
        if let fault = frame(&head, endsStream: endsStream) { return .malformed(fault) }
        return .head(head)
    }

    private static func outcome(_ fault: RequestFault) -> Outcome {
        switch fault {
        case .headTooLarge, .tooManyFields, .targetTooLong, .methodTooLong, .expectation: .refused(fault)
        case .methodBad: .malformed(.method)
        case .targetBadByte: .malformed(.path)
        case .hostBad, .hostMissing, .hostMultiple: .malformed(.authority)
        case .contentLengthBad, .contentLengthConflict, .contentLengthMultiple: .malformed(.contentLength)
        default: .malformed(.malformedHead)
        }
    }

    private func range(_ which: Pseudo) -> Range<Int>? { ranges[which.rawValue] }

    /// Whether the octets of a pseudo-field are exactly that.
    private func isText(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let octets = pseudo.span
        return text.withUTF8Buffer { literal in
            for index in literal.indices {
                guard unsafe literal[index] == octets[range.lowerBound + index] else { return false }
            }
            return true
        }
    }

    private func isToken(_ range: Range<Int>) -> Bool {
        let octets = pseudo.span
        return Token.isValid(octets.extracting(range))
    }

    private mutating func checkPseudo() -> HTTP2Fault? {
        guard let method = range(.method) else { return .pseudoField }
        guard isToken(method) else { return .method }
        if range(.protocol) != nil { return .connectProtocol }
        if let fault = checkAuthority() { return fault }
        if isText(method, "CONNECT") {
            let isWhole = range(.scheme) == nil && range(.path) == nil && range(.authority) != nil
            return isWhole ? nil : .pseudoField
        }
        guard let scheme = range(.scheme), let path = range(.path) else { return .pseudoField }
        guard isText(scheme, "https") || isText(scheme, "http") else { return .scheme }
        if isText(path, "*") { return isText(method, "OPTIONS") ? nil : .path }
        return checkPath(path)
    }

    private func checkPath(_ range: Range<Int>) -> HTTP2Fault? {
        let octets = pseudo.span
        let path = octets.extracting(range)
        guard !path.isEmpty, path[0] == 0x2F else { return .path }
        for index in path.indices where path[index] == 0x23 { return .path }
        return ByteClass.skip(ByteClass.target, in: path, from: 0, to: path.count) == path.count ? nil : .path
    }

    /// The authority stands for Host; when both are there they must be the same.
    private mutating func checkAuthority() -> HTTP2Fault? {
        guard let range = range(.authority) else {
            guard let host, HostSyntax.isValid(host.span) else { return .authority }
            return nil
        }
        let authority = Array(pseudo[range])
        guard HostSyntax.isValid(authority.span) else { return .authority }
        if let host, !ASCII.equalIgnoringCase(host.span, authority.span) { return .authority }
        host = authority
        return nil
    }

    private func write(into octets: inout [UInt8]) {
        let values = pseudo.span
        let authority = host ?? []
        if let method = range(.method) { octets.append(copying: values.extracting(method)) }
        octets.append(0x20)
        if let path = range(.path) { octets.append(copying: values.extracting(path)) } else { octets += authority }
        octets.append(literal: " HTTP/1.1\r\nhost: ")
        octets += authority
        octets.append(literal: "\r\n")
        octets += lines
        if !cookies.isEmpty {
            octets.append(literal: "cookie: ")
            octets += cookies
            octets.append(literal: "\r\n")
        }
        octets.append(literal: "\r\n")
    }

    /// Whether the parser found exactly the parts that were written.
    private func isAsWritten(_ head: RequestHead) -> Bool {
        let method = range(.method)?.count ?? 0
        let target = range(.path)?.count ?? host?.count ?? 0
        return head.method == 0..<method && head.target == (method + 1)..<(method + 1 + target)
            && head.fields.count == fieldCount + 1 + (cookies.isEmpty ? 0 : 1)
            && head.first(.transferEncoding) == nil && head.first(.connection) == nil
    }

    /// The stream delimits the content, whatever the head says; a length that is said must be the one that comes.
    private func frame(_ head: inout RequestHead, endsStream: Bool) -> HTTP2Fault? {
        guard !endsStream else {
            switch head.framing {
            case .none, .length(0): break
            default: return .contentLength
            }
            head.expectsContinue = false
            return nil
        }
        if head.framing == .none {
            // What follows has no length that is known: for those who pass it on this is the chunked coding.
            head.framing = .chunked
            head.expectsContinue = expects
        }
        return nil
    }
}
