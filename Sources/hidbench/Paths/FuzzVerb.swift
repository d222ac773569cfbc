// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDGateway
import HIDService

/// `hidbench fuzz paths`: looks for a path that passes without a token and that some upstream reads as critical.
enum FuzzVerb {
    static let verb = CommandLineParser.Verb(
        "fuzz paths",
        options: [
            .init("rounds", value: "N", help: "requests for each policy; default 1000000"),
            .init("seed", value: "N", help: "of the generator; default 1"),
            .init("corpus", value: "FILE", help: "JSON lines whose member target is a request-target to start from"),
        ],
        help: "\(UpstreamModel.all.count) models of upstreams against the route resolver, strict and guarded")

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let rounds = try arguments.count("rounds", 1_000_000, maximum: 1_000_000_000)
        let seed = try arguments.count("seed", 1, maximum: Int.max)
        let corpus = try arguments.value("corpus").map(corpus) ?? []
        var report = BenchReport()
        for policy in PathPolicy.allCases {
            let mutator = PathMutator(seed: UInt64(seed), corpus: corpus)
            var judge = try self.judge(policy)
            var fuzz = PathFuzz(mutator: mutator)
            var found = PathFuzz.Report()
            let microseconds = ThreadClock.cost { found = fuzz.run(rounds: rounds) { judge.judge($0) } }
            guard found.misses.isEmpty, found.escapes.isEmpty else {
                throw .failure("\(policy.rawValue):\n" + (found.misses + found.escapes).joined(separator: "\n"))
            }
            add(found, policy, microseconds / Double(rounds), to: &report)
        }
        return report.text(json: arguments.has("json"))
    }

    static func judge(_ policy: PathPolicy) throws(BenchError) -> ResolverJudge {
        do throws(PathPattern.Fault) {
            return try ResolverJudge(policy: policy)
        } catch {
            throw .failure("\(error)")
        }
    }

    private static func add(
        _ found: PathFuzz.Report, _ policy: PathPolicy, _ microseconds: Double, to report: inout BenchReport
    ) {
        switch policy {
        case .strict:
            report.add("strict_refused", Double(found.refused), "strict: refused")
            report.add("strict_demanded", Double(found.demanded), "strict: token demanded")
            report.add("strict_forwarded", Double(found.forwarded), "strict: forwarded without")
            report.add("strict_us", microseconds, "strict: CPU of a round", "us")
        case .guarded:
            report.add("guarded_refused", Double(found.refused), "guarded: refused")
            report.add("guarded_demanded", Double(found.demanded), "guarded: token demanded")
            report.add("guarded_forwarded", Double(found.forwarded), "guarded: forwarded without")
            report.add("guarded_unchanged", Double(found.ambiguous), "guarded: of these ambiguous")
            report.add("guarded_us", microseconds, "guarded: CPU of a round", "us")
        }
    }

    /// The targets of a file; a line that is no object with one is skipped.
    private static func corpus(_ path: String) throws(BenchError) -> [[UInt8]] {
        let bytes = try BenchFile.contents(path, limit: 16 << 20)
        let targets = bytes.split(separator: 0x0A).compactMap { line -> [UInt8]? in
            guard let json = try? StrictJSON(Array(line)), let member = json.member("target", of: json.root),
                let text = json.textBytes(member)
            else { return nil }
            // One character is one octet.
            return String(decoding: text, as: UTF8.self).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        }
        guard !targets.isEmpty else { throw .failure("\(path.quoted) holds no targets") }
        return targets
    }
}
