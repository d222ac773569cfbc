// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDHTTP
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// Paths, methods, the key set and the error object.
@Suite(.timeLimit(.minutes(10))) struct ServiceSurfaceTests {
    private let world: IssuerWorld

    init() throws {
        world = try IssuerWorld()
    }

    @Test(arguments: [
        "/", "/v1/m/hid", "/v1/m/hid/", "/v1/m/hid/c/", "/v1/m/hid/c?x=1", "/v1/m/hid/C", "//v1/m/hid/c",
        "/v1/m/hid/%63", "/v1/m/hid/../hid/c", "/.well-known/jwks.json/", "/.well-known/jwks", "/healthz", "/api/keys",
        "/metrics", "http://his.test/v1/m/hid/c",
    ])
    func `there is nothing at any other path`(path: String) throws {
        for method in ["GET", "POST", "DELETE"] {
            let answer = try world.get(path, method: method)
            #expect(answer.status == 404, "\(method)")
            #expect(answer.json["error"]["code"].text == "not_found")
        }
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "post", "PATCH"])
    func `the endpoints for clients take POST alone`(method: String) throws {
        for path in [IssuerWorld.challengePath, IssuerWorld.verifyPath] {
            let answer = try world.get(path, method: method)
            #expect(answer.status == 405)
            #expect(answer.field("Allow") == "POST")
        }
    }

    @Test func `the key set is read by GET and HEAD, is cacheable, and holds public keys alone`() throws {
        let answer = try world.get("/.well-known/jwks.json")
        #expect(answer.status == 200)
        #expect(answer.answer.contentType == "application/jwk-set+json")
        #expect(answer.field("Cache-Control") == "public, max-age=300")
        #expect(try world.get("/.well-known/jwks.json", method: "HEAD").status == 200)
        let refused = try world.get("/.well-known/jwks.json", method: "POST")
        #expect((refused.status, refused.field("Allow")) == (405, "GET, HEAD"))
        let keys = answer.json["keys"].elements
        #expect(keys.count == 2)
        for (key, own) in zip(keys, world.keys.published(at: ManualClock.start)) {
            #expect(key.names == ["kty", "crv", "x", "y", "kid", "use", "alg"])
            #expect(key["kid"].text == own.kid)
            #expect(key["kid"].text?.utf8.count == 43)
            #expect((key["use"].text, key["alg"].text) == ("sig", "ES256"))
        }
        #expect(try world.keySet().skipped.isEmpty)
    }

    @Test func `every code has its status and one sentence that tells nothing`() {
        let statuses = Dictionary(uniqueKeysWithValues: IssuerError.allCases.map { ($0.rawValue, $0.status) })
        #expect(
            statuses == [
                "bad_request": 400, "app_unknown": 404, "platform_not_enabled": 403, "challenge_unknown": 409,
                "attestation_rejected": 403, "key_unknown": 409, "key_proof_rejected": 403, "rate_limited": 429,
                "unavailable": 503,
            ])
        for error in IssuerError.allCases {
            let answer = IssuerAnswer(IssuerFailure(error, detail: "secret").answer(requestID: Array("r-1".utf8)))
            #expect(answer.json["error"].names == ["code", "message", "request_id"])
            #expect(answer.json["error"]["request_id"].text == "r-1")
            #expect(answer.json["error"]["message"].text?.isEmpty == false)
            #expect(!answer.text.contains("secret"))
            let waits = error == .rateLimited || error == .unavailable
            #expect(answer.field("Retry-After") == (waits ? "1" : nil))
        }
    }

    @Test func `a trusted proxy gives the request id, nobody else does`() throws {
        let phone = try Phone()
        let body = Array(phone.challengeRequest.with("app_id", "\"none\"").json.utf8)
        let field = "X-Request-Id: from-the-proxy\r\n"
        let direct = try world.post(IssuerWorld.challengePath, body, fields: field)
        #expect(direct.json["error"]["request_id"].text != "from-the-proxy")
        let trusting = try IssuerWorld { $0.listeners[0].trustedProxies = [Self.proxies] }
        let passed = try trusting.post(IssuerWorld.challengePath, body, fields: field, from: "10.1.2.3")
        #expect(passed.json["error"]["request_id"].text == "from-the-proxy")
        #expect(passed.field("X-Request-Id") == "from-the-proxy")
        let stranger = try trusting.post(IssuerWorld.challengePath, body, fields: field, from: "11.1.2.3")
        #expect(stranger.json["error"]["request_id"].text?.utf8.count == 32)
    }

    /// 10.0.0.0/8.
    static let proxies = AddressBlock(
        prefix: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 10, 0, 0, 0], prefixLength: 104)

    @Test func `the answer to what is no request is an error object with an id`() throws {
        for status in [400, 408, 413, 431] {
            let answer = IssuerAnswer(world.service.answer(status: status, explanation: "x"))
            #expect(answer.status == status)
            #expect(answer.json["error"]["code"].text == "bad_request")
            #expect(answer.json["error"]["request_id"].text == answer.field("X-Request-Id"))
        }
    }
}
