// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// `path_policy: guarded` and `allow`, over the gateway itself.
@Suite(.timeLimit(.minutes(10))) struct GuardedPathLiveTests {
    private static let routes = """
        routes:
          - { name: login, match: { path: /api/v1/login, methods: [POST] }, critical: true }
          - { name: admin, match: { path: /admin/** }, critical: true }
          - { name: public, match: { path: /public/** } }
          - { name: repos, match: { path: /repos/** }, critical: true, allow: [encoded_slash, semicolon] }
          - { name: blobs, match: { path: /blobs/** }, allow: [encoded_percent] }
        """

    private func bench(_ policy: String = "guarded") throws -> Bench {
        try Bench(.init(routes: Self.routes, mode: "block, path_policy: \(policy)"))
    }

    @Test func `what makes no difference passes unchanged, what leads to a critical route does not`() throws {
        let bench = try bench()
        let client = try bench.client()
        let passing = [
            "/a%2Fb", "/a%2fb?x=%2F;..", "/a;v=1/b", "/a%5Cb", "/100%25", "/a%3Fb", "/public/a%2Fb", "/blobs/50%25",
            "/list;jsessionid=0123456789ABCDEF", "/api/v1/logins%2Fx", "/x/%e4%b8%ad%2F", "/{id}/a|b",
        ]
        for target in passing { #expect(try client.exchange(get(target))?.status == 200, "\(target)") }
        #expect(bench.upstream.requests.map(\.target) == passing)
        let refused = [
            "/api%2Fv1%2Flogin", "/api/v1/login;a=b", "/api/v1/login%3Bx", "/api%252Fv1/login", "/api/v1/log%2569n",
            "/admin;x", "/%2561dmin", "/public/..;/admin", "/public/..%2Fadmin", "/public/%252e%252e/admin",
            "/admin/..;/public", "/x/..%5cadmin", "/API%2Fv1/Login.json",
        ]
        for target in refused {
            let answer = try bench.once(get(target))
            #expect(answer?.status == 400, "\(target)")
            #expect(bench.line(of: answer)?["reason"].text == "path.ambiguous", "\(target)")
        }
        #expect(bench.upstream.requests.count == passing.count)
    }

    @Test func `a spelling that its route allows is demanded a token and passes with one`() throws {
        let bench = try bench()
        for target in ["/repos/a%2Fb", "/repos/a;v=1"] {
            let refused = try bench.once(get(target))
            #expect(refused?.status == 403, "\(target)")
            #expect(bench.line(of: refused)?["route"].text == "repos")
            let body = Array("{}".utf8)
            let good = Bench.post(
                target, token: try bench.token(), signature: try bench.signature(body), body: body)
            #expect(try bench.once(good)?.status == 200, "\(target)")
            #expect(bench.upstream.requests.last?.target == target)
        }
        #expect(try bench.once(get("/repos/a%5Cb"))?.status == 400)
    }

    @Test func `under strict none of these spellings passes`() throws {
        let bench = try bench("strict")
        for target in ["/a%2Fb", "/a;v=1/b", "/a%5Cb", "/100%25"] {
            #expect(try bench.once(get(target))?.status == 400, "\(target)")
        }
        #expect(bench.upstream.accepted == 0)
    }
}
