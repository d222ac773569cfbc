// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// What is expected of the tokens of one issuer.
public struct IssuerPolicy: Sendable {
    /// The exact value of `iss`.
    public let issuer: String
    /// The values of `aud` (app_ids) that are accepted; one of them must be in the token.
    public let audience: [String]
    /// Seconds by which the clocks of issuer and gateway may differ.
    public let leeway: Int64
    /// The greatest accepted `exp - iat` in seconds.
    public let maximumLife: Int64
    /// The issuer's keys; nil when they could not be loaded, so that nothing can be decided.
    public var keys: KeySet?

    private let issuerBytes: [UInt8]
    private let audienceBytes: [[UInt8]]

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - issuer: The exact value of `iss`.
    ///   - audience: The app_ids that are accepted; with none, every token is refused.
    ///   - leeway: Tolerated clock difference in seconds.
    ///   - maximumLife: The greatest accepted life of a token in seconds.
    ///   - keys: The issuer's keys, or nil when they are not available now.
    public init(issuer: String, audience: [String], leeway: Int64 = 5, maximumLife: Int64 = 60, keys: KeySet?) {
        self.issuer = issuer
        self.audience = audience
        self.leeway = max(0, leeway)
        self.maximumLife = maximumLife
        self.keys = keys
        issuerBytes = Array(issuer.utf8)
        audienceBytes = audience.map { Array($0.utf8) }
    }

    /// Whether `iss` is a string equal to the issuer, octet for octet.
    func isIssuer(of token: VerifiedToken) -> Bool {
        let json = token.json
        guard let node = json.member("iss", of: json.root) else { return false }
        return json.isText(node, issuerBytes.span)
    }

    /// Everything that is left to check once the issuer is known, in the order of PROTOCOL.md section 5.
    func judge(_ token: VerifiedToken, now: Int64) -> Reason? {
        guard isAudience(of: token) else { return .audience }
        if let reason = judgeTimes(token, now: now) { return reason }
        let needsKey = !token.refusesDevice
        return token.hasFaultyDeviceKey || (needsKey && token.deviceKey == nil) ? .deviceKey : nil
    }

    /// `aud` is a string or an array of strings (RFC 7519 section 4.1.3); an array with anything else is refused.
    private func isAudience(of token: VerifiedToken) -> Bool {
        let json = token.json
        guard let node = json.member("aud", of: json.root) else { return false }
        guard json.kind(node) == .array else { return isAccepted(node, in: json) }
        var isFound = false
        var next = json.firstElement(of: node)
        while let element = next {
            guard json.kind(element) == .string else { return false }
            isFound = isFound || isAccepted(element, in: json)
            next = json.element(after: element, in: node)
        }
        return isFound
    }

    private func isAccepted(_ node: StrictJSON.Node, in json: StrictJSON) -> Bool {
        audienceBytes.contains { json.isText(node, $0.span) }
    }

    /// `exp` is exclusive (RFC 7519 section 4.1.4); claims are not negative, so no difference overflows.
    private func judgeTimes(_ token: VerifiedToken, now: Int64) -> Reason? {
        let latest = Self.sum(now, leeway)
        if token.issuedAt > latest { return .issuedInFuture }
        let life = token.expiresAt - token.issuedAt
        if life < 0 || life > maximumLife { return .lifetime }
        if now >= Self.sum(token.expiresAt, leeway) { return .expired }
        if let notBefore = token.notBefore, notBefore > latest { return .notYet }
        return nil
    }

    private static func sum(_ time: Int64, _ seconds: Int64) -> Int64 {
        let (value, overflow) = time.addingReportingOverflow(seconds)
        return overflow ? .max : value
    }
}
