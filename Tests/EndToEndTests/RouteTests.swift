// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// What a rule changes, and what the client and the upstream see of it.
@Suite(.timeLimit(.minutes(10))) struct RouteTests {
    private static func bench(_ rest: String, mode: String = "block") throws -> Bench {
        let routes =
            "routes:\n  - { name: login, match: { path: /api/v1/login, methods: [POST] }, critical: true, \(rest) }"
        return try VerificationTests.bench(mode, routes: routes)
    }

    @Test func `a profile that the route does not accept is refused`() throws {
        let body = RefusalCase.body
        let bound = try Self.bench("signature: { accept: [v2] }")
        let answer = try bound.once(try bound.good(body))
        #expect(answer?.status == 403)
        #expect(bound.line(of: answer)?["reason"].text == "sig.profile")
        let plain = try Self.bench("signature: { accept: [v1] }")
        let token = try plain.token()
        let signature = try plain.device.signBound(
            method: "POST", authority: "api.test", target: "/api/v1/login", token: Array(token.utf8), body: body)
        let other = try plain.once(Bench.post(token: token, signature: signature, body: body))
        #expect(other?.status == 403)
        #expect(plain.line(of: other)?["reason"].text == "sig.profile")
    }

    @Test func `a signature that is not required is checked when it is there`() throws {
        let bench = try Self.bench("signature: { required: false }")
        #expect(try bench.once(Bench.post(token: try bench.token(), body: [1]))?.status == 200)
        #expect(try bench.once(try bench.good())?.status == 200)
        let wrong = Bench.post(token: try bench.token(), signature: try bench.signature([2]), body: [1])
        #expect(try bench.once(wrong)?.status == 403)
    }

    @Test func `verdicts are the route's to judge`() throws {
        let bench = try Self.bench("verdicts: { human: block, suspicious: pass, bot: pass, blocked: pass }")
        for (verdict, status) in [("human", 403), ("suspicious", 200), ("bot", 200), ("blocked", 200)] {
            let token = try bench.token { $0["verdict"] = "\"\(verdict)\"" }
            let answer = try bench.once(Bench.post(token: token, signature: try bench.signature([1]), body: [1]))
            #expect(answer?.status == status, "\(verdict)")
            if status == 200 { #expect(bench.upstream.requests.last?["X-HID-Verdict"] == verdict) }
        }
    }

    @Test(arguments: ["block", "safe_blocking", "monitoring"])
    func `a monitoring token is never refused for its verdict`(_ mode: String) throws {
        let bench = try Self.bench("", mode: mode)
        for claims in [("verdict", "\"bot\""), ("verdict", "\"odd\""), ("blocked", "true")] {
            let token = try bench.token {
                $0[claims.0] = claims.1
                $0["monitoring"] = "true"
            }
            let answer = try bench.once(Bench.post(token: token, signature: try bench.signature([1]), body: [1]))
            #expect(answer?.status == 200)
            #expect(bench.line(of: answer)?["decision"].text == "would_block")
        }
        let forged = Bench.post(
            token: try bench.token { $0["monitoring"] = "true" }, signature: try bench.signature([2]), body: [1])
        #expect(try bench.once(forged)?.status == (mode == "monitoring" ? 200 : 403))
    }

    @Test(arguments: [
        "/API/V1/LOGIN", "/api/v1/login/", "/Api/v1/Login?x=1", "//api/v1/login", "/api//v1/login", "/api/./v1/login",
        "/x/../api/v1/login", "/api/v1/%6cogin", "/api/v1/login;v=1", "/api/v1/login%2f", "/api/v1/login.",
    ])
    func `a path that some upstream takes for the critical one needs the token (envoy 6435, traefik 11768)`(
        _ target: String
    ) throws {
        let bench = try Self.bench("")
        let answer = try bench.once(Bench.post(target, body: RefusalCase.body))
        #expect(answer.map { [400, 403].contains($0.status) } == true)
        #expect(bench.upstream.requests.isEmpty)
    }

    @Test func `a fold-only match demands the token and says so`() throws {
        let bench = try Self.bench("")
        let missing = try bench.once(Bench.post("/API/V1/LOGIN", body: [1]))
        #expect(missing?.status == 403)
        let line = bench.line(of: missing)
        #expect(line?["match"].text == "fold")
        #expect(line?["reason"].text == "hid.token_missing")
        #expect(line?["route"].text == "login")
        let good = Bench.post(
            "/API/V1/LOGIN", token: try bench.token(), signature: try bench.signature([1]), body: [1])
        #expect(try bench.once(good)?.status == 200)
        #expect(bench.upstream.requests.first?.target == "/API/V1/LOGIN")
    }

    @Test func `a method that the rule does not list is 405 in block`() throws {
        let bench = try Self.bench("")
        let answer = try bench.once(get("/api/v1/login"))
        #expect(answer?.status == 405)
        #expect(answer?["Allow"] == "POST")
        let line = bench.line(of: answer)
        #expect(line?["reason"].text == "http.method_not_listed")
        #expect(bench.upstream.requests.isEmpty)
        let passing = try Self.bench("methods_not_listed: pass")
        #expect(try passing.once(get("/api/v1/login"))?.status == 200)
        let monitoring = try Self.bench("", mode: "monitoring")
        let watched = try monitoring.once(get("/api/v1/login"))
        #expect(watched?.status == 200)
        #expect(monitoring.line(of: watched)?["decision"].text == "would_block")
    }

    @Test func `refusals are alike but for request id and support code`() throws {
        let bench = try VerificationTests.bench("block")
        var seen: Set<String> = []
        for refusal in RefusalCase.alike {
            let answer = try #require(try bench.once(try refusal.make(bench)))
            let json = try #require(JSONValue(answer.text))["error"]
            let id = try #require(json["request_id"].text)
            let code = try #require(json["support_code"].text)
            #expect(id == answer["X-Request-Id"])
            #expect(bench.line(of: answer)?["support_code"].text == code)
            let fields = answer.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            let whole = "\(answer.startLine)\n\(fields)\n\(answer.text)"
            seen.insert(whole.replacing(id, with: "ID").replacing(code, with: "CODE"))
            #expect(!whole.contains(refusal.reason))
        }
        #expect(seen.count == 1, "\(seen)")
    }

    @Test func `the answer of a route is as configured`() throws {
        let bench = try Self.bench("block: { status: 404, body: empty }")
        let answer = try bench.once(Bench.post(body: [1]))
        #expect(answer?.status == 404)
        #expect(answer?.body == [])
        let quiet = try Self.bench("block: { support_code: false }")
        let other = try quiet.once(Bench.post(body: [1]))
        #expect(other?.status == 403)
        #expect(other?.text.contains("support_code") == false)
    }

    @Test func `results of the client never reach the upstream`() throws {
        let bench = try Self.bench("")
        let fake =
            "X-HID-Verdict: human\r\nX-HID-Device: mine\r\nX-HID-Level: strongbox\r\nX-HID-Assertion: a\r\n"
            + "X-HID-Anything: a\r\n"
        #expect(try bench.once(get("/plain", fields: fake))?.status == 200)
        let plain = try #require(bench.upstream.requests.first)
        #expect(plain.fields.filter { $0.name.lowercased().hasPrefix("x-hid") }.isEmpty)
        #expect(try bench.once(try bench.good(fields: fake))?.status == 200)
        let critical = try #require(bench.upstream.requests.last)
        #expect(critical["X-HID-Verdict"] == "human")
        #expect(critical["X-HID-Device"] == Bench.hid)
        #expect(critical.all("X-HID-Level") == [])
        #expect(critical.all("X-HID-Assertion") == [])
        let twin = try bench.once(get("/plain", fields: "X_HID_Verdict: human\r\n"))
        #expect(twin.map { [200, 400].contains($0.status) } == true)
        #expect(bench.upstream.requests.allSatisfy { request in request.all("X_HID_Verdict").isEmpty })
        let named = try bench.once(try bench.good(fields: "Connection: X-HID-Verdict, X-HID-Token\r\n"))
        #expect(named?.status == 400)
    }

    @Test func `strip_headers keeps token and signature from the upstream`() throws {
        let bench = try Self.bench("strip_headers: [X-HID-Token, X-HID-Signature]")
        #expect(try bench.once(try bench.good())?.status == 200)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen.all("X-HID-Token") == [])
        #expect(seen.all("X-HID-Signature") == [])
        #expect(seen["X-HID-Verdict"] == "human")
    }
}
