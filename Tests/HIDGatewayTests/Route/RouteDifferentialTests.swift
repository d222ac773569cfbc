// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import Testing

@Suite struct RouteDifferentialTests {
    static let seeds = [
        "/api/v1/login", "/api/v1/checkout/pay", "/admin", "/admin/users", "/Legacy/Pay", "/users/7/password",
        "/public/x.png", "/public/../admin", "/a/b/../../api/v1/login", "/caf%C3%A9/menu", "/public/..%20/admin",
    ]
    static let pieces = [
        "/", "//", "/./", "/../", "/..", "..", ".", "/x/../", "%2e", "%2E%2e", "%20", "%20/", "+", ";a=b", "%3B", "%2F",
        "%5C", "\\", "%00", "%09", "?", "#", "%", "%25", ".json", ".json.gz", "...", "/.../", "%EF%BC%8F", "%EF%BC%8E",
        "%E2%80%A4", "%E2%80%A5", "%EF%BC%BC", "%E2%88%95", "%CD%BE", "%EF%BC%9F", "%EF%BC%9B", "%EF%BC%83",
        "%EF%BC%852e", "%E2%80%8B", "%C2%AD", "%C2%A0", "%E3%80%80", "%EF%BC%8F..%EF%BC%8F", "/..%20/", "/.%20./",
        "/%20../", "(S(x))/", "::$DATA", "*", "%C0%AE", "%C3%89", "~", "%2B", "/ADMIN/", "/public/",
    ]
    static let lookalikes: [UInt8: [String]] = [
        0x6B: ["%E2%84%AA", "%EF%BD%8B"], 0x73: ["%C5%BF", "%EF%BD%93"], 0x69: ["%C4%B1", "%E2%85%B0"],
        0x61: ["%EF%BD%81", "%E2%93%90", "%F0%9D%90%9A"], 0x2F: ["%EF%BC%8F", "%2F", "//"], 0x6E: ["%F0%9D%95%9F"],
        0x31: ["%C2%B9", "%E2%91%A0", "%F0%9D%9F%8F"], 0x2E: ["%2e", "%EF%BC%8E"], 0x6C: ["%E2%84%93"],
    ]

    static func rules() throws -> [RouteRule] {
        try [
            rule("/api/v1/login", critical: true), rule("/api/v1/checkout/**", critical: true),
            rule("/admin/**", critical: true), rule("/Legacy/Pay", critical: true),
            rule("/users/*/password", critical: true), rule("/caf%C3%A9/**", critical: true), rule("/**"),
            rule("/public/**"),
        ]
    }

    static func mutated(_ random: inout SeededGenerator) -> [UInt8] {
        var path = Array((seeds.randomElement(using: &random) ?? "/").utf8)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let index = Int.random(in: 0..<path.count, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                let digits = Array(String(path[index], radix: 16).utf8)
                if digits.count == 2 { path.replaceSubrange(index...index, with: [0x25] + digits) }
            case 1: path[index] = path[index] ^ (path[index] > 0x40 ? 0x20 : 0)
            case 2:
                guard let text = lookalikes[path[index]]?.randomElement(using: &random) else { continue }
                path.replaceSubrange(index...index, with: Array(text.utf8))
            case 3: path += Array((pieces.randomElement(using: &random) ?? "").utf8)
            case 4:
                path = [0x2F] + Array((pieces.randomElement(using: &random) ?? "").utf8) + path
            default:
                path.insert(contentsOf: Array((pieces.randomElement(using: &random) ?? "").utf8), at: index)
            }
        }
        return path.first == 0x2F ? path : [0x2F] + path
    }

    @Test(.timeLimit(.minutes(10)))
    func `whatever an upstream reads as critical is refused or needs the token`() throws {
        var random = SeededGenerator(state: 20_261_130)
        let rules = try Self.rules()
        let table = RouteTable(rules: rules)
        var scratch = RouteScratch()
        var misses = Set<String>()
        var counts = (refused: 0, critical: 0, read: 0)
        for _ in 0..<100_000 {
            let target = Self.mutated(&random)
            guard case .resolved(let route) = resolve(target, in: table, scratch: &scratch) else {
                counts.refused += 1
                continue
            }
            if let index = route.match.routeIndex, rules[index].isCritical {
                counts.critical += 1
                continue
            }
            counts.read += 1
            for model in UpstreamModel.all where model.isCritical(scratch.path) {
                misses.insert("\(model.name): \(text(target)) -> \(text(scratch.path))")
            }
        }
        #expect(misses.sorted().prefix(30).joined(separator: "\n") == "")
        #expect(counts.refused > 10_000 && counts.critical > 10_000 && counts.read > 10_000)
    }

    @Test(arguments: UpstreamModel.all.indices)
    func `each upstream model reads the plain critical paths`(index: Int) {
        for path in ["/api/v1/login", "/api/v1/checkout/pay", "/admin", "/Legacy/Pay", "/users/7/password"] {
            #expect(UpstreamModel.all[index].isCritical(Array(path.utf8)))
        }
        #expect(!UpstreamModel.all[index].isCritical(Array("/public/x".utf8)))
    }
}
