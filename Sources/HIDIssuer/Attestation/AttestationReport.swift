// SPDX-License-Identifier: Apache-2.0

/// How an attested key is held and provisioned, best first.
package enum AttestationTier: String, Sendable, CaseIterable {
    case strongboxRKP = "strongbox-rkp"
    case strongboxFactory = "strongbox-factory"
    case teeRKP = "tee-rkp"
    case teeFactory = "tee-factory"
    /// Locked, with a boot key of the operator's allow-list instead of the maker's.
    case selfSignedAllowed = "self-signed-allowed"
    case secureEnclave = "secure-enclave"
    case test
}

/// Where a key lives, as the token's `lvl` says it.
package enum SecurityLevel: String, Sendable, CaseIterable {
    case strongbox
    case tee
    case secureEnclave = "secure_enclave"
    case software
}

/// One thing that was looked at.
package struct AttestationCheck: Sendable, Equatable {
    /// How it came out.
    package enum Result: String, Sendable {
        case pass
        case fail
        /// Not judged: its expected value was not given, or what it needs was not there.
        case skipped
    }

    /// A stable name, snake case.
    package var name: StaticString
    package var result: Result
    /// What was seen, for people; never a secret, an identifier of a person or device-id attestation.
    package var detail: String

    package static func == (left: Self, right: Self) -> Bool {
        "\(left.name)" == "\(right.name)" && left.result == right.result && left.detail == right.detail
    }
}

/// What a verified attestation proves about a key, as far as it could be read.
package struct AttestedKey: Sendable, Equatable {
    /// SubjectPublicKeyInfo of the device key, DER: named P-256, uncompressed.
    package var subjectPublicKeyInfo: [UInt8]
    package var level: SecurityLevel
    /// SHA-256 of the SPKI of the batch or attestation certificate, lower-case hex; nil where there is none.
    package var batchID: String?
    /// What a later revocation would name: lower-case hex without leading zeros (attested certificates and the
    /// batch certificate's subject serial number).
    package var revocationSerials: [String] = []
    /// The App Attest key identifier, 32 octets; nil on other platforms.
    package var keyID: [UInt8]?
    /// Uncompressed point of the App Attest key, 65 octets; later assertions are checked with it.
    package var assertionKey: [UInt8]?
    /// Further facts for log and registry: names and values in a fixed order.
    package var facts: [Fact] = []

    /// A fact such as `os_version` and `160000`.
    package struct Fact: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(subjectPublicKeyInfo: [UInt8], level: SecurityLevel) {
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        self.level = level
    }
}

/// Everything that was found out about one piece of evidence; the server and `hidctl attest explain` read the same.
package struct AttestationReport: Sendable, Equatable {
    package private(set) var checks: [AttestationCheck] = []
    /// Every reason against it, in the order in which they were found, each once.
    package private(set) var reasons: [AttestationReason] = []
    package var tier: AttestationTier?
    /// Set as soon as the key itself was read; trust it only when `outcome` is not `rejected`.
    package var key: AttestedKey?

    package init() {}

    /// The worst that the reasons ask for.
    package var outcome: AttestationOutcome {
        if reasons.contains(where: { $0.outcome == .rejected }) || key == nil { return .rejected }
        return reasons.isEmpty ? .human : .blocked
    }

    /// The first reason of the worst kind.
    package var reason: AttestationReason? {
        reasons.first { $0.outcome == .rejected } ?? reasons.first
    }

    package mutating func pass(_ name: StaticString, _ detail: String = "") {
        checks.append(AttestationCheck(name: name, result: .pass, detail: detail))
    }

    package mutating func skip(_ name: StaticString, _ detail: String) {
        checks.append(AttestationCheck(name: name, result: .skipped, detail: detail))
    }

    package mutating func fail(_ name: StaticString, _ reason: AttestationReason, _ detail: String) {
        checks.append(AttestationCheck(name: name, result: .fail, detail: detail))
        if !reasons.contains(reason) { reasons.append(reason) }
    }
}
