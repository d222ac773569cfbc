// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// The scenarios of Tests/Scenarios against a running gateway.
@Suite(.timeLimit(.minutes(10))) struct LiveScenarioTests {
    @Test(arguments: Scenario.all) func `comes out as written, live`(scenario: Scenario) throws {
        var setup = Bench.Setup(routes: scenario.rulesText, mode: scenario.mode)
        setup.sections = scenario.gateway.joined(separator: "\n")
        if !scenario.hasKeys { setup.jwks = "url: \"http://127.0.0.1:1/jwks.json\"" }
        let bench = try Bench(setup)
        var requests = try ScenarioRequests(issuer: bench.issuer, device: bench.device)
        for step in scenario.steps {
            let before = bench.upstream.requests.count
            let answer = try bench.once(requests.request(step, now: Bench.now))
            let line = bench.line(of: answer)
            #expect(answer?.status == step.status, "\(step)")
            #expect(line?["decision"].text == step.decision, "\(step)")
            #expect(line?["reason"].text == step.reason, "\(step)")
            if let match = step.match { #expect((line?["match"].text ?? "none") == match, "\(step)") }
            let forwarded = bench.upstream.requests.dropFirst(before).first
            #expect((forwarded != nil) == (step.status == 200), "\(step)")
            let lines = forwarded.map { [$0.startLine] + $0.fields.map { "\($0.name): \($0.value)" } }
            // The peer is the loopback address here, and no proxy is trusted.
            for text in step.has where !text.hasPrefix("X-Forwarded-For") {
                #expect(lines?.contains(text) == true, "\(step): \(text) in \(lines ?? [])")
            }
            for text in step.lacks {
                let hit = lines?.contains { $0.lowercased().hasPrefix(text.lowercased()) } == true
                #expect(!hit, "\(step): \(text)")
            }
        }
    }
}
