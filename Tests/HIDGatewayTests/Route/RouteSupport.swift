// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDTesting

func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }

func rule(
    _ path: String, host: String? = nil, methods: [String] = [], critical: Bool = false, name: String? = nil,
    notListed: RouteRule.MethodsNotListed = .refuse
) throws -> RouteRule {
    let match = RouteRule.Match(host: host, path: try PathPattern(parsing: path), methods: methods)
    var rule = RouteRule(name: name ?? path, match: match)
    rule.isCritical = critical
    rule.methodsNotListed = notListed
    return rule
}

/// The rules that the vectors are written for.
func vectorTable() throws -> RouteTable {
    RouteTable(rules: [
        try rule("/api/v1/login", critical: true), try rule("/api/v1/checkout/**", critical: true),
        try rule("/admin/**", critical: true), try rule("/public/**"),
    ])
}

func resolve(
    _ target: [UInt8], method: String = "GET", host: String = "api.example.test", in table: RouteTable,
    scratch: inout RouteScratch
) -> RouteResolution {
    let method = Array(method.utf8)
    let host = Array(host.utf8)
    return scratch.resolve(method: method.span, target: target.span, host: host.span, in: table)
}

func match(
    _ path: String, method: String = "GET", host: String = "api.example.test", in table: RouteTable
) -> RouteMatch? {
    var scratch = RouteScratch()
    let resolution = resolve(Array(path.utf8), method: method, host: host, in: table, scratch: &scratch)
    guard case .resolved(let route) = resolution else { return nil }
    return route.match
}
