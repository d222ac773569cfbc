// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HIDClient
import HIDCrypto
import HIDTesting
import HIDVerifier
import Synchronization
import Testing

/// A Human Identification Server in a value, for the platform `test`: PROTOCOL.md section 2 with every check.
///
/// A script may put its own outcome in place of an answer, or let it wait.
final class ModelServer: HumanIDTransport {
    struct Call: Sendable {
        let path: String
        let body: JSONValue
        let request: HumanIDTransportRequest

        var type: String { path.hasSuffix("/c") ? "challenge" : body["type"].text ?? "?" }
    }

    enum Step: Sendable {
        case model
        case answer(HumanIDTransportAnswer)
        case fail(HumanIDTransportError)

        static func refuse(_ status: Int, _ code: String, retryAfter: String? = nil) -> Step {
            let text = "{\"error\":{\"code\":\"\(code)\",\"message\":\"m\",\"request_id\":\"r-1\"}}"
            return .answer(.init(status: status, retryAfter: retryAfter, body: Array(text.utf8)))
        }

        static func ok(_ text: String) -> Step { .answer(.init(status: 200, body: Array(text.utf8))) }
    }

    /// Is asked with each call and its number from 0 on.
    typealias Script = @Sendable (Call, Int) async -> Step

    struct State {
        var challenges: [String: (device: String, nonce: String)] = [:]
        var keys: [String: [UInt8]] = [:]
        var calls: [Call] = []
        var script: Script = { _, _ in .model }
        var life = 30
        var claims: [(String, String)] = []
    }

    static let base = "https://his.test"
    let issuer: TestIssuer
    let authority: P256PrivateKey
    private let clock: ManualClock
    private let state = Mutex(State())

    init(clock: ManualClock) throws {
        issuer = try TestIssuer()
        authority = try P256PrivateKey()
        self.clock = clock
    }

    var calls: [Call] { state.withLock { $0.calls } }
    var types: [String] { calls.map(\.type) }
    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    func run(_ script: @escaping Script) { change { $0.script = script } }
    /// The server loses its keys.
    func forgetKeys() { change { $0.keys = [:] } }

    func send(_ request: HumanIDTransportRequest) async throws(HumanIDTransportError) -> HumanIDTransportAnswer {
        let path = String(request.url.dropFirst(Self.base.count))
        let call = Call(
            path: path, body: JSONValue(String(decoding: request.body, as: UTF8.self)) ?? .missing, request: request)
        let (script, number) = state.withLock { state in
            state.calls.append(call)
            return (state.script, state.calls.count - 1)
        }
        switch await script(call, number) {
        case .answer(let answer): return answer
        case .fail(let error): throw error
        case .model: return answer(path, call.body)
        }
    }

    /// What the server answers by itself.
    func answer(_ path: String, _ body: JSONValue) -> HumanIDTransportAnswer {
        do {
            switch path {
            case "/v1/m/hid/c": return try challenge(body)
            case "/v1/m/hid/v": return try verify(body)
            default: throw Refusal(status: 404, code: "not_found")
            }
        } catch {
            let refusal = error as? Refusal ?? Refusal(status: 500, code: "internal")
            guard case .answer(let answer) = Step.refuse(refusal.status, refusal.code) else {
                return .init(status: 500, body: [])
            }
            return answer
        }
    }

    private struct Refusal: Error {
        var status: Int
        var code: String
    }

    private func challenge(_ body: JSONValue) throws -> HumanIDTransportAnswer {
        guard let device = body["device_id"].text, body["app_id"].text == "app-1", body["platform"].text == "test"
        else {
            throw Refusal(status: 400, code: "bad_request")
        }
        let id = TestDevice.base64URL(try SecureRandom.bytes(12))
        let nonce = TestDevice.base64URL(try SecureRandom.bytes(32))
        let isKnown = state.withLock { state in
            state.challenges[id] = (device, nonce)
            return state.keys[device] != nil
        }
        return .init(
            status: 200,
            body: Array(
                """
                {"challenge_id":"\(id)","nonce":"\(nonce)","key_status":"\(isKnown ? "existing" : "new")",\
                "expires_in":60,"server_time":\(TestIssuer.now + 7)}
                """.utf8))
    }

    private func verify(_ body: JSONValue) throws -> HumanIDTransportAnswer {
        let device = body["device_id"].text ?? ""
        let challenge = state.withLock { $0.challenges.removeValue(forKey: body["challenge_id"].text ?? "") }
        guard let challenge, challenge.device == device, body["app_id"].text == "app-1", body["platform"].text == "test"
        else { throw Refusal(status: 409, code: "challenge_unknown") }
        switch body["type"].text {
        case "key_proof":
            guard let key = state.withLock({ $0.keys[device] }) else { throw Refusal(status: 409, code: "key_unknown") }
            let statement = ["hid-key-proof-v1", "app-1", device, challenge.nonce].joined(separator: "\n")
            guard Self.isSignature(body["signature"].text, of: Array(statement.utf8), by: key) else {
                throw Refusal(status: 403, code: "key_proof_rejected")
            }
            return try token(for: key)
        case "attestation":
            let key = try attestedKey(body, device: device, nonce: challenge.nonce)
            state.withLock { $0.keys[device] = key }
            return try token(for: key)
        default: throw Refusal(status: 400, code: "bad_request")
        }
    }

    private func attestedKey(_ body: JSONValue, device: String, nonce: String) throws -> [UInt8] {
        let text = Array((body["public_key"].text ?? "").utf8)
        guard let key = Base64.decode(text.span), (try? P256PublicKey(subjectPublicKeyInfo: key)) != nil else {
            throw Refusal(status: 403, code: "attestation_rejected")
        }
        let claims = Array("{\"level\":\"tee\"}".utf8)
        let statement = [
            "hid-test-attestation-v1", "app-1", device, nonce, TestDevice.base64URL(SHA256.digest(key)),
            TestDevice.base64URL(SHA256.digest(claims)),
        ].joined(separator: "\n")
        let signer = authority.publicKey.subjectPublicKeyInfo
        guard body["claims"]["level"].text == "tee",
            Self.isSignature(body["signature"].text, of: Array(statement.utf8), by: signer)
        else { throw Refusal(status: 403, code: "attestation_rejected") }
        return key
    }

    private func token(for key: [UInt8]) throws -> HumanIDTransportAnswer {
        let (life, changes) = state.withLock { ($0.life, $0.claims) }
        let point = try P256PublicKey(subjectPublicKeyInfo: key)
        let hid = TestDevice.base64URL(SHA256.digest(key))
        let now = clock.unixSeconds()
        var claims = TestClaims([
            ("iss", "\"\(issuer.issuer)\""), ("aud", "\"app-1\""), ("hid", "\"\(hid)\""), ("verdict", "\"human\""),
            ("iat", "\(now)"), ("exp", "\(now + Int64(life))"),
            ("jti", "\"\(TestDevice.base64URL(try SecureRandom.bytes(16)))\""), ("env", "\"test\""),
            (
                "cnf",
                """
                {"jwk":{"kty":"EC","crv":"P-256","x":"\(TestDevice.base64URL(point.x))",\
                "y":"\(TestDevice.base64URL(point.y))"}}
                """
            ),
        ])
        for (name, json) in changes { claims[name] = json }
        let token = String(decoding: try issuer.mint(claims), as: UTF8.self)
        return .init(
            status: 200,
            body: Array(
                """
                {"status":"ok","token":"\(token)","token_type":"hid+jwt","expires_in":\(life),"hid":"\(hid)"}
                """.utf8))
    }

    /// Whether a v1 value is a signature over a message, as the gateway's own library sees it.
    static func isSignature(_ value: String?, of message: [UInt8], by spki: [UInt8]) -> Bool {
        let text = Array((value ?? "").utf8)
        guard case .success(let header) = SignatureHeader.parse(text.span, accepting: .v1),
            let verifier = SignatureVerifier()
        else { return false }
        let digest = SHA256.digest(message)
        let request = SignedRequest(method: [], authority: [], target: [])
        let point = Array(spki.suffix(65))
        return verifier.verify(
            header, bodyDigest: digest.span, request: request, tokenText: text.span, deviceKey: point.span) == nil
    }
}
