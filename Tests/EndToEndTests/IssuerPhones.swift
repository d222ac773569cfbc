// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting

/// An answer of the server and the JSON in it.
struct IssuerReply {
    let message: HTTPMessage
    let json: JSONValue

    init(_ message: HTTPMessage?) throws {
        guard let message else { throw DaemonFault(description: "the server ended the connection") }
        self.message = message
        json = JSONValue(message.text) ?? .missing
    }

    var status: Int { message.status }
    /// The code of an error.
    var code: String? { json["error"]["code"].text }
    var hid: String? { json["hid"].text }
    var keyStatus: String? { json["key_status"].text }

    /// A claim of the token, or a member of its header.
    func token(_ name: String, header: Bool = false) -> JSONValue {
        TokenText.member(name, of: json["token"].text, header)
    }
}

/// Looks into tokens without judging them.
enum TokenText {
    static func member(_ name: String, of token: String?, _ header: Bool = false) -> JSONValue {
        let parts = (token ?? "").split(separator: ".")
        guard parts.count == 3, let octets = Base64URL.decode(Array(parts[header ? 0 : 1].utf8)) else {
            return .missing
        }
        return (JSONValue(String(decoding: octets, as: UTF8.self)) ?? .missing)[name]
    }
}

/// What a phone shows to have its key registered.
protocol PhoneEvidence: Sendable {
    var platform: String { get }
    /// The members of an attestation beyond the common ones, in JSON.
    func members(appID: String, deviceID: String, nonce: String, key: P256PrivateKey) throws -> String
}

/// A test authority's word for a key; put together from PROTOCOL.md section 2 and not with the SDK's code.
struct AuthorityEvidence: PhoneEvidence {
    let authority: P256PrivateKey
    /// Compact, members sorted by name.
    var claims = "{\"level\":\"tee\"}"
    let platform = "test"

    func members(appID: String, deviceID: String, nonce: String, key: P256PrivateKey) throws -> String {
        let publicKey = key.publicKey.subjectPublicKeyInfo
        let lines = [
            "hid-test-attestation-v1", appID, deviceID, nonce, TestDevice.base64URL(SHA256.digest(publicKey)),
            TestDevice.base64URL(SHA256.digest(Array(claims.utf8))),
        ]
        let digest = SHA256.digest(Array(lines.joined(separator: "\n").utf8))
        let signature = TestDevice.base64(try authority.signDER(digest: digest))
        return """
            "public_key":"\(TestDevice.base64(publicKey))","claims":\(claims),"signature":"\(signature)"
            """
    }
}

/// A phone that speaks PROTOCOL.md section 2 itself, request by request.
struct ScriptedPhone: Sendable {
    let deviceID: String
    let key: P256PrivateKey
    let evidence: any PhoneEvidence

    init(_ deviceID: String, _ evidence: any PhoneEvidence) throws {
        (self.deviceID, self.evidence) = (deviceID, evidence)
        key = try P256PrivateKey()
    }

    private var common: String {
        "\"app_id\":\"\(IssuerBench.appID)\",\"device_id\":\"\(deviceID)\",\"platform\":\"\(evidence.platform)\""
    }

    static func post(_ path: String, _ json: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: his.test\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)"
    }

    func challenge(_ client: RawClient) throws -> IssuerReply {
        try IssuerReply(client.exchange(Self.post("/v1/m/hid/c", "{\(common)}")))
    }

    /// The request that answers a challenge with an attestation.
    func attestation(_ challenge: IssuerReply) throws -> String {
        let nonce = challenge.json["nonce"].text ?? ""
        let members = try evidence.members(
            appID: IssuerBench.appID, deviceID: deviceID, nonce: nonce, key: key)
        return Self.post("/v1/m/hid/v", "{\"type\":\"attestation\",\(id(challenge)),\(common),\(members)}")
    }

    /// The request that answers a challenge with a key proof.
    func keyProof(_ challenge: IssuerReply) throws -> String {
        let nonce = challenge.json["nonce"].text ?? ""
        let text = ["hid-key-proof-v1", IssuerBench.appID, deviceID, nonce].joined(separator: "\n")
        let signature = TestDevice.base64(try key.signDER(digest: SHA256.digest(Array(text.utf8))))
        let members = "\"signature\":\"\(signature)\""
        return Self.post("/v1/m/hid/v", "{\"type\":\"key_proof\",\(id(challenge)),\(common),\(members)}")
    }

    private func id(_ challenge: IssuerReply) -> String {
        "\"challenge_id\":\"\(challenge.json["challenge_id"].text ?? "")\""
    }

    /// Challenge and attestation.
    func register(_ client: RawClient) throws -> IssuerReply {
        let challenge = try challenge(client)
        guard challenge.status == 200 else { return challenge }
        return try IssuerReply(client.exchange(attestation(challenge)))
    }

    /// Challenge and key proof.
    func comeBack(_ client: RawClient) throws -> IssuerReply {
        let challenge = try challenge(client)
        guard challenge.status == 200 else { return challenge }
        return try IssuerReply(client.exchange(keyProof(challenge)))
    }
}

/// A phone with the client SDK and a software key, for a thread that may wait.
final class SDKPhone: Sendable {
    private let sdk: HumanIDSDK

    init(
        _ bench: IssuerBench, claims: [String: HumanIDClaim] = ["level": .text("tee")], file: String? = nil,
        deviceID: String? = nil
    ) throws {
        let config = try HumanIDConfig(
            serverURL: bench.url, applicationID: IssuerBench.appID, deviceID: deviceID)
        let keys = try SoftwareKeyHolder(authorityKey: bench.authority.pem(), claims: claims, file: file)
        sdk = HumanIDSDK(config: config, keyHolder: keys)
    }

    func token() throws -> HumanIDToken {
        let sdk = sdk
        return try Self.wait { () async throws(HumanIDError) in try await sdk.getToken() }
    }

    /// A signed login and its token.
    func login(
        _ body: [UInt8] = Array("{\"user\":1}".utf8), profile: String = "v2"
    ) throws -> (request: [UInt8], token: HumanIDToken) {
        let sdk = sdk
        let signed = try Self.wait { () async throws(HumanIDError) -> (HumanIDToken, String) in
            guard profile == "v2" else {
                let token = try await sdk.getToken()
                return (token, try await sdk.signRequestBody(body))
            }
            let headers = try await sdk.signRequest(
                method: "POST", authority: "api.test", target: "/api/v1/login", body: body)
            return (headers.token, headers.signature)
        }
        return (Bench.post(token: signed.0.value, signature: signed.1, body: body), signed.0)
    }

    /// Runs the SDK's tasks before those of other tests, which fill the threads of tasks with their own waiting.
    private static func wait<Success: Sendable>(
        _ work: @escaping @Sendable () async throws(HumanIDError) -> Success
    ) throws -> Success {
        let outcome = Monitor<Result<Success, HumanIDError>?>(nil)
        Task.detached(priority: .high) {
            do throws(HumanIDError) {
                let value = try await work()
                outcome.withLock { $0 = .success(value) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        guard let result = outcome.wait(Deadline(in: .seconds(40)), for: { $0 }) else {
            throw DaemonFault(description: "the SDK did not come to an end")
        }
        return try result.get()
    }
}
