// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDVerifier
import Testing

@testable import HIDGateway

@Suite struct StopReasonTests {
    private static let all: [StopReason] =
        Reason.allCases.map { .verification($0) } + PathFault.allCases.map { .target($0) }
        + RequestFault.allCases.map { .head($0) } + BodyFault.allCases.map { .content($0) }
        + UpstreamFault.allCases.map { .upstream($0) } + HTTP2Fault.allCases.map { .http2($0) }
        + GatewayReason.allCases.map { .gateway($0) }

    @Test func `every code is a family of the protocol and one name`() {
        // `target` is the family of request-targets in data/paths.
        let families: Set<String> = ["hid", "sig", "path", "http", "http2", "jwks", "list", "limit", "dep", "target"]
        for reason in Self.all {
            let parts = reason.code.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2, "\(reason.code)")
            #expect(families.contains(String(parts[0])), "\(reason.code)")
            let isName = parts.last?.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            }
            #expect(isName == true && parts.last?.isEmpty == false, "\(reason.code)")
        }
    }

    @Test func `within a kind of reason only the two faults of the version share a code, and differ in status`() {
        for codes in [
            Reason.allCases.map(\.code), PathFault.allCases.map(\.code), BodyFault.allCases.map(\.code),
            UpstreamFault.allCases.map(\.rawValue), HTTP2Fault.allCases.map(\.code),
            GatewayReason.allCases.map(\.rawValue),
        ] { #expect(Set(codes).count == codes.count, "\(codes)") }
        let heads = RequestFault.allCases
        let shared = Dictionary(grouping: heads, by: \.code).values.filter { $0.count > 1 }
        #expect(shared.map(Set.init) == [[.version, .versionUnsupported]])
        #expect(RequestFault.version.status != RequestFault.versionUnsupported.status)
    }

    @Test func `kinds share codes for the target and for broken lines and no others`() {
        let kinds = [
            Reason.allCases.map(\.code), PathFault.allCases.map(\.code), RequestFault.allCases.map(\.code),
            BodyFault.allCases.map(\.code), UpstreamFault.allCases.map(\.rawValue),
            HTTP2Fault.allCases.map(\.code), GatewayReason.allCases.map(\.rawValue),
        ]
        let counts = Dictionary(kinds.flatMap { Set($0) }.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(
            Set(counts.filter { $0.value > 1 }.keys) == [
                "target.too_long", "target.bad_byte", "http.bare_lf", "http.bare_cr", "http.obs_fold", "http.name_bad",
                "http.header_bad", "http.value_ctl",
            ])
    }

    @Test func `the label set of the metrics has every code once`() {
        #expect(Set(StopReason.allCodes) == Set(Self.all.map(\.code)))
        #expect(StopReason.allCodes.count == Set(StopReason.allCodes).count)
    }

    @Test func `every reason explains itself in one line`() {
        for reason in Self.all {
            #expect(reason.explanation.utf8.count > 8, "\(reason.code)")
            #expect(!reason.explanation.contains("\n"), "\(reason.code)")
        }
    }
}

@Suite struct AnswerTests {
    private let identity = (id: Array("0123".utf8), code: Array("ABCDE-FGHJK".utf8))

    private func plan(_ change: (inout BlockAnswer) -> Void = { _ in }) -> RoutePlan {
        var block = BlockAnswer()
        change(&block)
        var defaults = DefaultsConfiguration()
        (defaults.mode, defaults.block) = (.block, block)
        return RoutePlan(defaults: defaults, upstream: 0)
    }

    private func body(_ answer: Answer) -> String {
        String(decoding: answer.body(requestID: identity.id, supportCode: identity.code), as: UTF8.self)
    }

    private var refusals: [Reason] {
        Reason.allCases.filter { Refusal.answer($0, on: plan()).decision == .block }
    }

    @Test func `all refusals look the same, whatever the reason`() {
        let answers = refusals.map { Refusal.answer($0, on: plan()) }
        #expect(answers.count > 40)
        #expect(Set(answers.map(body)).count == 1)
        #expect(Set(answers.map(\.status)) == [403])
        #expect(answers.allSatisfy { $0.retryAfter == nil && $0.allow == nil })
    }

    @Test(arguments: [400, 403, 404, 413, 429, 431, 451, 499])
    func `a status of the route's own changes the status and nothing in the body`(status: Int) {
        let answers = refusals.map { Refusal.answer($0, on: plan { $0.status = status }) }
        #expect(Set(answers.map(\.status)) == [status])
        #expect(Set(answers.map(body)) == [body(Refusal.answer(.expired, on: plan()))])
    }

    @Test func `no answer holds its reason`() {
        for reason in Reason.allCases {
            let text = body(Refusal.answer(reason, on: plan()))
            #expect(!text.contains(reason.code) && !text.contains(reason.explanation), "\(reason.code)")
        }
    }

    @Test func `the two codes and no others are in the body`() {
        #expect(
            body(Refusal.answer(.replay, on: plan())) == """
                {"error":{"code":"blocked","message":"the request was not accepted",\
                "request_id":"0123","support_code":"ABCDE-FGHJK"}}

                """)
        #expect(!body(Refusal.answer(.replay, on: plan { $0.supportCode = false })).contains("support_code"))
        #expect(body(Refusal.answer(.replay, on: plan { $0.body = .empty })).isEmpty)
    }

    @Test func `what is no question of trust has the status of the protocol`() {
        let expected: [(Reason, Int)] = [
            (.tokenMultiple, 400), (.signatureMultiple, 400), (.tokenTooLong, 431), (.signatureTooLong, 431),
            (.bodyTooLarge, 413), (.keysUnavailable, 503), (.replayFull, 503), (.replayStore, 503),
        ]
        for (reason, status) in expected {
            let answer = Refusal.answer(reason, on: plan { $0.status = 451 })
            #expect(answer.status == status, "\(reason.code)")
            #expect((answer.retryAfter != nil) == (status == 503), "\(reason.code)")
        }
        #expect(refusals.count + expected.count == Reason.allCases.count)
    }

    @Test func `modes refuse what they should and no more`() {
        for mode in [Mode.off, .monitoring] {
            var defaults = DefaultsConfiguration()
            defaults.mode = mode
            let route = RoutePlan(defaults: defaults, upstream: 0)
            #expect(Reason.allCases.allSatisfy { !Refusal.refuses($0, on: route, token: nil) })
        }
        #expect(Reason.allCases.allSatisfy { Refusal.refuses($0, on: plan(), token: nil) })
    }
}
