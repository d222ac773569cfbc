// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDTesting
import Testing

@testable import hidbench

@Suite struct PathVectorTests {
    @Test func `the vector files are there`() {
        #expect(PathCase.load("paths.jsonl").count == 97)
        #expect(PathCase.load("paths-peers.jsonl").count == 39)
    }

    @Test(arguments: PathCase.load("paths.jsonl") + PathCase.load("paths-peers.jsonl"))
    func `a target is passed, normalised or refused as the vector says`(row: PathCase) throws {
        var scratch = RouteScratch()
        let target = octets(row.target)
        switch resolve(target, method: row.method ?? "GET", in: try vectorTable(), scratch: &scratch) {
        case .refused(let fault):
            #expect(row.expect.action == "reject")
            #expect(row.reason == nil || fault.code == row.reason)
            #expect(fault.status == (row.reason == "target.too_long" ? 414 : 400))
        case .resolved(let route):
            #expect(row.expect.action == (route.isNormalised ? "normalise" : "pass"))
            #expect(text(scratch.path) == row.expect.canonical)
            guard let critical = row.critical else { return }
            let isPublic = route.match.routeIndex == 3
            #expect((route.match.kind != .none && !isPublic) == critical)
            if critical { #expect(route.match.kind.rawValue == row.critical_by) }
        }
    }

    @Test(arguments: PathCase.load("paths.jsonl").filter { $0.fold != nil })
    func `a target folds as the vector says`(row: PathCase) {
        var fold = PathFold()
        fold.fold(target: octets(row.target).span)
        #expect(text(fold.key).unicodeScalars.elementsEqual((row.fold ?? "").unicodeScalars))
    }

    @Test(arguments: PathCase.load("paths.jsonl").filter { $0.expect.action != "reject" && $0.fold != nil })
    func `the canonical form folds like the target`(row: PathCase) {
        var fold = PathFold()
        fold.fold(octets(row.expect.canonical ?? "").span)
        #expect(text(fold.key) == row.fold)
    }

    @Test func `the query is forwarded octet for octet`() throws {
        let table = try vectorTable()
        var scratch = RouteScratch()
        for (target, query) in [
            ("/a?", "?"), ("/a??x", "??x"), ("/a?x=%2e%zz;\\|", "?x=%2e%zz;\\|"), ("/a", ""),
            ("http://api.example.test?q", "?q"),
        ] {
            guard case .resolved(let route) = resolve(Array(target.utf8), in: table, scratch: &scratch) else {
                Issue.record("refused \(target)")
                continue
            }
            #expect(text(Array(Array(target.utf8)[route.query])) == query)
        }
    }

    @Test func `the canonical form of a canonical form is itself, and nothing traps`() throws {
        var random = SeededGenerator(state: 1)
        let pieces = ["/", "/", "..", ".", "%2e", "%2F", "a", "B", "%c3%a9", "%C3", "%41", "%2C", "%20", ";", "%", "x"]
        var once: [UInt8] = []
        var twice: [UInt8] = []
        var fold = PathFold()
        var accepted = 0
        for round in 0..<30_000 {
            var path: [UInt8] = [0x2F]
            for _ in 0..<Int.random(in: 0..<9, using: &random) {
                if round % 8 == 0 {
                    path.append(UInt8.random(in: 0...255, using: &random))
                } else {
                    path += Array((pieces.randomElement(using: &random) ?? "").utf8)
                }
            }
            fold.fold(path.span)
            guard (try? PathCanonicaliser.canonicalise(path.span, into: &once)) != nil else { continue }
            accepted += 1
            let outcome = try PathCanonicaliser.canonicalise(once.span, into: &twice)
            #expect(outcome == .unchanged && once == twice)
        }
        #expect(accepted > 5_000)
    }
}
