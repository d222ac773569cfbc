// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDHTTP
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDGateway

/// The scenarios of Tests/Scenarios against the exchange alone: no sockets, and a clock that stands still.
@Suite struct ScenarioTests {
    @Test func `every scenario file can be read`() {
        #expect(Scenario.all.count == Scenario.fileCount)
        #expect(Scenario.all.count >= 30)
    }

    @Test(arguments: Scenario.all) func `comes out as written, in process`(scenario: Scenario) throws {
        let issuer = try TestIssuer()
        let gateway = try ExchangeHarness(scenario, issuer)
        var requests = try ScenarioRequests(issuer: issuer, device: TestDevice())
        for step in scenario.steps {
            let seen = try gateway.play(requests.request(step, now: TestIssuer.now))
            #expect(seen.status == step.status, "\(step)")
            #expect(seen.decision == step.decision, "\(step)")
            #expect(seen.reason == step.reason, "\(step)")
            if let match = step.match { #expect(seen.match == match, "\(step)") }
            let lines = seen.forwarded.map {
                String(decoding: $0, as: UTF8.self).split(separator: "\r\n").map(String.init)
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
    /// The head that went upstream; nil: nothing did.
    var forwarded: [UInt8]?
}

/// Plays requests against an exchange as the driver does, with everything at hand.
final class ExchangeHarness {
    private let plan: GatewayPlan
    private let replay = MemoryReplayStore()
    private let signatures: SignatureVerifier
    private let trusted: AddressSet
    private static let peer = PeerAddress(high: 0, low: 0xFFFF_C000_0207)

    init(_ scenario: Scenario, _ issuer: TestIssuer) throws {
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

    func play(_ octets: [UInt8]) throws -> Observation {
        var head = RequestHead()
        let policy = ConnectionPolicy(prefixes: [FieldName("x-hid-")])
        var parser = RequestParser(limits: HeadLimits(connection: policy))
        switch parser.parse(octets.span, into: &head) {
        case .needMore: throw Scenario.Malformed(description: "the scenario's request is no whole head")
        case .bad(let fault):
            return Observation(status: fault.status, decision: "reject", reason: fault.code)
        case .complete(let count): return run(head, content: decode(head, Array(octets[count...])))
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

    private func run(_ head: RequestHead, content: [UInt8]) -> Observation {
        var scratch = RouteScratch()
        var exchange = Exchange(plan: plan)
        let context = ExchangeContext(
            plan: plan, now: TestIssuer.now, startSecond: TestIssuer.now - 10, isOverFailureBudget: false,
            signatures: signatures)
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
            case .mark(let use): action = exchange.replayAnswered(replay.useOnce(use, now: 1))
            case .stream, .release:
                return Observation(
                    status: 200, decision: exchange.decision.rawValue, reason: exchange.reason?.code,
                    match: exchange.match.kind.rawValue, forwarded: forward(head, exchange, scratch))
            }
        }
    }

    private func forward(_ head: RequestHead, _ exchange: Exchange, _ scratch: RouteScratch) -> [UInt8] {
        let address = ClientAddress(peer: Self.peer, request: head, trusted: trusted)
        var out: [UInt8] = []
        ForwardedRequest(
            request: head, path: scratch.path, query: exchange.query, route: exchange.route, token: exchange.token,
            wasChecked: exchange.wasChecked, isVerified: exchange.isVerified, requestID: Array("id".utf8),
            peer: Self.peer, isBehindTrustedProxy: address.isBehindTrustedProxy, authority: [], framing: head.framing
        ).write(into: &out)
        return out
    }
}
