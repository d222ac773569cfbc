// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

private struct ECDSAFile: Decodable {
    struct Group: Decodable {
        struct Key: Decodable {
            let uncompressed: String
        }
        struct Case: Decodable {
            let tcId: Int
            let comment: String
            let msg: String
            let sig: String
            let result: String
        }
        let publicKey: Key
        let publicKeyDer: String
        let tests: [Case]
    }
    let numberOfTests: Int
    let testGroups: [Group]
}

@Suite(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
struct WycheproofTests {
    /// Runs a file through both verifiers, which must agree; returns how many cases ran.
    private func run(_ file: String, raw: ([UInt8]) -> [UInt8]?) throws -> (valid: Int, invalid: Int) {
        let vectors = try Vectors.json(file, as: ECDSAFile.self)
        let reusable = try P256Verifier()
        var counts = (valid: 0, invalid: 0)
        for group in vectors.testGroups {
            let key = try P256PublicKey(subjectPublicKeyInfo: Vectors.hex(group.publicKeyDer))
            let fixed = try P256PublicKey(point: key.point, precomputing: true)
            #expect(fixed.isPrecomputed)
            #expect(key.point == Vectors.hex(group.publicKey.uncompressed))
            #expect(key.subjectPublicKeyInfo == Vectors.hex(group.publicKeyDer))
            for test in group.tests {
                let message = Vectors.hex(test.msg)
                let digest = SHA256.digest(message)
                let signature = Vectors.hex(test.sig)
                var isValid = false
                if let octets = raw(signature) {
                    isValid = key.verify(digest: digest, signature: octets)
                    let other = reusable.verify(digest: digest, signature: octets, point: key.point)
                    #expect(isValid == (other == .valid), "\(test.tcId): the two verifiers disagree")
                    let isValidByTable = fixed.verify(digest: digest, signature: octets)
                    #expect(isValid == isValidByTable, "\(test.tcId): the table disagrees")
                }
                #expect(isValid == (test.result == "valid"), "\(test.tcId) \(test.comment)")
                if isValid { counts.valid += 1 } else { counts.invalid += 1 }
            }
        }
        #expect(counts.valid + counts.invalid == vectors.numberOfTests)
        return counts
    }

    @Test func `DER signatures come out as Wycheproof says`() throws {
        let counts = try run("crypto/ecdsa_secp256r1_sha256_test.json") { try? ECDSASignature.parseDER($0) }
        #expect(counts.valid == 174)
        #expect(counts.invalid == 310)
    }

    @Test func `64-octet signatures come out as Wycheproof says`() throws {
        let counts = try run("crypto/ecdsa_secp256r1_sha256_p1363_test.json") { $0 }
        #expect(counts.valid == 173)
        #expect(counts.invalid == 89)
    }

    @Test func `a valid DER signature survives the way to 64 octets and back`() throws {
        let vectors = try Vectors.json("crypto/ecdsa_secp256r1_sha256_test.json", as: ECDSAFile.self)
        for test in vectors.testGroups.flatMap(\.tests) where test.result == "valid" {
            let der = Vectors.hex(test.sig)
            let raw = try ECDSASignature.parseDER(der)
            #expect(ECDSASignature.encodeDER(raw) == der)
        }
    }
}
