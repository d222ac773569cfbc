// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

/// A recorded chain of a phone and what is known about it.
struct RecordedChain: Decodable, Sendable, CustomTestStringConvertible {
    struct Root: Decodable, Sendable {
        let key: String
        let locked: String
        let state: Int64
        let hash: String?
    }

    let file: String
    let certs: Int
    let complete: Bool
    let provisioning: String
    let anchor: String?
    let keyDescriptionAt: [Int]
    let refTime: String?
    let verdict: String
    let failReasons: [String]
    let serialsHex: [String]
    let leafSpkiSha256: String
    let attestationVersion: Int64?
    let attestationLevel: String?
    let keymintVersion: Int64?
    let keymintLevel: String?
    let challengeHex: String?
    let packages: [String]?
    let packageVersions: [Int64]?
    let signerDigestsHex: [String]?
    let hwAlgorithm: Int64?
    let hwKeySize: Int64?
    let hwPurposes: [Int64]?
    let hwOrigin: Int64?
    let osVersion: Int64?
    let osPatch: Int64?
    let vendorPatch: Int64?
    let bootPatch: Int64?
    let hwRootOfTrust: Root?
    let passWithVerifiedBootKey: String?

    var testDescription: String { String(file.dropFirst("android/".count)) }

    /// Every entry; empty without the data.
    static let all: [RecordedChain] = {
        struct Manifest: Decodable { let android: [RecordedChain] }
        return (try? Vectors.json("attestation/manifest.json", as: Manifest.self).android) ?? []
    }()

    static func named(_ name: String) throws -> RecordedChain {
        try #require(all.first { $0.testDescription == name + ".pem" })
    }

    func chain() throws -> [[UInt8]] {
        try PEM.blocks(Vectors.bytes("attestation/" + file), label: "CERTIFICATE")
    }

    /// Seconds since 1970 at which the chain was good, or any time.
    var now: Int64 {
        let date = refTime.flatMap { ISO8601DateFormatter().date(from: $0) }
        return Int64(date?.timeIntervalSince1970 ?? 1_772_323_200)
    }

    /// What the entry says, as a policy.
    var policy: AndroidAttestationPolicy {
        var policy = AndroidAttestationPolicy()
        policy.challenge = challengeHex.flatMap { $0.isEmpty ? nil : Vectors.hex($0) }
        // Device-id attestation names no application.
        let isNamed = signerDigestsHex?.isEmpty == false
        policy.packages = isNamed ? packages : nil
        policy.signerDigests = isNamed ? signerDigestsHex.map { $0.map(Vectors.hex) } : nil
        policy.securityLevels = [.strongbox, .tee]
        policy.allowAttestKey = keyDescriptionAt == [0, 1]
        return policy
    }

    /// Not from a phone: the description has a third list, which the record read past and we refuse.
    var isMock: Bool { file.contains("iro-mock") }

    /// The reasons that the entry records.
    var reasons: Set<AttestationReason> {
        if isMock { return [.untrustedRoot, .keyNotP256, .keyDescriptionMalformed] }
        return Set(
            failReasons.map { words in
                for (start, reason) in Self.words where words.hasPrefix(start) { return reason }
                return .malformed
            })
    }

    private static let words: [(String, AttestationReason)] = [
        ("sig[", .badSignature), ("unlocked", .bootloaderUnlocked), ("bootState=2", .bootUnverified),
        ("bootState=1", .bootSelfSigned), ("not P-256", .keyNotP256), ("no hw rootOfTrust", .rootOfTrustMissing),
        ("software root", .softwareRoot), ("software level", .softwareAttestation),
        ("levels differ", .softwareAttestation), ("no trusted anchor", .untrustedRoot), ("origin=", .keyImported),
        ("no SIGN", .keyPurpose), ("no KD", .keyDescriptionMissing), ("inter[1] not yet valid", .notYetValid),
        ("KD parse error", .keyDescriptionMalformed), ("name[", .chainOrder),
    ]
}
