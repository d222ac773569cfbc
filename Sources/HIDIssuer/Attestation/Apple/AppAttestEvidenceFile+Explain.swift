// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// What the one who replays evidence expects of it; what is nil is taken from the evidence's file.
package struct AppAttestExpectations: Sendable {
    /// Wall clock, seconds since 1970.
    package var now: Int64
    /// The challenge, in place of the client data of the file.
    package var challenge: [UInt8]?
    /// `TEAM.BUNDLE`.
    package var appID: String?
    package var environment: AppAttestEnvironment?
    package var extraRoots: [Certificate] = []

    package init(now: Int64) {
        self.now = now
    }
}

extension AppAttestEvidenceFile {
    /// Replays the evidence.
    ///
    /// Assertions and receipts are judged without the clock: an assertion has no time, and a receipt is verified as of
    /// the time at which it was made.
    package func explain(_ expectations: AppAttestExpectations) -> AttestationReport {
        switch kind {
        case .attestation: explainAttestation(expectations)
        case .assertion: explainAssertion(expectations)
        case .receipt: explainReceipt(expectations)
        }
    }

    private func clientDataHash(_ expectations: AppAttestExpectations) -> [UInt8]? {
        guard let challenge = expectations.challenge ?? clientData else { return nil }
        let data = kind == .attestation ? challenge + (publicKey ?? []) : challenge
        return hashRule == .raw ? data : SHA256.digest(data.span)
    }

    private func explainAttestation(_ expectations: AppAttestExpectations) -> AttestationReport {
        var policy = AppAttestPolicy()
        policy.clientDataHash = clientDataHash(expectations)
        policy.appIDs = (expectations.appID ?? appID).map { [$0] }
        policy.environment = expectations.environment ?? environment
        policy.keyID = keyID
        policy.deviceKey = publicKey
        policy.extraRoots = expectations.extraRoots
        return AppAttestVerifier().verifyAttestation(octets, policy: policy, now: expectations.now)
    }

    // MARK: - Assertion

    private func explainAssertion(_ expectations: AppAttestExpectations) -> AttestationReport {
        var report = AttestationReport()
        let assertion: AppAttestAssertion
        do {
            assertion = try AppAttestAssertion(octets)
            report.pass("assertion", "\(octets.count) octets")
        } catch {
            report.fail("assertion", .malformed, "not a map of signature and authenticatorData")
            return report
        }
        guard let publicKey, let key = try? P256PublicKey(subjectPublicKeyInfo: publicKey) else {
            report.fail("key", .keyNotP256, "not the DER of an uncompressed P-256 key")
            return report
        }
        report.pass("key", "P-256")
        report.checkApp(assertion.data.appIDHash, expectations.appID ?? appID)
        if let hash = clientDataHash(expectations) {
            let isSigned = assertion.isSigned(by: key.point, clientDataHash: hash)
            report.judge("signature", isSigned, .badSignature)
        } else {
            report.skip("signature", "no client data was given")
        }
        let found = assertion.data.counter
        if let counter {
            report.judge("counter", found == counter, .counterReplayed, "\(found), expected \(counter)")
        } else {
            report.skip("counter", "\(found); none was given")
        }
        report.setKey(publicKey, point: key.point, facts: [AttestedKey.Fact("counter", "\(found)")])
        return report
    }

    // MARK: - Receipt

    private func explainReceipt(_ expectations: AppAttestExpectations) -> AttestationReport {
        var report = AttestationReport()
        let receipt: AppAttestReceipt
        do {
            receipt = try AppAttestReceipt(verifying: octets, extraRoots: expectations.extraRoots)
            report.pass("receipt", "\(octets.count) octets, made at \(receipt.created)")
        } catch {
            report.fail("receipt", error.reason, error.detail)
            return report
        }
        if let wanted = expectations.appID ?? appID {
            report.judge("app_id", receipt.appID == wanted, .wrongApp, receipt.appID)
        } else {
            report.skip("app_id", "no app was given")
        }
        if let wanted = keyID {
            report.judge("key_id", receipt.keyID == wanted, .keyIDMismatch, "of the attested certificate")
        } else {
            report.skip("key_id", "no key identifier was given")
        }
        if let wanted = expectations.environment ?? environment {
            report.judge(
                "environment", receipt.environment == wanted, .wrongEnvironment, receipt.environment.rawValue)
        } else {
            report.skip("environment", "\(receipt.environment.rawValue); none was given")
        }
        let publicKey = receipt.attestedCertificate.subjectPublicKeyInfo
        guard let key = try? P256PublicKey(subjectPublicKeyInfo: publicKey) else {
            report.fail("key", .keyNotP256, "\(receipt.attestedCertificate.keyKind)")
            return report
        }
        report.setKey(publicKey, point: key.point, facts: receipt.facts)
        return report
    }
}

extension AppAttestReceipt {
    /// For log and registry.
    package var facts: [AttestedKey.Fact] {
        var facts = [
            AttestedKey.Fact("app_id", appID), AttestedKey.Fact("environment", environment.rawValue),
            AttestedKey.Fact("receipt_kind", kind.rawValue), AttestedKey.Fact("receipt_created", "\(created)"),
            AttestedKey.Fact("receipt_expiry", "\(expiry)"),
        ]
        if let notBefore { facts.append(AttestedKey.Fact("receipt_not_before", "\(notBefore)")) }
        if let riskMetric { facts.append(AttestedKey.Fact("risk_metric", "\(riskMetric)")) }
        return facts
    }
}

extension ReceiptFault {
    var reason: AttestationReason {
        switch self {
        case .malformed: .malformed
        case .chain(let reason, _): reason
        case .signer: .issuerConstraints
        case .badSignature: .badSignature
        }
    }

    var detail: String {
        switch self {
        case .malformed(let words): words
        case .chain(_, let words): words
        case .signer: "the signer's certificate is not the one of receipts"
        case .badSignature: "not signed by the signer's certificate"
        }
    }
}

extension AttestationReport {
    fileprivate mutating func judge(
        _ name: StaticString, _ holds: Bool, _ reason: AttestationReason, _ detail: String = ""
    ) {
        if holds { pass(name, detail) } else { fail(name, reason, detail) }
    }

    fileprivate mutating func checkApp(_ hash: [UInt8], _ appID: String?) {
        guard let appID else { return skip("app_id", "no app was given") }
        judge("app_id", AppAttestAppID.match(hash, among: [appID]) != nil, .wrongApp, appID)
    }

    fileprivate mutating func setKey(_ publicKey: [UInt8], point: [UInt8], facts: [AttestedKey.Fact]) {
        var key = AttestedKey(subjectPublicKeyInfo: publicKey, level: .secureEnclave)
        key.keyID = SHA256.digest(point.span)
        key.assertionKey = point
        key.facts = facts
        self.key = key
        tier = .secureEnclave
    }
}
