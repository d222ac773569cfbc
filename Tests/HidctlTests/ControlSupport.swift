// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting

@testable import hidctl

/// Runs hidctl at a fixed time.
func hidctl(_ arguments: String..., now: Int64 = 1_800_000_000, input: String = "") -> ControlOutcome {
    let environment = ControlEnvironment(now: { now }, readInput: { Array(input.utf8.prefix($0)) })
    return HidctlProgram.run(arguments: arguments, environment: environment)
}

/// A line of JSON that hidctl printed.
struct PrintedJSON {
    let json: StrictJSON

    init(_ text: String) throws {
        json = try StrictJSON(Array(text.utf8))
    }

    /// A member below objects and, by number, arrays; nil also for null.
    func text(_ path: StaticString...) -> String? {
        guard let node = node(path) else { return nil }
        return json.textBytes(node).map { String(decoding: $0, as: UTF8.self) }
    }

    func integer(_ path: StaticString...) -> Int64? { node(path).flatMap { json.integer($0) } }
    func boolean(_ path: StaticString...) -> Bool? { node(path).flatMap { json.boolean($0) } }

    private func node(_ path: [StaticString]) -> StrictJSON.Node? {
        var node = json.root
        for name in path {
            if let index = Int("\(name)"), json.elements(of: node).indices.contains(index) {
                node = json.elements(of: node)[index]
            } else if let next = json.member(name, of: node) {
                node = next
            } else {
                return nil
            }
        }
        return node
    }
}

/// A gateway configuration with the rules of the path vectors.
enum ControlConfiguration {
    static let gateway = """
        version: 1
        listeners: [{ address: 127.0.0.1:8080 }]
        upstreams: { api: { url: "http://127.0.0.1:9000" } }
        issuers: [{ issuer: "https://his.test", audience: [app-1], jwks: { file: jwks.json } }]
        defaults: { upstream: api, mode: monitoring }
        rules: [rules.yaml]

        """
    static let rules = """
        routes:
          - { name: login, match: { path: /api/v1/login }, critical: true, mode: block }
          - { name: checkout, match: { path: /api/v1/checkout/** }, critical: true }
          - { name: admin, match: { path: /admin/** }, critical: true }
          - { name: pay, match: { host: pay.test, path: /pay, methods: [POST] }, critical: true, mode: block }

        """

    static func folder(_ jwks: [UInt8] = []) throws -> ConfigurationFolder {
        try ConfigurationFolder([
            "gateway.yaml": gateway, "rules.yaml": rules, "jwks.json": String(decoding: jwks, as: UTF8.self),
        ])
    }
}
