// SPDX-License-Identifier: Apache-2.0

import HIDGateway

/// What a gateway makes of a request.
enum FuzzJudgement {
    case refused
    /// A token is demanded.
    case demanded
    /// Exactly these octets go to that upstream; nil: the one of the defaults.
    case forwarded(path: [UInt8], upstream: String?, isAmbiguous: Bool)
}

/// Compares what a gateway lets pass without a token with what upstreams read in it.
struct PathFuzz {
    struct Report {
        var refused = 0
        var demanded = 0
        var forwarded = 0
        /// Of the forwarded ones, those that passed unchanged though they are ambiguous.
        var ambiguous = 0
        /// Critical paths that a model reads in what was forwarded; the first few.
        var misses: [String] = []
        /// Paths of another upstream that a model reads in an ambiguous path; the first few.
        var escapes: [String] = []
        /// The round of the first of either, or nil.
        var firstFailure: Int?

        mutating func add(_ text: String, round: Int, to list: WritableKeyPath<Report, [String]>) {
            if firstFailure == nil { firstFailure = round }
            if self[keyPath: list].count < 30 { self[keyPath: list].append(text) }
        }
    }

    static let rules = FuzzRule.all
    private static let handlers = FuzzHandlers(rules)

    var mutator: PathMutator
    /// Whether the first failure ends the run.
    var stopsAtFailure = false

    /// Sends requests to a gateway and what it forwards to every model.
    mutating func run(rounds: Int, judge: (FuzzRequest) -> FuzzJudgement) -> Report {
        var report = Report()
        for round in 0..<rounds {
            let request = mutator.next()
            switch judge(request) {
            case .refused: report.refused += 1
            case .demanded: report.demanded += 1
            case .forwarded(let path, let upstream, let isAmbiguous):
                report.forwarded += 1
                if isAmbiguous { report.ambiguous += 1 }
                compare(request, path, upstream, isAmbiguous, round, &report)
            }
            if stopsAtFailure, report.firstFailure != nil { break }
        }
        return report
    }

    private func compare(
        _ request: FuzzRequest, _ path: [UInt8], _ upstream: String?, _ isAmbiguous: Bool, _ round: Int,
        _ report: inout Report
    ) {
        let site = request.site
        for model in UpstreamModel.all {
            for reading in Self.readings(of: path, by: model) {
                let rule = Self.handlers.handler(
                    of: reading, ignoringCase: model.ignoresCase, method: request.method, site: site)
                let isCritical = rule?.isCritical == true
                guard isCritical || isAmbiguous && rule?.upstream != upstream else { continue }
                let text =
                    "\(model.name): \(request.method) \(request.host) \(Self.text(request.target)) -> "
                    + "\(Self.text(path)) is \(rule?.path ?? "nothing")"
                report.add(text, round: round, to: isCritical ? \.misses : \.escapes)
            }
        }
    }

    /// What the router of a model sees, and that without the extension.
    private static func readings(of path: [UInt8], by model: UpstreamModel) -> [[UInt8]] {
        let reading = model.read(path)
        guard model.dropsExtension, let dot = reading.lastIndex(of: 0x2E),
            let slash = reading.lastIndex(of: PathSteps.separator), dot > slash + 1
        else { return [reading] }
        return [reading, Array(reading[..<dot])]
    }

    static func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }
}

/// The gateway's own judgement, by its resolver.
struct ResolverJudge {
    private let rules: [RouteRule]
    private let table: RouteTable
    private var scratch = RouteScratch()

    init(policy: PathPolicy) throws(PathPattern.Fault) {
        rules = try FuzzRule.routes(of: PathFuzz.rules)
        table = RouteTable(rules: rules, policy: policy)
    }

    mutating func judge(_ request: FuzzRequest) -> FuzzJudgement {
        let (method, host) = (Array(request.method.utf8), Array(request.host.utf8))
        let resolution = scratch.resolve(
            method: method.span, target: request.target.span, host: host.span, in: table)
        guard case .resolved(let route) = resolution else { return .refused }
        let rule = route.match.routeIndex.map { rules[$0] }
        if rule?.isCritical == true { return .demanded }
        return .forwarded(path: scratch.path, upstream: rule?.upstream, isAmbiguous: route.isAmbiguous)
    }
}
