import HIDCrypto
import HIDIssuer
import HIDTesting
// SPDX-License-Identifier: Apache-2.0
import Testing

/// Recorded evidence of real phones.
enum AppAttestVectors {
    /// What the manifest says of one file.
    struct Entry: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let kind: String
        let verdict: String
        let notBefore: String?
        let notAfter: String?
        let counter: UInt32?

        var testDescription: String { file }

        /// Seconds since 1970.
        var start: Int64 { notBefore.flatMap { InternetTime.seconds(Array($0.utf8)) } ?? 0 }
        /// Seconds since 1970.
        var end: Int64 { notAfter.flatMap { InternetTime.seconds(Array($0.utf8)) } ?? 0 }

        func evidence() throws -> AppAttestEvidenceFile {
            try AppAttestEvidenceFile.parse(Vectors.bytes("attestation/" + file))
        }
    }

    private struct Manifest: Decodable {
        let ios: [Entry]
    }

    /// All entries of a kind; none without the vectors.
    static func entries(_ kind: String, verdict: String? = nil) -> [Entry] {
        guard let manifest = try? Vectors.json("attestation/manifest.json", as: Manifest.self) else { return [] }
        return manifest.ios.filter { $0.kind == kind && (verdict == nil || $0.verdict == verdict) }
    }
}

extension AttestationReport {
    /// The names of the checks with a result.
    func names(_ result: AttestationCheck.Result) -> [String] {
        checks.filter { $0.result == result }.map { "\($0.name)" }
    }

    func fact(_ name: String) -> String? {
        key?.facts.first { $0.name == name }?.value
    }
}
