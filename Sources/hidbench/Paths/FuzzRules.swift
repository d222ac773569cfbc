// SPDX-License-Identifier: Apache-2.0

import HIDGateway

/// A rule of the API behind the gateway, and the handler that it stands for.
struct FuzzRule: Sendable {
    /// As in a rule file; what upstreams compare with are its segments, decoded.
    let path: String
    var host: String?
    var methods: [String] = []
    var isCritical = true
    var upstream: String?
    var allowed: [AllowedSpelling] = []

    /// The rules of a run, the most specific ones first: in an upstream the first one that matches is the handler.
    static let all: [FuzzRule] = [
        FuzzRule(path: "/api/v1/login"),
        FuzzRule(path: "/orders", methods: ["POST", "PUT"]),
        FuzzRule(path: "/wire", host: "*.bank.test"),
        FuzzRule(path: "/Legacy/Pay"),
        FuzzRule(path: "/shops/*/items/*/buy"),
        FuzzRule(path: "/users/*/password"),
        FuzzRule(path: "/repos/*/secrets/**"),
        FuzzRule(path: "/api/v1/checkout/**"),
        FuzzRule(path: "/v2/public/**", isCritical: false),
        FuzzRule(path: "/transfer/**", host: "pay.test"),
        FuzzRule(path: "/admin/**"),
        FuzzRule(path: "/caf%C3%A9/**"),
        FuzzRule(path: "/v2/**"),
        FuzzRule(path: "/repos/**", allowed: [.encodedSlash, .encodedPercent, .semicolon]),
        FuzzRule(path: "/blobs/**", isCritical: false, upstream: "blobs", allowed: [.encodedSlash]),
        FuzzRule(path: "/files/**", isCritical: false, upstream: "files"),
        FuzzRule(path: "/public/**", isCritical: false),
        FuzzRule(path: "/**", methods: ["DELETE"]),
        FuzzRule(path: "/**", isCritical: false),
    ]

    /// The rules as the gateway has them.
    static func routes(of rules: [FuzzRule]) throws(PathPattern.Fault) -> [RouteRule] {
        var routes: [RouteRule] = []
        for rule in rules {
            let match = RouteRule.Match(
                host: rule.host, path: try PathPattern(parsing: rule.path), methods: rule.methods)
            var route = RouteRule(name: rule.path, match: match)
            route.isCritical = rule.isCritical
            route.upstream = rule.upstream
            route.allowedSpellings = rule.allowed
            routes.append(route)
        }
        return routes
    }
}

/// The handlers of an API, ready to be compared with what models read.
struct FuzzHandlers: Sendable {
    private enum Name: Sendable {
        case any
        case exactly([UInt8], lower: [UInt8])
    }
    private struct Handler: Sendable {
        let rule: FuzzRule
        let names: [Name]
        let takesBelow: Bool
    }

    private let handlers: [Handler]

    init(_ rules: [FuzzRule]) {
        handlers = rules.map { rule in
            let takesBelow = rule.path.hasSuffix("/**")
            let text = takesBelow ? String(rule.path.dropLast(3)) : rule.path
            let names = text.split(separator: "/").map { segment -> Name in
                if segment == "*" { return .any }
                let octets = PathSteps.decode(Array(segment.utf8))
                return .exactly(octets, lower: PathSteps.lowercased(octets))
            }
            return Handler(rule: rule, names: names, takesBelow: takesBelow)
        }
    }

    /// The rule whose handler runs for a path as a model reads it.
    ///
    /// `site` is the host as the upstream reads it; nil for one that says no site: then it serves the one that it likes.
    func handler(of path: [UInt8], ignoringCase: Bool, method: String, site: String?) -> FuzzRule? {
        let path = ignoringCase ? PathSteps.lowercased(path) : path
        for handler in handlers where Self.takes(handler.rule, method, site) {
            if Self.matches(handler, path, ignoringCase) { return handler.rule }
        }
        return nil
    }

    private static func takes(_ rule: FuzzRule, _ method: String, _ site: String?) -> Bool {
        guard rule.methods.isEmpty || rule.methods.contains(method) else { return false }
        guard let host = rule.host, let site else { return true }
        return host.hasPrefix("*.") ? site.hasSuffix(host.dropFirst()) : site == host
    }

    private static func matches(_ handler: Handler, _ path: [UInt8], _ ignoringCase: Bool) -> Bool {
        var start = 1
        for name in handler.names {
            guard start <= path.count else { return false }
            let end = path[start...].firstIndex(of: PathSteps.separator) ?? path.count
            switch name {
            case .any: guard end > start else { return false }
            case .exactly(let octets, let lower):
                guard path[start..<end].elementsEqual(ignoringCase ? lower : octets) else { return false }
            }
            start = end + 1
        }
        return handler.takesBelow || start > path.count
    }
}
