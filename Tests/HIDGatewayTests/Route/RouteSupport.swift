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

/// A small generator with a fixed seed (SplitMix64), so that a failure comes again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
