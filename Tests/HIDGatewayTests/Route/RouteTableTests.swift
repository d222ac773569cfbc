// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import Testing

@Suite struct RouteTableTests {
    struct Precedence: Sendable, CustomTestStringConvertible {
        var request: String
        var expected: String?
        var method = "GET"
        var host = "other.test"
        var testDescription: String { "\(method) \(host)\(request)" }
    }

    static let precedences = [
        Precedence(request: "/a/b", expected: "exact"),
        Precedence(request: "/a/c", expected: "/a/*"),
        Precedence(request: "/a/b/c", expected: "/a/*/c"),
        Precedence(request: "/a/b/d", expected: "/a/b/**"),
        Precedence(request: "/a/x/d", expected: "/a/**"),
        Precedence(request: "/a", expected: "/a/**"),
        Precedence(request: "/a/", expected: "/a/**"),
        Precedence(request: "/ab", expected: "/**"),
        Precedence(request: "/", expected: "/**"),
        Precedence(request: "/h", expected: "no host"),
        Precedence(request: "/h", expected: "wildcard host", host: "x.example.com"),
        Precedence(request: "/h", expected: "wildcard host", host: "x.y.example.com"),
        Precedence(request: "/h", expected: "longer wildcard", host: "x.deep.example.com"),
        Precedence(request: "/h", expected: "no host", host: "example.com"),
        Precedence(request: "/h", expected: "no host", host: "badexample.com"),
        Precedence(request: "/h", expected: "host", host: "api.example.com"),
        Precedence(request: "/h", expected: "host and method", method: "PUT", host: "API.example.com.:8443"),
        Precedence(request: "/h/i", expected: "longer, no host", host: "api.example.com"),
        Precedence(request: "/h/j", expected: "host pattern", host: "api.example.com"),
    ]

    static func precedenceRules() throws -> [RouteRule] {
        try [
            rule("/**"), rule("/a/**"), rule("/a/b/**"), rule("/a/*"), rule("/a/*/c"), rule("/a/b", name: "exact"),
            rule("/a/b", name: "later twin"),
            rule("/h", name: "no host"), rule("/h", host: "*.example.com", name: "wildcard host"),
            rule("/h", host: "*.deep.example.com", name: "longer wildcard"),
            rule("/h", host: "api.example.com", name: "host"),
            rule("/h", host: "api.example.com", methods: ["PUT"], name: "host and method"),
            rule("/h/**", host: "api.example.com", name: "host pattern"), rule("/h/i", name: "longer, no host"),
        ]
    }

    @Test(arguments: precedences)
    func `the most specific route wins`(row: Precedence) throws {
        let rules = try Self.precedenceRules()
        for order in [rules, rules.filter { $0.name != "later twin" }.reversed()] {
            let found = match(row.request, method: row.method, host: row.host, in: RouteTable(rules: order))
            #expect(found?.routeIndex.map { order[$0].name } == row.expected)
            #expect(found?.kind == .canonical && found?.methodNotListed == false)
        }
    }

    @Test func `no route matches where none is written`() throws {
        let table = RouteTable(rules: [try rule("/a/*", critical: true)])
        #expect(match("/b", in: table) == RouteMatch.none)
        #expect(match("/a", in: table) == RouteMatch.none)
        #expect(match("/a/", in: table) == RouteMatch.none)
        #expect(match("/a/b/c", in: table) == RouteMatch.none)
        #expect(match("*", method: "OPTIONS", in: table) == RouteMatch.none)
        #expect(match("/a", in: RouteTable(rules: [])) == RouteMatch.none)
    }

    @Test func `a method that a critical rule does not list is refused whatever wider routes take it`() throws {
        let rules = try [
            rule("/login", methods: ["POST"], critical: true), rule("/**"), rule("/*"),
            rule("/**", methods: ["PUT"], critical: true, name: "critical catch-all"),
        ]
        let table = RouteTable(rules: rules)
        #expect(match("/login", method: "POST", in: table)?.methodNotListed == false)
        for method in ["GET", "PUT", "HEAD", "DELETE", "PROPFIND", "OPTIONS"] {
            let found = match("/login", method: method, in: table)
            #expect(found == RouteMatch(routeIndex: 0, kind: .canonical, methodNotListed: true))
        }
    }

    @Test func `a rule for the same path and host takes the methods that the critical one leaves`() throws {
        let rules = try [
            rule("/login", methods: ["POST"], critical: true), rule("/login"),
            rule("/shop", host: "a.test", methods: ["POST"], critical: true), rule("/shop"),
        ]
        let table = RouteTable(rules: rules)
        #expect(match("/login", method: "GET", in: table)?.routeIndex == 1)
        #expect(match("/login", method: "POST", in: table)?.routeIndex == 0)
        #expect(match("/shop", method: "GET", host: "a.test", in: table)?.methodNotListed == true)
        #expect(match("/shop", method: "GET", host: "b.test", in: table)?.routeIndex == 3)
    }

    @Test func `a rule that lets other methods pass is not there for them`() throws {
        let rules = try [rule("/login", methods: ["POST"], critical: true, notListed: .pass), rule("/**")]
        let table = RouteTable(rules: rules)
        #expect(match("/login", method: "GET", in: table)?.routeIndex == 1)
        #expect(match("/LOGIN", method: "GET", in: table)?.routeIndex == 1)
        #expect(match("/login", method: "POST", in: table)?.routeIndex == 0)
        #expect(match("/LOGIN", method: "POST", in: table)?.kind == .fold)
    }

    @Test func `HEAD counts as GET, and another spelling of a method never leaves a critical rule`() throws {
        let rules = try [
            rule("/a", methods: ["GET"], critical: true), rule("/a"), rule("/b", methods: ["GET"]),
            rule("/c", methods: ["PURGE", "POST"], critical: true), rule("/c"),
        ]
        let table = RouteTable(rules: rules)
        #expect(match("/a", method: "HEAD", in: table)?.routeIndex == 0)
        #expect(match("/a", method: "get", in: table)?.routeIndex == 0)
        #expect(match("/a", method: "POST", in: table)?.routeIndex == 1)
        #expect(match("/b", method: "HEAD", in: table)?.routeIndex == 2)
        #expect(match("/b", method: "get", in: table) == RouteMatch.none)
        #expect(match("/c", method: "Purge", in: table)?.routeIndex == 3)
        #expect(match("/c", method: "post", in: table)?.routeIndex == 3)
        #expect(match("/c", method: "PURG", in: table)?.routeIndex == 4)
    }

    @Test(arguments: [
        "api.example.com", "API.Example.COM", "api.example.com.", "api.example.com:80", "api.example.com:443",
        "api.example.com:8443", "api.example.com.:8443", "api.example.com..", "api.example.com:",
    ])
    func `every form of a host leads to its critical rule`(host: String) throws {
        let exact = RouteTable(rules: [try rule("/login", host: "api.example.com", critical: true)])
        let below = RouteTable(rules: [try rule("/login", host: "*.example.com", critical: true)])
        for table in [exact, below] {
            #expect(match("/login", host: host, in: table)?.kind == .canonical)
            #expect(match("/LOGIN", host: host, in: table)?.kind == .fold)
        }
    }

    @Test(arguments: [
        "", ":8080", "127.0.0.1", "[::1]:80", "api%2eexample.com", "api.example.com,x", ".", "a..b", "a b",
    ])
    func `a host that names no site may mean every critical rule`(host: String) throws {
        let rules = try [rule("/login", host: "api.example.com", critical: true), rule("/**")]
        let table = RouteTable(rules: rules)
        #expect(match("/login", host: host, in: table) == .init(routeIndex: 0, kind: .fold, methodNotListed: false))
        #expect(match("/x", host: host, in: table)?.routeIndex == 1)
        #expect(match("/login", host: "www.example.com", in: table)?.routeIndex == 1)
    }

    @Test func `a narrower route that is not critical is kept by its own path only`() throws {
        let rules = try [rule("/admin/**", critical: true), rule("/admin/health", methods: ["GET"])]
        let table = RouteTable(rules: rules)
        #expect(match("/admin/health", in: table)?.routeIndex == 1)
        #expect(match("/admin/./health", in: table)?.routeIndex == 1)
        #expect(match("/admin/health", method: "POST", in: table)?.routeIndex == 0)
        for path in ["/admin/Health", "/ADMIN/health", "/admin/health/", "/admin/health.json", "/admin/health%20"] {
            #expect(match(path, in: table)?.routeIndex == 0)
        }
    }

    @Test func `a fold hit is critical for every method`() throws {
        let rules = try [rule("/login", methods: ["POST"], critical: true), rule("/**")]
        let table = RouteTable(rules: rules)
        for path in ["/LOGIN", "/login/", "/login.json", "/login.tar.gz", "/login%20", "/x%EF%BC%8F../login."] {
            for method in ["GET", "POST", "TRACE"] {
                let found = match(path, method: method, in: table)
                #expect(found == RouteMatch(routeIndex: 0, kind: .fold, methodNotListed: false))
            }
        }
    }

    @Test func `rules in upper case, with a final slash or beyond ASCII are hit by other spellings`() throws {
        let rules = try [
            rule("/API/Login", critical: true), rule("/pay/", critical: true), rule("/caf%C3%A9", critical: true),
            rule("/files/report.pdf", critical: true), rule("/a/*/Secret/**", critical: true),
            rule("/x%2A/y", critical: true),
        ]
        let table = RouteTable(rules: rules)
        for (path, index) in [
            ("/api/login", 0), ("/API/Login", 0), ("/pay", 1), ("/Pay/", 1), ("/CAF%C3%89", 2),
            ("/files/report.pdf.gz", 3),
            ("/A/b/secret", 4), ("/a/b/Secret/c", 4), ("/x*/y", 5),
        ] {
            #expect(match(path, in: table)?.routeIndex == index, "\(path)")
        }
        #expect(match("/files/report", in: table) == RouteMatch.none)
        #expect(match("/a/secret", in: table) == RouteMatch.none)
    }

    @Test func `a long path with too many readings counts as a hit`() throws {
        let table = RouteTable(rules: [try rule("/login", critical: true)])
        let long = "/x" + String(repeating: "/%EF%BC%8F%EF%BC%8E%EF%BC%8E%20/%20%EF%BC%8E%EF%BC%9Fa", count: 150)
        #expect(long.utf8.count > 4_096)
        #expect(match(long, in: table)?.kind == .fold)
        #expect(match("/" + String(repeating: "a%20", count: 1_000), in: table) == RouteMatch.none)
    }

    @Test func `a look-up among 10,000 routes costs like one among 10`() throws {
        func rules(_ count: Int) throws -> [RouteRule] {
            try (0..<count).flatMap { number in
                try [
                    rule("/api/v\(number)/login", critical: true), rule("/shop/\(number)/*/pay", methods: ["POST"]),
                    rule("/files/d\(number)/**"), rule("/h", host: "h\(number).test"),
                ]
            }
        }
        func fastest(_ table: RouteTable) -> Duration {
            var scratch = RouteScratch()
            return (0..<7).map { _ in
                ContinuousClock().measure {
                    for _ in 0..<300 {
                        for path in ["/api/v1/login", "/shop/1/x/pay", "/files/d1/a/b", "/h", "/none"] {
                            _ = resolve(Array(path.utf8), method: "POST", host: "h1.test", in: table, scratch: &scratch)
                        }
                    }
                }
            }.min() ?? .zero
        }
        let (small, large) = (RouteTable(rules: try rules(3)), RouteTable(rules: try rules(2_500)))
        // A neighbour may take the core from one side of a round; a scan of all routes would be slow in every round.
        let ratios = (0..<5).lazy.map { _ in fastest(large) / fastest(small) }
        #expect(ratios.contains { $0 < 2 })
    }
}
