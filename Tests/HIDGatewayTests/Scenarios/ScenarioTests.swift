import HIDCrypto
// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDHTTP
import HIDStore
import HIDTesting
import HIDVerifier
import Synchronization
import Testing

@testable import HIDGateway

/// The scenarios of Tests/Scenarios against the exchange alone: no sockets, and a clock that stands still.
@Suite struct ScenarioTests {
    @Test func `every scenario file can be read`() {
        #expect(Scenario.all.count == Scenario.fileCount)
        #expect(Scenario.all.count >= 30)
    }

    @Test(arguments: Scenario.all) func `comes out as written, in process`(scenario: Scenario) throws {
        try scenario.playAlone(in: World())
    }

    @Test func `every scenario of the exchange alone can be read`() throws {
        #expect(LonelyScenario.all.count == LonelyScenario.fileCount)
        #expect(LonelyScenario.all.count >= 25)
    }

    @Test(arguments: LonelyScenario.all) func `comes out as written, alone`(lonely: LonelyScenario) throws {
        try lonely.scenario.playAlone(in: lonely.world)
    }
}

extension Scenario {
    /// Plays every step against an exchange and compares.
    func playAlone(in world: World) throws {
        let issuer = try TestIssuer()
        let gateway = try ExchangeHarness(self, issuer, world)
        var requests = try ScenarioRequests(issuer: issuer, device: TestDevice())
        for step in steps {
            let now = TestIssuer.now + (step.words["at"].flatMap { Int64($0) } ?? 0)
            let seen = try gateway.play(requests.request(step, now: now), now: now)
            #expect(seen.status == step.status, "\(step)")
            #expect(seen.decision == step.decision, "\(step)")
            #expect(seen.reason == step.reason, "\(step)")
            if let match = step.match { #expect(seen.match == match, "\(step)") }
            let lines = seen.forwarded.map {
                String(decoding: $0, as: UTF8.self).split(separator: "\r\n").map(String.init) + [
                    "client \(seen.client)"
                ]
            }
            for text in step.has { #expect(lines?.contains(text) == true, "\(step): \(text) in \(lines ?? [])") }
            for text in step.lacks {
                let hit = lines?.contains { $0.lowercased().hasPrefix(text.lowercased()) } == true
                #expect(!hit, "\(step): \(text)")
            }
            #expect((seen.forwarded != nil) == (step.status == 200), "\(step)")
        }
    }
}

/// What became of a request.
struct Observation {
    var status = 0
    var decision = ""
    var reason: String?
    var match: String?
    var client = ""
    /// The head that went upstream; nil: nothing did.
    var forwarded: [UInt8]?
}

/// Plays requests against an exchange as the driver does, with everything at hand.
final class ExchangeHarness {
    private let plan: GatewayPlan
    private let world: World
    private let replay: any ReplayStore
    private let signatures: SignatureVerifier
    private let trusted: AddressSet

    init(_ scenario: Scenario, _ issuer: TestIssuer, _ world: World) throws {
        self.world = world
        replay = world.replay
        let folder = try ConfigurationFolder([
            "jwks.json": String(decoding: issuer.jwks, as: UTF8.self), "rules.yaml": scenario.rulesText,
            "gateway.yaml": """
            version: 1
            listeners: [ { address: "127.0.0.1:0", trusted_proxies: [192.0.2.7] } ]
            upstreams: { api: { url: "http://127.0.0.1:9" } }
            issuers: [ { issuer: "https://his.test", audience: [app-1], jwks: { file: jwks.json } } ]
            defaults: { upstream: api, mode: \(scenario.mode) }
            rules: [ rules.yaml ]
            \(scenario.gateway.joined(separator: "\n"))
            """,
        ])
        let (loaded, text) = folder.load()
        guard let loaded else { throw Scenario.Malformed(description: text) }
        plan = GatewayPlan(
            configuration: loaded, keys: [scenario.hasKeys ? try KeySet(jwks: issuer.jwks) : nil])
        signatures = try #require(SignatureVerifier())
        trusted = AddressSet(loaded.listeners[0].trustedProxies)
    }

    func play(_ octets: [UInt8], now: Int64) throws -> Observation {
        var head = RequestHead()
        let policy = ConnectionPolicy(prefixes: [FieldName("x-hid-")])
        var parser = RequestParser(limits: HeadLimits(connection: policy))
        switch parser.parse(octets.span, into: &head) {
        case .needMore: throw Scenario.Malformed(description: "the scenario's request is no whole head")
        case .bad(let fault):
            return Observation(status: fault.status, decision: "reject", reason: fault.code)
        case .complete(let count): return run(head, content: decode(head, Array(octets[count...])), now: now)
        }
    }

    private func decode(_ head: RequestHead, _ octets: [UInt8]) -> [UInt8] {
        var reader = BodyReader(framing: head.framing)
        var content: [UInt8] = []
        var used = 0
        while true {
            let rest = octets.span.extracting(used..<octets.count)
            switch reader.next(rest) {
            case .data(let range):
                content += octets[(used + range.lowerBound)..<(used + range.upperBound)]
                used += range.upperBound
            case .needMore, .end, .bad: return content
            }
        }
    }

    private func run(_ head: RequestHead, content: [UInt8], now: Int64) -> Observation {
        var scratch = RouteScratch()
        var exchange = Exchange(plan: plan)
        let context = ExchangeContext(
            plan: plan, now: now, startSecond: world.keptMarks ? nil : TestIssuer.now - 10,
            isOverFailureBudget: world.isOverFailureBudget, signatures: signatures)
        var action = exchange.begin(head, scratch: &scratch, context: context)
        while true {
            switch action {
            case .answer(let answer):
                return Observation(
                    status: answer.status, decision: exchange.decision.rawValue, reason: exchange.reason?.code,
                    match: exchange.match.kind.rawValue)
            case .hold(let limit):
                action =
                    content.count > limit
                    ? exchange.contentOverLimit(head, context)
                    : exchange.contentEnded(head, digest: SHA256.hash(content.span), context)
            case .mark(let use): action = exchange.replayAnswered(mark(use, now: now))
            case .stream, .release:
                let address = ClientAddress(peer: world.peer, request: head, trusted: trusted)
                return Observation(
                    status: 200, decision: exchange.decision.rawValue, reason: exchange.reason?.code,
                    match: exchange.match.kind.rawValue, client: address.client.description,
                    forwarded: forward(head, exchange, scratch, address))
            }
        }
    }

    private func mark(_ use: ReplayUse, now: Int64) -> ReplayAnswer {
        let answered = Mutex(ReplayAnswer.unavailable)
        replay.useOnce(use, now: UInt64(now) * 1_000_000_000) { answer in answered.withLock { $0 = answer } }
        return answered.withLock { $0 }
    }

    private func forward(
        _ head: RequestHead, _ exchange: Exchange, _ scratch: RouteScratch, _ address: ClientAddress
    ) -> [UInt8] {
        let given = address.isBehindTrustedProxy ? RequestIdentity.trusted(head) : nil
        var out: [UInt8] = []
        ForwardedRequest(
            request: head, path: scratch.path, query: exchange.query, route: exchange.route, token: exchange.token,
            wasChecked: exchange.wasChecked, isVerified: exchange.isVerified,
            requestID: given ?? Array("made-here".utf8), peer: world.peer, client: address.client,
            isBehindTrustedProxy: address.isBehindTrustedProxy, security: nil, authority: [], framing: head.framing,
            isUpgrade: false
        ).write(into: &out)
        return out
    }
}
