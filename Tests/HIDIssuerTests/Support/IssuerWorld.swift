// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDDaemon
import HIDHTTP
import HIDService
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// A Human Identification Server without sockets: requests in as octets, answers out.
final class IssuerWorld: Sendable {
    static let issuer = "https://his.test"
    static let challengePath = "/v1/m/hid/c"
    static let verifyPath = "/v1/m/hid/v"
    /// Made once, since certificates take long.
    private static let sharedApple = Result { try TestAppAttest() }

    let clock: ManualClock
    let store: FailingIssuerStore
    let keys: SigningKeys
    let context: IssuerContext
    let service: IssuerService
    /// Vouches for devices of the platform `test`.
    let authority: P256PrivateKey
    let apple: TestAppAttest
    let log: MemoryLog
    let metrics: IssuerMetrics

    init(
        store: FailingIssuerStore = FailingIssuerStore(), clock: ManualClock = ManualClock(),
        revocations: RevocationListConfiguration? = nil, workers: Int = 2, workerLimit: Int = 1024,
        _ change: (inout IssuerConfiguration) -> Void = { _ in }
    ) throws {
        self.clock = clock
        self.store = store
        authority = try P256PrivateKey()
        apple = try Self.sharedApple.get()
        let memory = MemoryLog()
        let log = Log(sink: .memory(memory))
        self.log = memory
        let metrics = IssuerMetrics(registry: MetricsRegistry(shards: 1))
        self.metrics = metrics
        var configuration = try Self.configuration(authority: authority, apple: apple)
        configuration.attestation.revocationList = revocations
        change(&configuration)
        keys = try SigningKeys(directory: nil, log: log, now: clock.wall)
        let keeper = revocations.map {
            RevocationKeeper($0, store: store, log: log, metrics: metrics, clock: clock.issuerClock)
        }
        keeper?.registerGauges()
        let tokens = TokenIssuer(
            issuer: configuration.issuer, life: configuration.tokenLife.components.seconds, keys: keys)
        context = IssuerContext(
            plan: IssuerPlan(configuration), store: store, keys: keys, tokens: tokens,
            workers: try WorkerPool(count: workers, limit: workerLimit), revocations: keeper, metrics: metrics,
            log: log, clock: clock.issuerClock)
        service = IssuerService(context: context)
    }

    /// An app of every platform, and two of one; limits that nothing reaches.
    private static func configuration(
        authority: P256PrivateKey, apple: TestAppAttest
    ) throws -> IssuerConfiguration {
        var configuration = IssuerConfiguration()
        configuration.issuer = issuer
        configuration.listeners = [ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))]
        var demo = AppConfiguration(appID: "demo-app")
        var android = AndroidAppConfiguration()
        (android.packages, android.signerDigests) = ([AndroidTestChain.package], [AndroidTestChain.signer])
        demo.android = android
        var ios = AppleAppConfiguration()
        (ios.teamID, ios.bundleIDs) = ("ABCDE12345", ["com.example.app"])
        demo.ios = ios
        var test = TestAppConfiguration()
        test.authorityKeys = [authority.publicKey.point]
        demo.test = test
        var other = AppConfiguration(appID: "other-app")
        other.test = test
        var phones = AppConfiguration(appID: "phones-only")
        phones.android = android
        for app in [demo, other, phones] { configuration.apps[app.appID] = app }
        configuration.attestation.androidRoots.extra = [try androidRoot()]
        configuration.attestation.appleRoots.extra = [apple.root]
        let unlimited = Rate(count: 1_000_000, per: .seconds(1))
        (configuration.rateLimits.perClient, configuration.rateLimits.perDevice) = (unlimited, unlimited)
        configuration.rateLimits.attestations = unlimited
        return configuration
    }

    private static func androidRoot() throws -> [UInt8] {
        let keys = try AndroidTestChain.Keys.shared.get()
        return try CertificateBuilder.authority(AndroidTestChain.root, key: keys.root).signed(by: keys.root)
    }

    // MARK: - Requests

    /// Sends a request given as octets; the head is parsed as the server parses it.
    func send(_ octets: [UInt8], from peer: String = "192.0.2.1", listener: Int = 0) throws -> IssuerAnswer {
        var parser = RequestParser(limits: HeadLimits(headBytes: 16 << 10, fields: 64))
        var head = RequestHead()
        guard case .complete(let consumed) = parser.parse(octets.span, into: &head) else { throw IssuerWorldFault() }
        let request = WholeRequest(
            head: head, content: Array(octets[consumed...]),
            peer: peer == "unix" ? .local : try #require(PeerAddress(text: Array(peer.utf8))), listener: listener)
        if let refusal = service.refusal(of: request) { return IssuerAnswer(refusal) }
        let answer = Monitor<[WholeAnswer]>([])
        service.answer(request) { value in answer.withLock { $0.append(value) } }
        return IssuerAnswer(try #require(answer.wait { $0.first }))
    }

    func post(
        _ path: String, _ body: [UInt8], fields: String = "", from peer: String = "192.0.2.1", listener: Int = 0
    ) throws -> IssuerAnswer {
        let head = "POST \(path) HTTP/1.1\r\nHost: his.test\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
        return try send(Array(head.utf8) + body, from: peer, listener: listener)
    }

    func get(_ path: String, method: String = "GET") throws -> IssuerAnswer {
        try send(Array("\(method) \(path) HTTP/1.1\r\nHost: his.test\r\n\r\n".utf8))
    }

    func verify(_ body: HIDTesting.TestClaims) throws -> IssuerAnswer {
        try post(Self.verifyPath, Array(body.json.utf8))
    }

    // MARK: - Flows

    func challenge(_ phone: Phone) throws -> GivenChallenge {
        let answer = try post(Self.challengePath, Array(phone.challengeRequest.json.utf8))
        try #require(answer.status == 200, "\(answer.text)")
        return GivenChallenge(
            id: try #require(answer.json["challenge_id"].text), nonce: try #require(answer.json["nonce"].text),
            keyStatus: try #require(answer.json["key_status"].text))
    }

    func attest(_ phone: Phone, claims: String = #"{"level":"tee"}"#) throws -> IssuerAnswer {
        let challenge = try challenge(phone)
        switch phone.platform {
        case Phone.android: return try verify(phone.androidAttestation(challenge))
        case Phone.ios: return try verify(phone.appleAttestation(challenge, by: apple, key: TestSigningKey()))
        default: return try verify(phone.testAttestation(challenge, by: authority, claims: claims))
        }
    }

    func prove(_ phone: Phone) throws -> IssuerAnswer {
        try verify(phone.keyProof(challenge(phone)))
    }

    // MARK: - What came of it

    /// The key set as a gateway fetches it.
    func keySet() throws -> KeySet {
        try KeySet(jwks: get("/.well-known/jwks.json").answer.content)
    }

    /// The token of an answer, checked as a gateway does now.
    func token(_ answer: IssuerAnswer, audience: String = "demo-app") throws -> VerifiedToken {
        try #require(answer.status == 200, "\(answer.text)")
        let text = Array(try #require(answer.json["token"].text).utf8)
        let policy = IssuerPolicy(issuer: Self.issuer, audience: [audience], leeway: 0, keys: try keySet())
        let check = TokenVerifier(issuers: [policy]).check(text.span, now: clock.wall)
        try #require(check.reason == nil)
        return try #require(check.token)
    }

    /// The hid of an answer with a token.
    func hid(_ answer: IssuerAnswer) throws -> String { try #require(answer.json["hid"].text, "\(answer.text)") }

    /// The value of a line of the metrics.
    func metric(_ name: String) throws -> Double {
        let lines = String(decoding: metrics.registry.text(), as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("\(name) ") }, "\(name)")
        return try #require(Double(line.dropFirst(name.count + 1)))
    }

    /// Log lines of an event.
    func logged(_ event: String) -> [String] { log.lines.filter { $0.contains("\"event\":\"\(event)\"") } }
}

/// A request that the parser refused.
struct IssuerWorldFault: Error {}

/// An answer as a test looks at it.
struct IssuerAnswer: Sendable {
    let answer: WholeAnswer

    init(_ answer: WholeAnswer) {
        self.answer = answer
    }

    var json: JSONValue { JSONValue(text) ?? .missing }
    var status: Int { answer.status }
    var text: String { String(decoding: answer.content, as: UTF8.self) }
    /// `code` of the error object, and `ok` for an answer without one.
    var code: String { status == 200 ? "ok" : json["error"]["code"].text ?? "no error object" }

    func field(_ name: String) -> String? {
        answer.fields.first { "\($0.name)" == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// Everything but the request id.
    var anonymous: String {
        text.replacing(json["error"]["request_id"].text ?? "-", with: "ID") + "\(status)"
            + answer.fields.filter { "\($0.name)" != "X-Request-Id" }.map { "\($0.name)=\($0.value)" }.joined()
    }
}
