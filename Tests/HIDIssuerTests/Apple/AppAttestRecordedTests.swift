// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

@Suite(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
struct AppAttestRecordedTests {
    static let passing = AppAttestVectors.entries("attestation", verdict: "pass")
    static let unknown = AppAttestVectors.entries("attestation", verdict: "fail-unknown-challenge")
    static let assertions = AppAttestVectors.entries("assertion")

    @Test func `no recorded evidence is left out`() {
        #expect(Self.passing.count == 16)
        #expect(Self.unknown.count == 2)
        #expect(Self.assertions.count == 11)
        #expect(AppAttestVectors.entries("receipt").count == 8)
        let sum = AppAttestVectors.entries("attestation").count
        #expect(sum == 18)
    }

    @Test(arguments: passing)
    func `a recorded attestation passes while its leaf lives`(_ entry: AppAttestVectors.Entry) throws {
        let file = try entry.evidence()
        for time in [entry.start, entry.start + 86400, entry.end] {
            let report = file.explain(AppAttestExpectations(now: time))
            #expect(report.outcome == .human, "\(report.text)")
            #expect(report.names(.skipped) == ["validation_category", "device_key"])
            #expect(report.tier == .secureEnclave)
            let key = try #require(report.key)
            #expect(key.level == .secureEnclave)
            #expect(key.keyID == file.keyID)
            #expect(key.assertionKey.map { P256Curve.subjectPublicKeyInfoPrefix + $0 } == key.subjectPublicKeyInfo)
            #expect(report.fact("app_id") == file.appID)
            #expect(report.fact("environment") == file.environment?.rawValue)
            #expect(report.fact("os_version") != nil)
        }
        #expect(file.explain(AppAttestExpectations(now: entry.start - 1)).reasons == [.notYetValid])
        #expect(file.explain(AppAttestExpectations(now: entry.end + 1)).reasons == [.certificateExpired])
        #expect(file.explain(AppAttestExpectations(now: .min)).reasons == [.notYetValid])
        #expect(file.explain(AppAttestExpectations(now: .max)).reasons == [.certificateExpired])
    }

    @Test(arguments: passing)
    func `a recorded attestation fails for exactly what is asked otherwise`(_ entry: AppAttestVectors.Entry) throws {
        let file = try entry.evidence()
        var expectations = AppAttestExpectations(now: entry.start + 3600)
        expectations.environment = file.environment == .production ? .development : .production
        var report = file.explain(expectations)
        #expect(report.reasons == [.wrongEnvironment])
        #expect(report.outcome == .blocked)
        expectations.environment = nil
        expectations.appID = try #require(file.appID) + "x"
        report = file.explain(expectations)
        #expect(report.reasons == [.wrongApp])
        #expect(report.outcome == .blocked)
        expectations.appID = nil
        expectations.challenge = try #require(file.clientData) + [0]
        report = file.explain(expectations)
        #expect(report.reasons == [.nonceMismatch])
        #expect(report.outcome == .rejected)
        expectations.challenge = nil
        var other = file
        other.hashRule = .raw
        #expect(other.explain(expectations).reasons == [.nonceMismatch])
        other = file
        other.keyID?[0] ^= 1
        #expect(other.explain(expectations).reasons == [.keyIDMismatch])
        other = file
        other.publicKey = try P256PrivateKey().publicKey.subjectPublicKeyInfo
        #expect(other.explain(expectations).reasons == [.nonceMismatch])
    }

    @Test(arguments: unknown)
    func `an attestation whose challenge is not known fails for any guess and in nothing else`(
        _ entry: AppAttestVectors.Entry
    ) throws {
        let file = try entry.evidence()
        var expectations = AppAttestExpectations(now: entry.start + 3600)
        let report = file.explain(expectations)
        #expect(report.names(.fail) == ["challenge"])
        #expect(report.names(.skipped) == ["nonce", "validation_category", "device_key"])
        for guess in [[], Array("challenge".utf8), [UInt8](repeating: 0, count: 32)] {
            expectations.challenge = guess
            let guessed = file.explain(expectations)
            #expect(guessed.reasons == [.nonceMismatch])
            #expect(guessed.names(.fail) == ["nonce"])
            #expect(guessed.outcome == .rejected)
        }
    }

    @Test(arguments: assertions)
    func `a recorded assertion comes out as recorded`(_ entry: AppAttestVectors.Entry) throws {
        let file = try entry.evidence()
        let report = file.explain(AppAttestExpectations(now: 0))
        let data = try #require(file.clientData)
        let hash = SHA256.digest(data)
        let spki = try #require(file.publicKey)
        let point = try P256PublicKey(subjectPublicKeyInfo: spki).point
        let appIDs = [try #require(file.appID)]
        let counter = try #require(entry.counter)
        func verify(_ appIDs: [String], _ stored: UInt32) -> Result<UInt32, AssertionFault> {
            AppAttestVerifier.verifyAssertion(
                file.octets, clientDataHash: hash, point: point, appIDs: appIDs, storedCounter: stored)
        }
        guard entry.verdict == "pass" else {
            #expect(report.reasons == [.badSignature])
            #expect(verify(appIDs, 0) == .failure(.badSignature))
            return
        }
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.names(.skipped).isEmpty)
        #expect(verify(["other"] + appIDs, counter - 1) == .success(counter))
        #expect(verify(appIDs, counter) == .failure(.counterReplayed))
        #expect(verify(appIDs, .max) == .failure(.counterReplayed))
        #expect(verify(["other"], 0) == .failure(.wrongApp))
        #expect(verify([], 0) == .failure(.wrongApp))
    }

    @Test func `no change of an octet makes a recorded assertion pass`() throws {
        let file = try #require(Self.assertions.first { $0.file.contains("kayak") }).evidence()
        let data = try #require(file.clientData)
        let hash = SHA256.digest(data)
        let point = Array(try #require(file.publicKey).suffix(65))
        let appIDs = [try #require(file.appID)]
        func passes(_ octets: [UInt8], _ hash: [UInt8], _ point: [UInt8]) -> Bool {
            let result = AppAttestVerifier.verifyAssertion(
                octets, clientDataHash: hash, point: point, appIDs: appIDs, storedCounter: 0)
            return (try? result.get()) != nil
        }
        #expect(passes(file.octets, hash, point))
        for index in file.octets.indices {
            for bit in 0..<8 {
                var changed = file.octets
                changed[index] ^= 1 << bit
                #expect(!passes(changed, hash, point), "octet \(index), bit \(bit)")
            }
            #expect(!passes(Array(file.octets.prefix(index)), hash, point))
        }
        for index in hash.indices {
            var changed = hash
            changed[index] ^= 1
            #expect(!passes(file.octets, changed, point))
        }
        #expect(!passes(file.octets, hash, try P256PrivateKey().publicKey.point))
        #expect(!passes(file.octets, hash, []))
    }

    @Test func `no change of an octet outside the receipt makes a recorded attestation human`() throws {
        let entry = try #require(Self.passing.first { $0.file.contains("kayak") })
        let file = try entry.evidence()
        let receipt = try #require(file.octets.firstRange(of: Array("receipt".utf8))).upperBound + 3
        let end = try #require(file.octets.lastRange(of: Array("authData".utf8))).lowerBound - 1
        #expect(end - receipt > 3000)
        var changed = file
        for index in file.octets.indices where !(receipt..<end).contains(index) {
            changed.octets[index] ^= 1 << UInt8(index % 8)
            let report = changed.explain(AppAttestExpectations(now: entry.start + 3600))
            #expect(report.outcome != .human, "octet \(index)")
            changed.octets[index] = file.octets[index]
        }
        // Nothing vouches for the receipt here: it is verified by itself.
        for index in [receipt, receipt + 100, end - 1] {
            changed.octets[index] ^= 1
            #expect(changed.explain(AppAttestExpectations(now: entry.start + 3600)).outcome == .human)
            #expect(throws: ReceiptFault.self) {
                try AppAttestReceipt(verifying: Array(changed.octets[receipt..<end]))
            }
            changed.octets[index] = file.octets[index]
        }
    }
}

extension RandomAccessCollection where Element: Equatable, Index == Int {
    /// The last place at which `other` stands.
    fileprivate func lastRange(of other: [Element]) -> Range<Int>? {
        indices.reversed().first { self[$0...].starts(with: other) }.map { $0..<$0 + other.count }
    }
}
