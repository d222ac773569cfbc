// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP
package import HIDVerifier

/// One rule, or the defaults, with every setting resolved: what the exchange looks at.
package struct RoutePlan: Sendable {
    /// The name of the rule; nil for the defaults.
    package let name: String?
    package let isCritical: Bool
    package let mode: Mode
    package let signatures: SignatureProfiles
    package let requiresSignature: Bool
    /// Index into `GatewayPlan.upstreams`.
    package let upstream: Int
    package let stripHeaders: [FieldName]
    package let verdicts: RouteRule.Verdicts
    package let replay: RouteRule.Replay
    package let onJWKSFailure: RouteRule.DependencyPolicy
    package let onReplayFailure: RouteRule.DependencyPolicy
    package let block: BlockAnswer
    package let methodsNotListed: RouteRule.MethodsNotListed
    package let allowsWebSocket: Bool
    /// Value of Allow for a method that is not listed.
    package let allow: String

    init(rule: RouteRule, defaults: DefaultsConfiguration, upstream: Int) {
        name = rule.name
        isCritical = rule.isCritical
        mode = rule.mode ?? defaults.mode
        var profiles: SignatureProfiles = []
        if rule.acceptsSignatureV1 { profiles.insert(.v1) }
        if rule.acceptsSignatureV2 { profiles.insert(.v2) }
        signatures = profiles
        requiresSignature = rule.requiresSignature
        self.upstream = upstream
        stripHeaders = rule.stripHeaders.map { FieldName(folding: $0.utf8) }
        verdicts = rule.verdicts
        replay = rule.replay
        onJWKSFailure = rule.onJWKSFailure
        onReplayFailure = rule.onReplayFailure
        block = rule.block ?? defaults.block
        methodsNotListed = rule.methodsNotListed
        allowsWebSocket = rule.upgrades.contains(.websocket)
        allow = rule.match.methods.joined(separator: ", ")
    }

    init(defaults: DefaultsConfiguration, upstream: Int) {
        name = nil
        isCritical = false
        mode = defaults.mode
        signatures = []
        requiresSignature = false
        self.upstream = upstream
        stripHeaders = []
        verdicts = RouteRule.Verdicts()
        replay = .off
        onJWKSFailure = .closed
        onReplayFailure = .closed
        block = defaults.block
        methodsNotListed = .pass
        allowsWebSocket = false
        allow = ""
    }

    /// Whether that verdict, or `blocked: true`, leads to a refusal on this route.
    func refuses(_ token: VerifiedToken) -> Bool {
        if token.isBlocked { return verdicts.blocked == .block }
        let action =
            switch token.verdict {
            case .human: verdicts.human
            case .suspicious: verdicts.suspicious
            case .bot: verdicts.bot
            case .blocked: verdicts.blocked
            case .unknown: RouteRule.VerdictAction.block
            }
        return action == .block
    }
}

/// Everything a request is judged by: one immutable snapshot, taken once for each request.
package final class GatewayPlan: Sendable {
    package let configuration: GatewayConfiguration
    package let table: RouteTable
    package let routes: [RoutePlan]
    package let fallback: RoutePlan
    /// Names of the upstreams, in the order of their indices.
    package let upstreams: [UpstreamConfiguration]
    package let tokens: TokenVerifier

    /// Compiles a checked configuration.
    ///
    /// `keys` are in the order of `configuration.issuers`; nil where none are usable.
    package init(configuration: GatewayConfiguration, keys: [KeySet?]) {
        self.configuration = configuration
        table = RouteTable(rules: configuration.routes, policy: configuration.defaults.pathPolicy)
        let upstreams = configuration.upstreams.values.sorted { $0.name < $1.name }
        let indices = Dictionary(uniqueKeysWithValues: upstreams.enumerated().map { ($0.element.name, $0.offset) })
        let defaults = configuration.defaults
        // The decoder has checked that every name exists.
        let standard = indices[defaults.upstream] ?? 0
        routes = configuration.routes.map { rule in
            let upstream = rule.upstream.flatMap { indices[$0] } ?? standard
            return RoutePlan(rule: rule, defaults: defaults, upstream: upstream)
        }
        fallback = RoutePlan(defaults: defaults, upstream: standard)
        self.upstreams = upstreams
        tokens = Self.verifier(configuration.issuers, keys)
    }

    /// The same rules with other keys.
    package init(_ other: GatewayPlan, keys: [KeySet?]) {
        configuration = other.configuration
        table = other.table
        routes = other.routes
        fallback = other.fallback
        upstreams = other.upstreams
        tokens = Self.verifier(other.configuration.issuers, keys)
    }

    private static func verifier(_ issuers: [IssuerConfiguration], _ keys: [KeySet?]) -> TokenVerifier {
        TokenVerifier(
            issuers: zip(issuers, keys).map { issuer, keys in
                IssuerPolicy(
                    issuer: issuer.issuer, audience: issuer.audience, leeway: issuer.leeway.components.seconds,
                    maximumLife: issuer.maximumLife.components.seconds, keys: keys)
            })
    }

    /// The plan of a match.
    package func route(_ match: RouteMatch) -> RoutePlan {
        match.routeIndex.map { routes[$0] } ?? fallback
    }
}
