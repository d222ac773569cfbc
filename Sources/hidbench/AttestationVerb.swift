// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDIssuer
import HIDService

/// `hidbench attestation FILE`: what judging one Android chain costs.
enum AttestationVerb {
    static let verb = CommandLineParser.Verb(
        "attestation", positionals: ["FILE"],
        options: [
            .init("at", value: "TIME", required: true, help: "judge at this moment, as 2026-03-01T00:00:00Z"),
            .init("runs", value: "N", help: "verifications of each kind; default 200"),
        ], help: "milliseconds of CPU to verify an Android chain in PEM, cold and with known intermediates, medians")

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let file = arguments.positionals.first ?? ""
        let time = arguments.value("at") ?? ""
        guard let now = InternetTime.seconds(Array(time.utf8)) else {
            throw .usage("--at \(time.quoted) is no time such as 2026-03-01T00:00:00Z")
        }
        let runs = try arguments.count("runs", 200, maximum: 1_000_000)
        let chain = try chain(file)
        let (cold, memoised) = (AndroidAttestationVerifier(memoisedLinks: 0), AndroidAttestationVerifier())
        let report = cold.verify(chain: chain, policy: AndroidAttestationPolicy(), revocation: nil, now: now)
        _ = memoised.verify(chain: chain, policy: AndroidAttestationPolicy(), revocation: nil, now: now)
        var (first, later, curve) = (Samples(), Samples(), Samples())
        let yardstick = try CurveCost()
        for _ in 0..<runs {
            first.add(cost(cold, chain, now))
            later.add(cost(memoised, chain, now))
            curve.add(yardstick.verification(4))
        }
        var figures = BenchReport()
        figures.add("outcome", report.outcome.rawValue)
        figures.add("reason", report.reason?.rawValue ?? "")
        figures.add("certificates", Double(chain.count), "certificates")
        figures.add("p256_us", curve.median, "CPU of a P-256 verification", "us")
        figures.add("cold_ms", first.median, "CPU of a chain never seen", "ms")
        figures.add("memoised_ms", later.median, "CPU with known intermediates", "ms")
        return figures.text(json: arguments.has("json"))
    }

    /// Milliseconds.
    private static func cost(_ verifier: AndroidAttestationVerifier, _ chain: [[UInt8]], _ now: Int64) -> Double {
        ThreadClock.cost {
            _ = verifier.verify(chain: chain, policy: AndroidAttestationPolicy(), revocation: nil, now: now)
        } / 1000
    }

    private static func chain(_ file: String) throws(BenchError) -> [[UInt8]] {
        let pem = try BenchFile.contents(file, limit: PEM.maximumSize)
        do throws(PEMFault) {
            return try PEM.blocks(pem, label: "CERTIFICATE")
        } catch {
            throw .failure("\(file.quoted) is no PEM: \(error)")
        }
    }
}
