// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDGateway
import HIDService
import HIDVerifier

/// `hidctl routes test`: what the gateway would make of a request line, by its own resolver.
enum RouteTestVerb {
    static func run(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) throws(VerbError) {
        let method = RawArgument.octets(arguments.positionals[0])
        guard RequestWord.isToken(method) else {
            throw .usage("METHOD \(arguments.positionals[0].quoted) is no token of HTTP")
        }
        let request = try RouteTestRequest(
            method: method, url: RawArgument.octets(arguments.positionals[1]),
            host: arguments.value("host").map(RawArgument.octets))
        let plan = try Self.plan(arguments.value("config") ?? HidctlCommandLine.defaultConfiguration, &outcome)
        let answer = RouteTestAnswer(request, plan)
        if answer.refused != nil { outcome.exit = ExitCode.failure }
        if arguments.has("json") {
            outcome.print(answer.json.line)
        } else {
            answer.print(to: &outcome)
        }
    }

    /// The compiled configuration; its faults go to stderr.
    private static func plan(_ path: String, _ outcome: inout ControlOutcome) throws(VerbError) -> GatewayPlan {
        let (configuration, diagnostics) = GatewayConfiguration.load(path: path)
        outcome.stderr += diagnostics.rendered
        guard let configuration else { throw .failure("the configuration \(path.quoted) is faulty") }
        return GatewayPlan(configuration: configuration, keys: configuration.issuers.map { _ in nil })
    }
}

/// A request line and Host, octet for octet as the gateway would get them.
struct RouteTestRequest {
    var method: [UInt8]
    var target: [UInt8]
    /// Empty: a request without Host.
    var host: [UInt8]

    /// Without a host, an http(s) URL is cut as a client does; with one, `url` is the request-target of the wire.
    init(method: [UInt8], url: [UInt8], host: [UInt8]?) throws(VerbError) {
        self.method = method
        if let host {
            guard RequestWord.isOneLine(host) else { throw .usage("--host holds a line break") }
            (target, self.host) = (url, host)
        } else if let cut = GivenURL(url) {
            guard !cut.authority.isEmpty else { throw .usage("the URL has no host") }
            guard !cut.authority.contains(Octet.at) else {
                throw .usage("the URL holds user information, which no client sends in a request line")
            }
            (target, self.host) = (cut.target, cut.authority)
        } else {
            (target, self.host) = (url, [])
        }
    }
}

/// What the gateway would make of a request.
struct RouteTestAnswer {
    /// Why the request would be refused before any token is looked at.
    struct Refused {
        var code: String
        var status: Int
        var explanation: String

        init(_ reason: StopReason, status: Int) {
            code = reason.code
            explanation = reason.explanation
            self.status = status
        }
    }

    let request: RouteTestRequest
    /// nil for a target that is refused or has no canonical form.
    private(set) var canonical: [UInt8]?
    /// What the upstream gets in front of the query; nil for a target that is refused.
    private(set) var forwarded: [UInt8]?
    let policy: PathPolicy
    /// The widest key first; empty for `*`.
    private(set) var foldKeys: [[UInt8]] = []
    /// nil for a target that is refused.
    private(set) var match: RouteMatch?
    private(set) var isNormalised = false
    /// Whether the path has no canonical form and is forwarded as it came.
    private(set) var isUnchanged = false
    private(set) var route: RoutePlan?
    private(set) var rule: RouteRule?
    private(set) var upstream: UpstreamConfiguration?
    private(set) var refused: Refused?

    init(_ request: RouteTestRequest, _ plan: GatewayPlan) {
        self.request = request
        policy = plan.table.policy
        var scratch = RouteScratch()
        let (method, target, host) = (request.method.span, request.target.span, request.host.span)
        let resolution = scratch.resolve(method: method, target: target, host: host, in: plan.table)
        switch resolution {
        case .refused(let fault):
            refused = Refused(.target(fault), status: fault.status)
            foldKeys = Self.foldKeys { $0.fold(target: target, reading: $1) }
        case .resolved(let resolved):
            forwarded = scratch.path
            canonical = resolved.isAmbiguous ? nil : scratch.path
            if scratch.path != [Octet.asterisk] {
                foldKeys = Self.foldKeys { $0.fold(scratch.path.span, reading: $1) }
            }
            take(resolved, plan)
        }
        if Octets.equal(method, "TRACE") { refused = Refused(.gateway(.methodNotAllowed), status: 405) }
    }

    private mutating func take(_ resolved: ResolvedRoute, _ plan: GatewayPlan) {
        match = resolved.match
        isNormalised = resolved.isNormalised
        isUnchanged = resolved.isAmbiguous
        let route = plan.route(resolved.match)
        self.route = route
        rule = resolved.match.routeIndex.map { plan.configuration.routes[$0] }
        upstream = plan.upstreams.indices.contains(route.upstream) ? plan.upstreams[route.upstream] : nil
        guard resolved.match.methodNotListed, demandsToken, route.mode == .block, route.methodsNotListed == .refuse
        else {
            return
        }
        refused = Refused(.gateway(.methodNotListed), status: 405)
    }

    /// Whether the rule is about the method; nil without a rule.
    var isMethodListed: Bool? {
        guard let rule, let match else { return nil }
        guard match.kind == .fold, !rule.match.methods.isEmpty else { return !match.methodNotListed }
        // Nothing is refused for the method of a fold: the rule may be meant, so its token is demanded.
        let method = request.method.map(Octet.lowercased)
        let names = rule.match.methods + (rule.match.methods.contains("GET") ? ["HEAD"] : [])
        return names.contains { $0.utf8.map(Octet.lowercased) == method }
    }

    /// Whether token and signature are looked at; whether a refusal follows is a question of the mode.
    var demandsToken: Bool { route.map { $0.isCritical && $0.mode != .off } ?? false }
    var demandsSignature: Bool { demandsToken && route?.requiresSignature == true }
    var acceptedProfiles: [String] {
        guard let route, demandsToken else { return [] }
        return (route.signatures.contains(.v1) ? ["v1"] : []) + (route.signatures.contains(.v2) ? ["v2"] : [])
    }

    /// All readings of a path that differ, the widest one first.
    private static func foldKeys(_ fold: (inout PathFold, PathFold.Reading) -> Void) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var storage = PathFold()
        for reading in [.widest] + PathFold.Reading.narrower {
            fold(&storage, reading)
            if !keys.contains(storage.key) { keys.append(storage.key) }
        }
        return keys
    }
}

extension PathFold {
    /// Folds a request-target that may be refused, by one reading.
    fileprivate mutating func fold(target: Span<UInt8>, reading: Reading) {
        guard reading != .widest else { return fold(target: target) }
        var start = RequestTarget.endOfScheme(in: target) ?? 0
        while start > 0, start < target.count, target[start] != Octet.slash, target[start] != Octet.questionMark,
            target[start] != Octet.hash
        { start += 1 }
        fold(target.extracting(start..<target.count), reading: reading)
    }
}
