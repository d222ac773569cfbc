// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDHTTP
internal import HIDVerifier

/// The head that goes to the upstream.
struct ForwardedRequest {
    let request: RequestHead
    /// The canonical path that was matched: exactly these octets are sent.
    let path: [UInt8]
    let query: Range<Int>
    let route: RoutePlan
    let token: VerifiedToken?
    /// Whether the request was checked, and whether everything held.
    let wasChecked: Bool
    let isVerified: Bool
    let requestID: [UInt8]
    let peer: PeerAddress
    /// Who sent it, as the gateway understands it.
    let client: PeerAddress
    let isBehindTrustedProxy: Bool
    /// nil for a client without TLS.
    let security: ConnectionSecurity?
    /// Sent as Host when the client sent none.
    let authority: [UInt8]
    let framing: BodyFraming
    /// Whether it asks to go on as a WebSocket.
    let isUpgrade: Bool

    private static let te = FieldName("te")
    private static let trailers = FieldName("trailers")
    private static let clientCertificate = FieldName("client-cert")
    private static let clientCertificateChain = FieldName("client-cert-chain")
    private static let forwardedPrefix = FieldName("x-forwarded-")
    private static let forwardedFor = FieldName("x-forwarded-for")
    private static let forwardedProto = FieldName("x-forwarded-proto")
    private static let forwardedHost = FieldName("x-forwarded-host")

    func write(into out: inout [UInt8]) {
        writeRequestLine(into: &out)
        writeClientFields(into: &out)
        writeForwarding(into: &out)
        writeResults(into: &out)
        switch framing {
        case .length(let length): HeadWriter.field("Content-Length", length, into: &out)
        case .chunked: HeadWriter.field("Transfer-Encoding", "chunked", into: &out)
        case .none, .untilClose: break
        }
        if isUpgrade {
            out.append(literal: "Connection: upgrade\r\nUpgrade: websocket\r\n")
        } else if acceptsTrailers {
            out.append(literal: "TE: trailers\r\nConnection: TE\r\n")
        }
        HeadWriter.endOfHead(into: &out)
    }

    /// Whether the client says that it reads trailers; transfer codings it may list beside do not cross a hop.
    private var acceptsTrailers: Bool {
        guard let first = request.first(Self.te) else { return false }
        let bytes = request.bytes.span
        if Self.trailers.matches(bytes.extracting(first.value)) { return true }
        for line in request.fields where Self.te.matches(bytes.extracting(line.name)) {
            for element in request.bytes[line.value].split(separator: 0x2C) {
                let word = element.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 && $0 != 0x3B }
                if Self.trailers.matches(Array(word).span) { return true }
            }
        }
        return false
    }

    private func writeRequestLine(into out: inout [UInt8]) {
        out.append(contentsOf: request.bytes[request.method])
        out.append(0x20)
        out.append(contentsOf: path)
        out.append(contentsOf: request.bytes[query])
        out.append(literal: " HTTP/1.1\r\n")
        if request.host == nil { field("Host", authority, into: &out) }
    }

    private func writeClientFields(into out: inout [UInt8]) {
        var named = ConnectionTokens()
        named.collect(from: request)
        let bytes = request.bytes.span
        for line in request.fields where !line.hasUnderscore {
            let name = bytes.extracting(line.name)
            if FieldNameTable.request.contains(name) || named.contains(line, of: request) { continue }
            if Self.forwardedPrefix.isPrefix(of: name) || isClaimOfCertificate(name) { continue }
            if HIDFields.isOurs(name), !HIDFields.token.matches(name), !HIDFields.signature.matches(name) { continue }
            if isStripped(name) { continue }
            HeadWriter.field(line, of: request, into: &out)
        }
    }

    /// Whether a field says which certificate the client showed (RFC 9440), and nobody says so who may.
    private func isClaimOfCertificate(_ name: Span<UInt8>) -> Bool {
        guard Self.clientCertificate.matches(name) || Self.clientCertificateChain.matches(name) else { return false }
        return !isBehindTrustedProxy || security?.clientCertificate != nil
    }

    private func isStripped(_ name: Span<UInt8>) -> Bool {
        for strip in route.stripHeaders where strip.matches(name) { return true }
        return false
    }

    /// X-Forwarded-* are made anew; only a trusted proxy's are carried on.
    private func writeForwarding(into out: inout [UInt8]) {
        out.append(literal: "X-Forwarded-For: ")
        if isBehindTrustedProxy {
            let bytes = request.bytes.span
            // A proxy that writes Forwarded alone has told who the client is there.
            if request.first(Self.forwardedFor) == nil, client != peer {
                client.append(to: &out)
                out.append(literal: ", ")
            }
            for line in request.fields where Self.forwardedFor.matches(bytes.extracting(line.name)) {
                guard !line.value.isEmpty else { continue }
                out.append(contentsOf: request.bytes[line.value])
                out.append(literal: ", ")
            }
        }
        peer.append(to: &out)
        out.append(literal: "\r\n")
        let proto = isBehindTrustedProxy ? request.first(Self.forwardedProto) : nil
        field(
            "X-Forwarded-Proto",
            proto.map { request.bytes[$0.value] } ?? ArraySlice((security == nil ? "http" : "https").utf8), into: &out)
        let host = isBehindTrustedProxy ? request.first(Self.forwardedHost)?.value : nil
        if let host = host ?? request.host { field("X-Forwarded-Host", request.bytes[host], into: &out) }
        field("X-Request-Id", requestID, into: &out)
        if let certificate = security?.clientCertificate {
            // A byte sequence of structured fields (RFC 9440 section 2.2, RFC 8941 section 3.3.5).
            field("Client-Cert", [0x3A] + Base64.encode(certificate.der.span) + [0x3A], into: &out)
        }
    }

    /// What the gateway found out (PROTOCOL section 6).
    private func writeResults(into out: inout [UInt8]) {
        guard wasChecked else { return }
        guard isVerified, let token else {
            return HeadWriter.field("X-HID-Verdict", "unverified", into: &out)
        }
        field("X-HID-Verdict", Array(token.effectiveVerdict.rawValue.utf8), into: &out)
        field("X-HID-Device", token.hid, into: &out)
        if let level = token.level { field("X-HID-Level", level, into: &out) }
    }

    private func field(_ name: StaticString, _ value: some Sequence<UInt8>, into out: inout [UInt8]) {
        let value = Array(value)
        // A value that cannot stand in a field (a claim with odd octets, say) is left out, never repaired.
        _ = HeadWriter.field(name, checking: value.span, into: &out)
    }
}

/// The fields of an upstream's answer that go to the client.
enum ForwardedResponse {
    static func write(_ response: ResponseHead, into out: inout [UInt8]) {
        var named = ConnectionTokens()
        named.collect(from: response)
        let bytes = response.bytes.span
        for line in response.fields {
            let name = bytes.extracting(line.name)
            if FieldNameTable.response.contains(name) || named.contains(line, of: response) { continue }
            HeadWriter.field(line, of: response, into: &out)
        }
    }

    /// The length an answer without content announces (HEAD, 304); 204 has none.
    static func announcedLength(_ response: ResponseHead) -> UInt64? {
        guard response.status != 204, let line = response.first(.contentLength) else { return nil }
        var length: UInt64 = 0
        for byte in response.bytes[line.value] {
            guard byte &- 0x30 < 10 else { return nil }
            let (product, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(byte &- 0x30))
            guard !overflow, !carry else { return nil }
            length = sum
        }
        return length
    }
}
