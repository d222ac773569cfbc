// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// The core of the product: what passes a critical route, and what does not.
@Suite(.timeLimit(.minutes(10))) struct VerificationTests {
    static let limits = "limits: { signed_body: 5000, failed_verifications: { when: off } }"

    static func bench(_ mode: String, routes: String = Bench.loginRoute) throws -> Bench {
        try Bench(.init(routes: routes, sections: limits, mode: mode, loops: 2))
    }

    enum Form: CaseIterable { case derStandard, derURL, rawStandard, rawURL, bound }

    @Test(arguments: Form.allCases)
    func `a token with a signature of the device passes`(_ form: Form) throws {
        let bench = try Self.bench("block")
        let body = RefusalCase.body
        let token = try bench.token { $0 = $0.appending("lvl", "\"strongbox\"") }
        let digestDER = try bench.device.signDER(body)
        let signature =
            switch form {
            case .derStandard: digestDER
            case .derURL: digestDER.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            case .rawStandard: TestDevice.base64(try bench.device.sign(body))
            case .rawURL: TestDevice.base64URL(try bench.device.sign(body))
            case .bound:
                try bench.device.signBound(
                    method: "POST", authority: "api.test", target: "/api/v1/login?a=1", token: Array(token.utf8),
                    body: body)
            }
        let answer = try bench.once(
            Bench.post("/api/v1/login?a=1", token: token, signature: signature, body: body))
        #expect(answer?.status == 200)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen.body == body)
        #expect(seen["X-HID-Verdict"] == "human")
        #expect(seen["X-HID-Device"] == Bench.hid)
        #expect(seen["X-HID-Level"] == "strongbox")
        #expect(seen["X-HID-Token"] == token)
        #expect(seen["X-HID-Signature"] == signature)
        let line = bench.line(of: answer)
        #expect(line?["decision"].text == "pass")
        #expect(line?["reason"] == .null)
    }

    @Test(arguments: RefusalCase.all)
    func `block refuses what does not verify`(_ refusal: RefusalCase) throws {
        let bench = try Self.bench("block")
        let answer = try bench.once(try refusal.make(bench))
        #expect(answer?.status == refusal.status)
        #expect(answer?.isComplete == true)
        #expect(bench.upstream.requests.isEmpty)
        let line = bench.line(of: answer)
        #expect(line?["reason"].text == refusal.reason)
        #expect(line?["decision"].text == refusal.decision)
        #expect(line?["status"].number == Double(refusal.status))
        #expect(line?["upstream"] == .null)
    }

    @Test(arguments: RefusalCase.all)
    func `monitoring marks and never changes the answer`(_ refusal: RefusalCase) throws {
        let bench = try Self.bench("monitoring")
        let answer = try bench.once(try refusal.make(bench))
        #expect(answer?.status == 200)
        #expect(answer?.text == "ok")
        let line = bench.line(of: answer)
        #expect(line?["decision"].text == "would_block")
        #expect(line?["reason"].text == refusal.reason)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen["X-HID-Verdict"] == "unverified")
        #expect(seen["X-HID-Device"] == nil)
    }

    @Test(arguments: RefusalCase.all)
    func `safe_blocking refuses what is proven wrong`(_ refusal: RefusalCase) throws {
        let bench = try Self.bench("safe_blocking")
        let answer = try bench.once(try refusal.make(bench))
        #expect(answer?.status == refusal.safely)
        #expect(bench.upstream.requests.count == (refusal.safely == 200 ? 1 : 0))
        let line = bench.line(of: answer)
        #expect(line?["reason"].text == refusal.reason)
        #expect(line?["decision"].text == (refusal.safely == 200 ? "would_block" : refusal.decision))
    }

    @Test func `an expired token with a forged signature is refused also in safe_blocking`() throws {
        let bench = try Self.bench("safe_blocking")
        let token = try bench.token {
            $0["iat"] = "\(Bench.now - 60)"
            $0["exp"] = "\(Bench.now - 30)"
        }
        let forged = try TestDevice(hid: Bench.hid).signDER(RefusalCase.body)
        #expect(try bench.once(Bench.post(token: token, signature: forged, body: RefusalCase.body))?.status == 403)
    }

    @Test func `off checks nothing`() throws {
        let bench = try Self.bench("off")
        for refusal in RefusalCase.tokens + RefusalCase.signatures {
            let answer = try bench.once(try refusal.make(bench))
            #expect(answer?.status == 200, "\(refusal.name)")
            #expect(bench.line(of: answer)?["decision"].text == "pass")
        }
        #expect(bench.upstream.requests.allSatisfy { $0["X-HID-Verdict"] == nil })
    }

    @Test(arguments: ["block", "safe_blocking"])
    func `a token passes once`(_ mode: String) throws {
        let bench = try Self.bench(mode)
        let request = try bench.good()
        let first = try bench.once(request)
        #expect(first?.status == 200)
        for _ in 0..<4 {
            let again = try bench.once(request)
            #expect(again?.status == 403)
            #expect(bench.line(of: again)?["reason"].text == "hid.replay")
        }
        #expect(bench.upstream.requests.count == 1)
    }

    @Test func `monitoring marks replays too`() throws {
        let bench = try Self.bench("monitoring")
        let request = try bench.good()
        #expect(try bench.once(request)?.status == 200)
        let again = try bench.once(request)
        #expect(again?.status == 200)
        #expect(bench.line(of: again)?["reason"].text == "hid.replay")
        #expect(bench.line(of: again)?["decision"].text == "would_block")
    }

    @Test func `a refused request does not burn its token`() throws {
        let bench = try Self.bench("block")
        let token = try bench.token()
        let bad = Bench.post(token: token, signature: try bench.signature([1]), body: [2])
        #expect(try bench.once(bad)?.status == 403)
        #expect(try bench.once(Bench.post(token: token, signature: try bench.signature([2]), body: [2]))?.status == 200)
    }

    @Test func `once_with_grace lets the same request come again and no other`() throws {
        let routes = """
            routes:
              - { name: login, match: { path: /api/v1/login }, critical: true, replay: once_with_grace 30s }
            """
        let bench = try Self.bench("block", routes: routes)
        let token = try bench.token()
        let request = Bench.post(token: token, signature: try bench.signature([1]), body: [1])
        #expect(try bench.once(request)?.status == 200)
        #expect(try bench.once(request)?.status == 200)
        let other = Bench.post(token: token, signature: try bench.signature([2]), body: [2])
        #expect(try bench.once(other)?.status == 403)
    }

    @Test func `a chunked body in many pieces is judged whole`() throws {
        let bench = try Self.bench("block")
        let body = pattern(997)
        let client = try bench.client()
        try client.send(
            "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-HID-Token: "
                + "\(try bench.token())\r\nX-HID-Signature: \(try bench.signature(body))\r\n\r\n")
        for byte in body { try client.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
        try client.send("0\r\n\r\n")
        #expect(try client.response()?.status == 200)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen.body == body)
        #expect(seen["Content-Length"] == "997")
    }

    @Test(arguments: ["Content-Length: 0\r\n", "", "Transfer-Encoding: chunked\r\n"])
    func `an empty body is signed as the empty string`(_ framing: String) throws {
        let bench = try Self.bench("block")
        let rest = framing.hasPrefix("T") ? "0\r\n\r\n" : ""
        let head = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\n\(framing)X-HID-Token: "
        let good = "\(head)\(try bench.token())\r\nX-HID-Signature: \(try bench.signature([]))\r\n\r\n\(rest)"
        let answer = try bench.once(good)
        #expect(answer?.status == 200)
        let bad = "\(head)\(try bench.token())\r\nX-HID-Signature: \(try bench.signature([0]))\r\n\r\n\(rest)"
        #expect(try bench.once(bad)?.status == 403)
        #expect(bench.upstream.requests.count == 1)
    }

    @Test func `a body of exactly signed_body passes`() throws {
        let bench = try Self.bench("block")
        let body = pattern(5000)
        #expect(try bench.once(try bench.good(body))?.status == 200)
        #expect(bench.upstream.requests.first?.body == body)
    }
}
