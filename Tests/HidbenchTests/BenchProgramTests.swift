// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

@testable import hidbench

@Suite struct BenchProgramTests {
    @Test func `quantiles are by nearest rank`() {
        let samples = Samples([5, 1, 4, 2, 3])
        #expect(samples.median == 3)
        #expect(samples.quantile(0.95) == 5)
        #expect(samples.quantile(0.2) == 1)
        #expect(samples.quantile(0.21) == 2)
        #expect(samples.quantile(0) == 1)
        #expect(samples.maximum == 5)
        #expect(Samples([7]).quantile(0.99) == 7)
        #expect(Samples().median == 0)
        #expect(Samples().maximum == 0)
    }

    @Test func `the curve is measured`() throws {
        let (text, exit) = BenchProgram.run(["p256", "--batches", "3", "--json"])
        #expect(exit == 0)
        let figures = try #require(JSONValue(text))
        let (verify, sign) = (figures["verify_us"].number ?? 0, figures["sign_us"].number ?? 0)
        #expect(verify > 0)
        #expect(sign > 0)
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `an attestation is measured, cold and with known intermediates`() throws {
        let file = Vectors.directory + "/attestation/android/gka-pixel9a-sdk36-tee-ec-rkp-2026root.pem"
        let (text, exit) = BenchProgram.run([
            "attestation", file, "--at", "2026-02-24T00:56:03Z", "--runs", "5", "--json",
        ])
        #expect(exit == 0)
        let figures = try #require(JSONValue(text))
        #expect(figures["outcome"].text == "human" || figures["outcome"].text == "blocked")
        #expect(figures["certificates"].number ?? 0 >= 4)
        // Known intermediates spare most of the curve work.
        #expect(figures["memoised_ms"].number ?? .infinity < figures["cold_ms"].number ?? 0)
    }

    @Test func `paths are fuzzed and measured`() throws {
        let fuzz = BenchProgram.run(["fuzz", "paths", "--rounds", "1000", "--seed", "5", "--json"])
        #expect(fuzz.exit == 0)
        let counts = try #require(JSONValue(fuzz.text))
        for policy in ["strict", "guarded"] {
            let parts = ["refused", "demanded", "forwarded"].map { counts["\(policy)_\($0)"].number ?? 0 }
            #expect(parts.reduce(0, +) == 1_000)
        }
        #expect(counts["guarded_unchanged"].number ?? 0 > 20)
        #expect(BenchProgram.run(["fuzz", "paths", "--corpus", "/no/such"]).exit == 1)
        #expect(BenchProgram.run(["fuzz", "paths", "--corpus", "/dev/null"]).exit == 1)
        #expect(BenchProgram.run(["paths", "--batches", "1"]).text.contains("8 KiB"))
    }

    @Test(arguments: [
        ["issuer", "--his", "http://127.0.0.1:1", "--authority-key", "x", "--rate", "0"],
        ["issuer", "--his", "http://127.0.0.1:1", "--authority-key", "x", "--rate", "+5"],
        ["issuer", "--his", "http://127.0.0.1:1", "--authority-key", "x", "--devices", "99999999999999999999"],
        ["issuer", "--authority-key", "x"],
        ["attestation", "x", "--at", "yesterday"],
        ["p256", "--batches", "many"],
        ["p512"],
        [],
    ])
    func `a command line that makes no sense is told with exit code 2`(_ arguments: [String]) {
        let (text, exit) = BenchProgram.run(arguments)
        #expect(exit == 2)
        #expect(text.hasPrefix("hidbench: "))
    }

    @Test func `figures are readable without JSON, too`() {
        let (text, exit) = BenchProgram.run(["p256", "--batches", "1"])
        #expect(exit == 0)
        #expect(text.contains("CPU of a verification"))
        #expect(BenchProgram.run(["--help"]).text.contains("attestation"))
    }
}
