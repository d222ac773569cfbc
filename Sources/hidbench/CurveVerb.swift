// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDService

/// One P-256 operation, the yardstick of every other figure: a plain ECDSA verification by OpenSSL.
struct CurveCost {
    private let verifier: P256Verifier
    private let key: P256PrivateKey
    private let digest: [UInt8]
    private let signature: [UInt8]

    init() throws(BenchError) {
        do throws(CryptoError) {
            let digest = SHA256.digest("hidbench".utf8.span)
            verifier = try P256Verifier()
            key = try P256PrivateKey()
            signature = try key.sign(digest: digest.span)
            self.digest = digest
        } catch {
            throw .failure("OpenSSL: \(error)")
        }
    }

    /// Microseconds of CPU for each of `count` verifications.
    func verification(_ count: Int) -> Double {
        let (digest, signature, point) = (digest, signature, key.publicKey.point)
        let total = ThreadClock.cost {
            for _ in 0..<count {
                _ = verifier.verify(digest: digest.span, signature: signature.span, point: point.span)
            }
        }
        return total / Double(max(1, count))
    }

    /// Microseconds of CPU for each of `count` signatures.
    func signing(_ count: Int) -> Double {
        let total = ThreadClock.cost { for _ in 0..<count { _ = try? key.sign(digest: digest.span) } }
        return total / Double(max(1, count))
    }
}

/// `hidbench p256`: what the curve costs on this machine.
enum CurveVerb {
    static let verb = CommandLineParser.Verb(
        "p256", options: [.init("batches", value: "N", help: "batches of 50 operations each; default 100")],
        help: "microseconds of CPU of a P-256 verification and of a signature, medians")

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let batches = try arguments.count("batches", 100, maximum: 1_000_000)
        let cost = try CurveCost()
        var (verifications, signatures) = (Samples(), Samples())
        _ = cost.verification(50)
        for _ in 0..<batches {
            verifications.add(cost.verification(50))
            signatures.add(cost.signing(50))
        }
        var report = BenchReport()
        report.add("verify_us", verifications.median, "CPU of a verification", "us")
        report.add("sign_us", signatures.median, "CPU of a signature", "us")
        return report.text(json: arguments.has("json"))
    }
}
