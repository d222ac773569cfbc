// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDHTTP
internal import HIDVerifier

/// What of a critical request holds, in the order of PROTOCOL section 5: cheap first, the replay mark last.
///
/// Every check that can still run is run, also when an earlier one failed in a mode that lets the request pass: an
/// expired token may be let through, an expired token with a forged signature may not.
struct RequestVerification {
    /// Nothing to do with the content: mark the token, then forward.
    enum Step: Equatable {
        case refuse(Reason)
        /// The signature is there: it can be judged once the content is known.
        case readContent
        case done
    }

    /// The first reason found: what the log tells.
    private(set) var reason: Reason?
    private(set) var token: VerifiedToken?
    /// Whether nothing is wrong but what the token says of its device: its one use is then used up.
    ///
    /// False for a bad request, which must not burn a good token.
    private(set) var spendsToken = true
    private var signature: SignatureHeader?
    private let route: RoutePlan

    init(route: RoutePlan) {
        self.route = route
    }

    /// Whether the content must be read before the request can be judged.
    var awaitsContent: Bool { signature != nil && token?.deviceKey != nil }

    /// Whether every check up to now held.
    var isClean: Bool { reason == nil }

    /// Judges everything that stands in the head.
    mutating func checkHead(
        _ request: RequestHead, _ headers: HIDHeaders, tokens: TokenVerifier, now: Int64, startSecond: Int64?
    ) -> Step {
        if let stop = note(countReason(headers) ?? sizeReason(headers)) { return .refuse(stop) }
        if let range = headers.token, headers.tokenCount == 1, !range.isEmpty {
            let check = tokens.check(request.bytes.span.extracting(range), now: now)
            token = check.token
            if let stop = note(check.reason) { return .refuse(stop) }
        } else if headers.tokenCount < 2, let stop = note(.tokenMissing) {
            return .refuse(stop)
        }
        if let token {
            if route.refuses(token), let stop = note(token.verdictReason() ?? .verdictBlock) { return .refuse(stop) }
            if let startSecond, route.replay != .off, token.issuedAt < startSecond, let stop = note(.beforeStart) {
                return .refuse(stop)
            }
        }
        if let stop = checkSignatureHeader(request, headers) { return .refuse(stop) }
        if let stop = checkDeviceKey() { return .refuse(stop) }
        return awaitsContent ? .readContent : .done
    }

    /// Remembers a reason; returns it when it stops the request in this mode.
    private mutating func note(_ found: Reason?) -> Reason? {
        guard let found else { return nil }
        if reason == nil { reason = found }
        if found != .verdictBlock, found != .verdictUnknown { spendsToken = false }
        return Refusal.refuses(found, on: route, token: token) ? found : nil
    }

    private func countReason(_ headers: HIDHeaders) -> Reason? {
        if headers.tokenCount > 1 { return .tokenMultiple }
        if headers.signatureCount > 1 { return .signatureMultiple }
        return nil
    }

    /// Sizes come before what stands in the headers; the token's own check begins with its size.
    private func sizeReason(_ headers: HIDHeaders) -> Reason? {
        guard headers.token != nil, let signature = headers.signature else { return nil }
        return signature.count > SignatureHeader.maximumLength ? .signatureTooLong : nil
    }

    private mutating func checkSignatureHeader(_ request: RequestHead, _ headers: HIDHeaders) -> Reason? {
        guard headers.signatureCount < 2 else { return nil }
        guard let range = headers.signature, !range.isEmpty else {
            return route.requiresSignature ? note(.signatureMissing) : nil
        }
        switch SignatureHeader.parse(request.bytes.span.extracting(range), accepting: route.signatures) {
        case .failure(let fault): return note(fault)
        case .success(let header):
            signature = header
            return nil
        }
    }

    /// A blocked token may come without a device key, and then no signature can be judged.
    ///
    /// A route that lets blocked devices pass must not let their requests pass unsigned; a token in monitoring is never
    /// refused for being blocked, so it passes and stays unverified.
    private mutating func checkDeviceKey() -> Reason? {
        guard let token, token.deviceKey == nil, signature != nil || route.requiresSignature else { return nil }
        return token.isMonitoring && token.refusesDevice ? nil : note(.deviceKey)
    }

    /// The content is over the limit and cannot be judged.
    ///
    /// Returns the reason when that stops the request.
    mutating func contentTooLarge() -> Reason? {
        signature = nil
        return note(.bodyTooLarge)
    }

    /// Judges the signature over the content.
    mutating func checkSignature(
        _ request: RequestHead, _ headers: HIDHeaders, digest: SHA256.Digest, verifier: SignatureVerifier
    ) -> Reason? {
        guard let signature, let key = token?.deviceKey, let tokenRange = headers.token else { return nil }
        let bytes = request.bytes.span
        let authority = request.host.map { request.bytes[$0].map(HIDHTTP.ASCII.lower) } ?? []
        return note(
            verifier.verify(
                signature, bodyDigest: digest.span, method: bytes.extracting(request.method),
                authority: authority.span, target: bytes.extracting(OriginForm.range(of: request)),
                tokenText: bytes.extracting(tokenRange), deviceKey: key.span))
    }

    /// What the replay store said.
    ///
    /// Returns the reason when that stops the request.
    mutating func replayed(_ reason: Reason) -> Reason? {
        note(reason)
    }
}

/// The request-target in origin-form, as it was sent: what the client signed (PROTOCOL section 4).
enum OriginForm {
    /// Where it stands in the head.
    ///
    /// An absolute-form target is read from its path on.
    static func range(of request: RequestHead) -> Range<Int> {
        let target = request.target
        let bytes = request.bytes
        guard let first = target.first, bytes[first] != 0x2F else { return target }
        var index = target.lowerBound
        var slashes = 0
        while index < target.upperBound {
            if bytes[index] == 0x2F { slashes += 1 }
            if slashes == 3 { return index..<target.upperBound }
            index += 1
        }
        return target
    }
}
