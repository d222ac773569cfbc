// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDHTTP
import HIDService
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDGateway

/// Answers when it is told to, on the loop that asked.
private final class LateReplayStore: ReplayStore {
    private struct Question: @unchecked Sendable {
        /// Called on its loop alone.
        let answer: (ReplayAnswer) -> Void
    }

    private let questions = Monitor<[Question]>([])

    func useOnce(_ use: ReplayUse, now: UInt64, answer: @escaping (ReplayAnswer) -> Void) {
        let question = Question(answer: answer)
        questions.withLock { $0.append(question) }
    }

    /// Whether so many questions came before the deadline.
    func hasQuestions(_ count: Int) -> Bool { questions.wait { $0.count >= count ? true : nil } ?? false }

    /// Answers all there are.
    func answer(_ answer: ReplayAnswer, on loop: EventLoop) {
        let all = questions.withLock { questions in
            defer { questions = [] }
            return questions
        }
        loop.enqueue { for question in all { question.answer(answer) } }
    }
}

/// One loop of a gateway over a store that is far away.
private final class LateGateway {
    let store = LateReplayStore()
    let issuer: TestIssuer
    let device: TestDevice
    let upstream: ScriptedUpstream
    let metrics = GatewayMetrics(registry: MetricsRegistry(shards: 1))
    let lane: Lane
    let address: WireAddress
    private let folder: ConfigurationFolder

    init() throws {
        issuer = try TestIssuer()
        device = try TestDevice()
        upstream = try ScriptedUpstream()
        folder = try ConfigurationFolder([
            "jwks.json": String(decoding: issuer.jwks, as: UTF8.self),
            "gateway.yaml": """
            version: 1
            listeners: [ { address: "127.0.0.1:0" } ]
            upstreams: { api: { url: "\(upstream.url)" } }
            issuers: [ { issuer: "https://his.test", audience: [app-1], jwks: { file: jwks.json } } ]
            defaults: { upstream: api, mode: block }
            rules: [ rules.yaml ]
            """,
            "rules.yaml": "routes:\n  - { name: login, match: { path: /login, methods: [POST] }, critical: true }\n",
        ])
        let (loaded, text) = folder.load()
        guard let loaded else { throw Scenario.Malformed(description: text) }
        let plan = GatewayPlan(configuration: loaded, keys: [try KeySet(jwks: issuer.jwks)])
        let shared = SharedServices(
            plans: PlanSource(plan), replay: store,
            sessions: MemorySessionStore(idle: loaded.sessions.idle, retention: loaded.sessions.retention),
            metrics: metrics, failures: FailureBudget(limits: loaded.limits), accessLog: nil, startSecond: nil
        ) {}
        let log = Log(sink: .memory(MemoryLog()))
        let bound = try BoundListeners(loaded.listeners.map(\.address), loops: 1, sockets: ServiceSockets())
        let loop = try EventLoop(index: 0)
        let services = try #require(
            LoopServices(
                loop: loop, shared: shared, listeners: [(name: bound.names[0], trusted: AddressSet([]))],
                upstreams: try UpstreamDirectory(loaded, log: log)))
        let group = ConnectionGroup(
            loop: loop, settings: ServerSettings(loaded), budget: ConnectionBudget(limit: 100, limitPerClient: 100),
            factory: services)
        lane = Lane(group: group) { services.closeIdleUpstreams() }
        var settings = ListenerSettings()
        settings.acceptsHTTP2 = true
        lane.open(bound.sockets[0], settings: [settings])
        address = try #require(WireAddress(bound.names[0]))
    }

    /// Drains; whether the end came.
    func stop() -> Bool {
        let gate = Gate()
        Lane.drain([lane], within: .seconds(10)) { _ in gate.open() }
        defer { lane.loop.stop() }
        return gate.wait()
    }

    func credentials(_ body: [UInt8]) throws -> [(String, String)] {
        let claims = issuer.claims(for: device, at: WallClock.now() / 1_000_000_000)
        return [
            ("x-hid-token", String(decoding: try issuer.mint(claims), as: UTF8.self)),
            ("x-hid-signature", try device.signDER(body)),
        ]
    }

    func http2() throws -> HTTP2Client {
        let client = HTTP2Client(try Wire.connect(to: address))
        try client.greet()
        return client
    }

    /// Whether so many exchanges ended for that reason before the deadline.
    func hasCounted(_ reason: String, _ count: Int) -> Bool {
        let deadline = Deadline()
        let line = "hidgate_reasons_total{reason=\"\(reason)\"} \(count)\n"
        while deadline.milliseconds > 0 {
            if String(decoding: metrics.registry.text(), as: UTF8.self).contains(line) { return true }
        }
        return false
    }
}

/// Between the mark of a token and its answer anything may happen to the client.
@Suite(.timeLimit(.minutes(10))) struct LateReplayTests {
    private let body = Array("{}".utf8)

    @Test func `an answer that comes late lets the request through`() throws {
        let gateway = try LateGateway()
        let client = try gateway.http2()
        let stream = try client.post("/login", gateway.credentials(body), body: body)
        #expect(gateway.store.hasQuestions(1))
        #expect(gateway.upstream.accepted == 0)
        gateway.store.answer(.first, on: gateway.lane.loop)
        #expect(try client.response(stream).status == 200)
        let again = try client.post("/login", gateway.credentials(body), body: body)
        #expect(gateway.store.hasQuestions(1))
        gateway.store.answer(.repeated, on: gateway.lane.loop)
        #expect(try client.response(again).status == 403)
        #expect(gateway.upstream.requests.count == 1)
        #expect(gateway.stop())
    }

    @Test func `streams that were reset meanwhile are forwarded no more, and those beside them are`() throws {
        let gateway = try LateGateway()
        let client = try gateway.http2()
        let streams = try (0..<20).map { _ in
            try client.post("/login", gateway.credentials(body), body: body)
        }
        #expect(gateway.store.hasQuestions(20))
        for stream in streams.dropLast() { try client.send(HTTP2Wire.reset(stream)) }
        #expect(try client.synchronise())
        #expect(gateway.hasCounted("http.client_abort", 19))
        gateway.store.answer(.first, on: gateway.lane.loop)
        #expect(try client.response(streams[19]).status == 200)
        #expect(gateway.upstream.requests.count == 1)
        #expect(gateway.stop())
    }

    @Test(arguments: [true, false])
    func `connections that went away meanwhile leave nothing to be answered`(_ isHTTP2: Bool) throws {
        let gateway = try LateGateway()
        for _ in 0..<10 {
            if isHTTP2 {
                let wire = try Wire.connect(to: gateway.address)
                let client = HTTP2Client(wire)
                try client.greet()
                for _ in 0..<3 { _ = try client.post("/login", gateway.credentials(body), body: body) }
                #expect(gateway.store.hasQuestions(3))
                wire.reset()
            } else {
                let client = try RawClient(gateway.address)
                let fields = try gateway.credentials(body).map { "\($0.0): \($0.1)\r\n" }.joined()
                try client.send(
                    Array("POST /login HTTP/1.1\r\nHost: a.test\r\n\(fields)Content-Length: 2\r\n\r\n".utf8) + body)
                #expect(gateway.store.hasQuestions(1))
                client.wire.reset()
            }
            // Before the loop has seen the reset, or after it.
            gateway.store.answer(.first, on: gateway.lane.loop)
        }
        let client = try gateway.http2()
        let stream = try client.post("/login", gateway.credentials(body), body: body)
        #expect(gateway.store.hasQuestions(1))
        gateway.store.answer(.first, on: gateway.lane.loop)
        #expect(try client.response(stream).status == 200)
        #expect(gateway.stop())
    }

    @Test func `a store that never answers does not keep a drain from its end`() throws {
        let gateway = try LateGateway()
        let client = try gateway.http2()
        let stream = try client.post("/login", gateway.credentials(body), body: body)
        #expect(gateway.store.hasQuestions(1))
        try client.send(HTTP2Wire.reset(stream))
        #expect(gateway.hasCounted("http.client_abort", 1))
        #expect(gateway.stop())
        #expect(try client.isClosed())
        gateway.store.answer(.first, on: gateway.lane.loop)
    }
}
