// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDTesting
import Testing

@testable import hidbench

@Suite(.timeLimit(.minutes(10)))
struct RouteDifferentialTests {
    @Test(arguments: PathPolicy.allCases)
    func `whatever an upstream reads as critical is refused or needs the token`(policy: PathPolicy) throws {
        var judge = try ResolverJudge(policy: policy)
        var fuzz = PathFuzz(mutator: PathMutator(seed: 20_261_130))
        let report = fuzz.run(rounds: 10_000) { judge.judge($0) }
        #expect(report.misses.joined(separator: "\n") == "")
        #expect(report.escapes.joined(separator: "\n") == "")
        #expect(report.refused > 1_000 && report.demanded > 1_000 && report.forwarded > 500)
        #expect(report.ambiguous > (policy == .guarded ? 300 : 3))
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)), arguments: PathPolicy.allCases)
    func `so it is with targets that are grown from the recorded ones`(policy: PathPolicy) throws {
        let corpus = try Vectors.jsonLines("paths/cases.jsonl", as: PathCase.self).map { octets($0.target) }
        #expect(corpus.count > 90)
        var judge = try ResolverJudge(policy: policy)
        var fuzz = PathFuzz(mutator: PathMutator(seed: 7, corpus: corpus))
        let report = fuzz.run(rounds: 10_000) { judge.judge($0) }
        #expect(report.misses.joined(separator: "\n") == "")
        #expect(report.escapes.joined(separator: "\n") == "")
        #expect(report.forwarded > 500)
    }

    @Test(arguments: UpstreamModel.all.indices)
    func `each upstream model reads the plain paths of all rules`(index: Int) {
        let model = UpstreamModel.all[index]
        let handlers = FuzzHandlers(FuzzRule.all)
        for (path, rule) in [
            ("/api/v1/login", "/api/v1/login"), ("/api/v1/checkout/pay", "/api/v1/checkout/**"),
            ("/admin", "/admin/**"), ("/admin/x/y", "/admin/**"), ("/Legacy/Pay", "/Legacy/Pay"),
            ("/users/7/password", "/users/*/password"), ("/caf%C3%A9/x", "/caf%C3%A9/**"), ("/orders", "/orders"),
            ("/v2/x", "/v2/**"), ("/v2/public/x", "/v2/public/**"), ("/files/x", "/files/**"), ("/", "/**"),
            ("/wire", "/**"), ("/transfer/x", "/**"), ("/orders/1", "/**"),
            ("/shops/1/items/2/buy", "/shops/*/items/*/buy"),
        ] {
            let found = handlers.handler(
                of: model.read(Array(path.utf8)), ignoringCase: model.ignoresCase, method: "POST",
                site: "api.example.test")
            // One decodes no letters of its own but reads lower case only.
            if model.name == "upper case", path.contains("Legacy") { continue }
            #expect(found?.path == rule, "\(path)")
        }
        let read = model.read(Array("/wire".utf8))
        let hosts = ["a.bank.test", "bank.test"].map {
            handlers.handler(of: read, ignoringCase: model.ignoresCase, method: "GET", site: $0)?.path
        }
        #expect(hosts == ["/wire", "/**"])
    }

    // MARK: - It can fail

    private static let handlers = FuzzHandlers(FuzzRule.all)

    /// A gateway whose fold leaves something out.
    private static func weakened(_ request: FuzzRequest, without left: PathFold.Reading) -> FuzzJudgement {
        var path: [UInt8] = []
        guard (try? PathCanonicaliser.canonicalise(request.target.span, into: &path)) != nil else { return .refused }
        var fold = PathFold()
        fold.fold(path.span, reading: .widest.subtracting(left))
        for octets in [path, fold.key] {
            let read = PathSteps.split(octets)
            let rule = Self.handlers.handler(of: read, ignoringCase: true, method: request.method, site: nil)
            if rule?.isCritical == true { return .demanded }
        }
        return .forwarded(path: path, upstream: nil, isAmbiguous: false)
    }

    @Test(arguments: [
        PathFold.Reading.lookalikes, .trimming, .streams, .plus, .dots, [.lookalikes, .bestFit], .widest,
    ])
    func `a fold that leaves one step out is caught within 50,000 rounds`(left: PathFold.Reading) {
        var fuzz = PathFuzz(mutator: PathMutator(seed: 3), stopsAtFailure: true)
        let report = fuzz.run(rounds: 50_000) { Self.weakened($0, without: left) }
        #expect(report.firstFailure != nil)
        #expect(!report.misses.isEmpty)
    }

    @Test func `a gateway that forwards ambiguous paths by their widest reading is caught within 5,000 rounds`() {
        var fuzz = PathFuzz(mutator: PathMutator(seed: 4))
        var fold = PathFold()
        let report = fuzz.run(rounds: 5_000) { request in
            let isMalformed = request.target.contains { $0 < 0x21 || $0 > 0x7E || $0 == 0x23 || $0 == 0x3F }
            guard !isMalformed else { return .refused }
            fold.fold(request.target.span)
            let read = PathSteps.split(fold.key)
            let rule = Self.handlers.handler(
                of: read, ignoringCase: true, method: request.method, site: nil)
            if rule?.isCritical == true { return .demanded }
            return .forwarded(path: request.target, upstream: rule?.upstream, isAmbiguous: true)
        }
        #expect(!report.misses.isEmpty)
    }
}
