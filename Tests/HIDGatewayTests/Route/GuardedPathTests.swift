// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDTesting
import Testing

@testable import hidbench

/// `path_policy: guarded` and `allow`.
@Suite(.timeLimit(.minutes(10)))
struct GuardedPathTests {
    private static func rules() throws -> [RouteRule] {
        var files = try rule("/files/**")
        files.upstream = "files"
        var repos = try rule("/repos/**", critical: true)
        repos.allowedSpellings = [.encodedSlash, .semicolon]
        var blobs = try rule("/blobs/**")
        blobs.allowedSpellings = [.encodedPercent]
        return try [
            rule("/api/v1/login", critical: true), rule("/api/v1/checkout/**", critical: true),
            rule("/admin/**", critical: true), rule("/users/*/password", critical: true), rule("/public/**"), files,
            repos, rule("/repos/*/secrets", critical: true), blobs,
            rule("/transfer/**", host: "pay.test", critical: true),
            rule("/orders", methods: ["POST"], critical: true),
            rule("/carts", methods: ["POST"], critical: true, notListed: .pass),
        ]
    }

    /// What becomes of a path: the code of its fault, or the name of its route.
    private static func outcome(
        _ target: String, method: String = "GET", host: String = "api.example.test", policy: PathPolicy = .guarded
    ) throws -> String {
        let rules = try Self.rules()
        let table = RouteTable(rules: rules, policy: policy)
        var scratch = RouteScratch()
        switch resolve(Array(target.utf8), method: method, host: host, in: table, scratch: &scratch) {
        case .refused(let fault):
            #expect(scratch.path.isEmpty)
            return fault.code
        case .resolved(let route):
            if route.isAmbiguous { #expect(text(scratch.path) == target.prefix { $0 != "?" }) }
            return route.match.routeIndex.map { rules[$0].name } ?? "none"
        }
    }

    @Test(arguments: [
        ("/a%2Fb", "none"), ("/a%2fb?x=%2F;..", "none"), ("/a;v=1/b", "none"), ("/a%5Cb", "none"), ("/a\\b", "none"),
        ("/100%25", "none"), ("/a%3Fb", "none"), ("/a%23b", "none"), ("/{id}/a|b", "none"), ("//a;b//c", "none"),
        ("/%e4%b8%ad%2F", "none"), ("/public/a%2Fb", "/public/**"), ("/public/x%2Fadmin", "/public/**"),
        ("/files/a%2Fb", "/files/**"), ("/files/a;v=1", "/files/**"), ("/list;jsessionid=0123456789ABCDEF", "none"),
        ("/api/v1/logins%2Fx", "none"), ("/api/v1%2Fx", "none"), ("/users/a%2Fb/name", "none"),
        ("/adminx;y", "none"), ("/a/./b/%2E/c%2Fd", "none"),
    ])
    func `an ambiguous path passes unchanged where no reading makes a difference`(target: String, route: String) throws
    {
        #expect(try Self.outcome(target) == route)
    }

    @Test(arguments: [
        "/api%2Fv1%2Flogin", "/api/v1/login;a=b", "/api/v1/login%3Bx", "/api/v1/login%3F", "/api/v1/login%23",
        "/api/v1\\login", "/api%252Fv1/login", "/api/v1/log%2569n", "/API%2Fv1/Login.json", "/api/v1/checkout;x/pay",
        "/admin;x", "/admin/x%2Fy", "/%2561dmin", "/;/admin", "/public/..;/admin", "/public/..%2Fadmin",
        "/public/%252e%252e/admin", "/admin/..;/public", "/admin/..%2Fpublic", "/x/..%5cadmin", "/admin%2F..%2Fpublic",
        "/users/a%2Fb/password", "/users/%3Bx/password;v=1", "/users/a;b/password", "/%EF%BC%8Fadmin;x",
        "/files/..;/x", "/files/..%2Fx", "/x%2F..%2Ffiles/y", "/FILES/a;b", "/a/../files/x%2Fy", "/files%2Fx",
        "/files;x", "//evil;x/admin", "/\\x/admin", "/orders;x", "/a%2525252Fb", "/repos/x/secrets;y",
        "/repos/a%2Fb%5Cc", "/(S(x))/admin;", "/x/%20../admin;y", "/api/v1/login;/x",
        "/api/v1/login%00;".replacing("%00", with: "."),
    ])
    func `one that leads some upstream to a critical rule or another upstream is refused`(target: String) throws {
        #expect(try Self.outcome(target) == "path.ambiguous")
    }

    @Test(arguments: [
        ("/a;%00", "path.ctl"), ("/a%2F%0A", "path.ctl"), ("/a;%2500", "path.ctl"), ("/a;%252501", "path.ctl"),
        ("/a%2F%zz", "path.bad_pct"), ("/a;%", "path.bad_pct"), ("/a;%C0%AF", "path.bad_utf8"),
        ("/a%2F%FF", "path.bad_utf8"), ("/a;%25FF", "path.bad_utf8"), ("/..;/a", "path.above_root"),
        ("/a/..%2F..%2Fb", "path.above_root"), ("/a%2Fb/../../c", "path.above_root"), ("/../a", "path.above_root"),
        ("/a;#", "target.fragment"), ("/a; b", "target.bad_byte"), ("/a;\u{E9}", "target.bad_byte"),
        ("http://u@api.example.test/a;b", "target.authority"), ("a;b", "target.form"),
    ])
    func `what is malformed stays refused`(target: String, code: String) throws {
        #expect(try Self.outcome(target) == code)
    }

    @Test func `an unambiguous path is treated as under strict`() throws {
        let strict = RouteTable(rules: try Self.rules())
        let guarded = RouteTable(rules: try Self.rules(), policy: .guarded)
        var (one, other) = (RouteScratch(), RouteScratch())
        for row in PathCase.load("paths.jsonl") + PathCase.load("paths-peers.jsonl") {
            let method = row.method ?? "GET"
            let expected = resolve(octets(row.target), method: method, in: strict, scratch: &one)
            let found = resolve(octets(row.target), method: method, in: guarded, scratch: &other)
            guard case .resolved(let route) = expected, !route.isAmbiguous else { continue }
            #expect(found == expected && one.path == other.path, "\(row.id)")
        }
    }

    @Test func `hosts and methods count as everywhere`() throws {
        #expect(try Self.outcome("/transfer/a%2Fb") == "none")
        #expect(try Self.outcome("/transfer/a%2Fb", host: "PAY.test:80") == "path.ambiguous")
        // Whichever site an address serves, its critical rules hold.
        #expect(try Self.outcome("/transfer/a%2Fb", host: "127.0.0.1") == "path.ambiguous")
        #expect(try Self.outcome("/transfer/a%2Fb", host: "") == "path.ambiguous")
        #expect(try Self.outcome("/orders;x", method: "GET") == "path.ambiguous")
        #expect(try Self.outcome("/carts;x", method: "GET") == "none")
        #expect(try Self.outcome("/carts;x", method: "post") == "path.ambiguous")
    }

    @Test func `absolute-form is reduced to what was judged`() throws {
        let table = RouteTable(rules: try Self.rules(), policy: .guarded)
        var scratch = RouteScratch()
        let target = Array("http://api.example.test/a%2Fb?q".utf8)
        guard case .resolved(let route) = resolve(target, in: table, scratch: &scratch) else {
            Issue.record("refused")
            return
        }
        #expect(route.isNormalised && route.isAmbiguous)
        #expect(text(scratch.path) == "/a%2Fb" && text(Array(target[route.query])) == "?q")
    }

    @Test(arguments: PathPolicy.allCases)
    func `a route takes the spellings that it allows, a critical one with its token`(policy: PathPolicy) throws {
        #expect(try Self.outcome("/repos/a%2Fb;c", policy: policy) == "/repos/**")
        #expect(try Self.outcome("/blobs/100%25", policy: policy) == "/blobs/**")
        let isStrict = policy == .strict
        for (target, code) in [
            ("/repos/a%25b", "path.enc_percent"), ("/repos/a%2Fb%25", "path.enc_slash"),
            ("/repos/..;/x", "path.semicolon"), ("/repos%2Fx", "path.enc_slash"), ("/Repos/a;b", "path.semicolon"),
            ("/repos/x%2Fsecrets", "path.enc_slash"), ("/repos/x/secrets;", "path.semicolon"),
            ("/x/..;/repos/a", "path.semicolon"),
        ] { #expect(try Self.outcome(target, policy: policy) == (isStrict ? code : "path.ambiguous"), "\(target)") }
        #expect(try Self.outcome("/blobs/a;b", policy: policy) == (isStrict ? "path.semicolon" : "/blobs/**"))
        #expect(try Self.outcome("/other/a;b", policy: policy) == (isStrict ? "path.semicolon" : "none"))
    }

    @Test func `a narrower rule that is not critical holds where every reading stays in it`() throws {
        let rules = try [rule("/v2/**", critical: true), rule("/v2/public/**"), rule("/**", critical: true)]
        for (target, kind) in [
            ("/v2/public/a;b", RouteMatch.Kind.canonical), ("/v2/public/x/../a", .canonical),
            ("/v2/public/..%20/x", .fold), ("/v2/public/%EF%BC%8F..%EF%BC%8Fx", .fold),
            ("/v2/public/a.json", .canonical),
        ] {
            let table = RouteTable(rules: rules, policy: .guarded)
            let found = try #require(match(target, in: table), "\(target)")
            #expect(found.kind == kind)
            #expect(rules[try #require(found.routeIndex)].isCritical == (kind == .fold), "\(target)")
        }
        let table = RouteTable(rules: rules, policy: .guarded)
        #expect(match("/v2/public/..;/x", in: table) == nil)
        #expect(match("/v2/a;b", in: table) == nil)
    }

    @Test func `hostile targets of 8 KiB are cheap`() throws {
        let rules = try (0..<500).map { try rule("/a/*/b/*/x\($0)/**", critical: true) } + Self.rules()
        let table = RouteTable(rules: rules, policy: .guarded)
        var scratch = RouteScratch()
        for piece in [
            "/;", "/a", "%2F", "/a%2Fb", "/..;/a/b", "a.", "%252F", "/x0%2F", "%EF%BC%8F", "/.;.", "+;+/a/b/a",
        ] {
            var target = Array("/a/a;".utf8)
            while target.count + piece.utf8.count <= RequestTarget.maximumLength { target += Array(piece.utf8) }
            let time = ContinuousClock().measure { _ = resolve(target, in: table, scratch: &scratch) }
            // Far above what it takes; without a bound it is seconds.
            #expect(time < .milliseconds(500), "\(piece)")
        }
    }

    @Test func `random octets neither trap nor lose what is forwarded`() throws {
        let table = RouteTable(rules: try Self.rules(), policy: .guarded)
        var scratch = RouteScratch()
        var random = SeededGenerator(state: 9)
        var ambiguous = 0
        let alphabet = Array("/.;%25cFfab\\?+:$#{%uA".utf8)
        for round in 0..<20_000 {
            var target: [UInt8] = [0x2F]
            for _ in 0..<random.below(24) {
                target.append(round % 8 == 0 ? UInt8(truncatingIfNeeded: random.next()) : random.one(of: alphabet))
            }
            guard case .resolved(let route) = resolve(target, in: table, scratch: &scratch) else { continue }
            guard route.isAmbiguous else { continue }
            ambiguous += 1
            #expect(scratch.path + target[route.query] == target)
        }
        #expect(ambiguous > 200)
    }
}
