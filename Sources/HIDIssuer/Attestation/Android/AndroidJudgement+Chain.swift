// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Everything about the certificates above the leaf.
extension AndroidJudgement {
    /// Seconds that the clock of Google and ours may differ when remotely provisioned certificates begin or end.
    static let clockSkew: Int64 = 300

    mutating func judgeChain(_ chain: inout AndroidChain, _ description: KeyDescription?) {
        judgeOrder(chain)
        judgeEnd(chain)
        judgeLinks(&chain)
        judgePlaces(&chain, description)
        judgeConstraints(chain)
        judgeDates(chain)
        judgeRevocation(chain)
    }

    private mutating func judgeOrder(_ chain: AndroidChain) {
        for index in chain.path.indices {
            let above = index + 1 < chain.path.count ? chain.path[index + 1].subject.der : chain.top?.subject
            guard chain.path[index].issuer.der != above else { continue }
            return report.fail("chain_order", .chainOrder, "certificate \(index) names another issuer")
        }
        report.pass("chain_order")
    }

    private mutating func judgeEnd(_ chain: AndroidChain) {
        switch chain.end {
        case .anchor(let anchor): report.pass("anchor", anchor.name)
        case .software(let anchor): report.fail("anchor", .softwareRoot, anchor.name)
        case .unknown: report.fail("anchor", .untrustedRoot, "no known key ends the chain")
        }
    }

    // MARK: - Links

    private mutating func judgeLinks(_ chain: inout AndroidChain) {
        guard var parent = chain.top, chain.isAnchored || policy.verifiesEveryLink else {
            return report.skip("signatures", "nothing that is trusted to verify with")
        }
        var isTrusted = chain.isAnchored
        var isGood = true
        // From the anchor down, so that only what a trusted key signed is remembered.
        for index in chain.path.indices.reversed() {
            let child = chain.path[index]
            let fault = linkFault(child, parent.key, parent.fingerprint, remember: isTrusted && index > 0)
            if let fault {
                report.fail("signatures", fault, "certificate \(index)")
                (isTrusted, isGood) = (false, false)
                guard policy.verifiesEveryLink else { break }
            }
            parent = (child.subject.der, child.subjectPublicKeyInfo, nil)
        }
        chain.isVerified = isTrusted
        if isGood { report.pass("signatures", "\(chain.path.count) links") }
    }

    private func linkFault(
        _ child: Certificate, _ key: [UInt8], _ fingerprint: [UInt8]?, remember: Bool
    ) -> AttestationReason? {
        guard let algorithm = child.signatureAlgorithm, let kind = try? PublicKeyKind(subjectPublicKeyInfo: key),
            algorithm.fits(kind)
        else { return .signatureAlgorithm }
        guard remember else { return child.isSigned(bySubjectPublicKeyInfo: key) ? nil : .badSignature }
        let link = LinkCache.key(child: child, parent: fingerprint ?? SHA256.digest(key.span))
        if links.contains(link) { return nil }
        guard child.isSigned(bySubjectPublicKeyInfo: key) else { return .badSignature }
        links.insert(link)
        return nil
    }

    // MARK: - Places of attestation extensions

    /// A genuine key may sign octets that are a certificate: its own attestation extension, one level up, tells.
    private mutating func judgePlaces(_ chain: inout AndroidChain, _ description: KeyDescription?) {
        let places = chain.path.indices.filter { chain.path[$0].extension(KeyDescription.oid) != nil }
        if let high = places.first(where: { $0 >= 2 }) {
            return report.fail("chain_extension", .chainExtended, "certificate \(high) is an attested key")
        }
        guard chain.path.count > 1 else { return report.pass("chain_extension") }
        guard let found = chain.path[1].extension(KeyDescription.oid) else {
            guard !chain.path[1].subject.has(.commonName, "Android Keystore Key") else {
                return report.fail("chain_extension", .chainExtended, "a keystore key signed the leaf")
            }
            return report.pass("chain_extension")
        }
        guard let description, let upper = try? KeyDescription(found.value),
            Self.isAttestKey(upper, of: description)
        else { return report.fail("chain_extension", .chainExtended, "certificate 1 is an attested key") }
        chain.hasAttestKey = true
        guard policy.allowAttestKey else {
            return report.fail("chain_extension", .attestKeyUnsupported, "certificate 1 is an ATTEST_KEY")
        }
        report.pass("chain_extension", "ATTEST_KEY")
    }

    /// Whether the key above can do nothing but attest, and says the same of phone, application and nonce.
    private static func isAttestKey(_ upper: KeyDescription, of leaf: KeyDescription) -> Bool {
        let (key, own) = (upper.hardwareEnforced, leaf.hardwareEnforced)
        return key.purposes == [7] && key.origin == 0 && (key.algorithm == 1 || key.algorithm == 3)
            && key.rootOfTrust != nil && key.rootOfTrust == own.rootOfTrust
            && upper.attestationLevel == leaf.attestationLevel && upper.keymintLevel == leaf.keymintLevel
            && upper.attestationVersion == leaf.attestationVersion && upper.keymintVersion == leaf.keymintVersion
            && key.osVersion == own.osVersion && key.osPatch == own.osPatch && key.vendorPatch == own.vendorPatch
            && key.bootPatch == own.bootPatch && upper.applicationID == leaf.applicationID
            && upper.challenge == leaf.challenge
    }

    // MARK: - Constraints and dates

    private mutating func judgeConstraints(_ chain: AndroidChain) {
        for index in chain.path.indices.dropFirst() {
            if chain.hasAttestKey, index == 1 { continue }
            guard let words = constraintFault(chain, index) else { continue }
            return report.fail("issuer_constraints", .issuerConstraints, "certificate \(index): \(words)")
        }
        report.pass("issuer_constraints")
    }

    private func constraintFault(_ chain: AndroidChain, _ index: Int) -> String? {
        let certificate = chain.path[index]
        let known = [Certificate.basicConstraintsOID, Certificate.keyUsageOID, KeyDescription.oid]
        if let other = certificate.extensions.first(where: { $0.isCritical && !known.contains($0.oid) }) {
            return "critical extension \(other.oid)"
        }
        guard let constraints = certificate.basicConstraints else { return "no basicConstraints" }
        // Batch certificates of Sony say CA:FALSE.
        let isBatch = index == 1 && !chain.isRemotelyProvisioned && certificate.extension(KeyDescription.oid) == nil
        guard constraints.isAuthority else { return isBatch ? nil : "not a certificate authority" }
        guard certificate.keyUsage?.keyCertSign != false else { return "keyUsage without keyCertSign" }
        let below = index - (chain.hasAttestKey ? 2 : 1)
        guard let limit = constraints.pathLength, limit < below else { return nil }
        return "path length \(limit)"
    }

    /// The dates of the leaf and of an ATTEST_KEY are set by the phone and mean nothing.
    ///
    /// Factory certificates are burnt in: they may expire. Remotely provisioned ones are renewed, and may not.
    private mutating func judgeDates(_ chain: AndroidChain) {
        let isRemote = chain.isRemotelyProvisioned
        facts.append(.init("provisioning", isRemote ? "rkp" : "factory"))
        let info = chain.batch?.extension(AndroidChain.provisioningInfoOID)
        if let number = info.flatMap({ ProvisioningInfo($0.value) })?.certificatesIssued {
            facts.append(.init("certificates_issued", "\(number)"))
        }
        var isGood = true
        for index in chain.path.indices.dropFirst() where !(chain.hasAttestKey && index == 1) {
            let certificate = chain.path[index]
            if now < certificate.notBefore - Self.clockSkew {
                report.fail("dates", .notYetValid, "certificate \(index) begins at \(certificate.notBefore)")
                isGood = false
            } else if isRemote, now > certificate.notAfter + Self.clockSkew {
                report.fail("dates", .rkpExpired, "certificate \(index) ended at \(certificate.notAfter)")
                isGood = false
            }
        }
        if isGood { report.pass("dates", isRemote ? "remotely provisioned" : "factory") }
    }

    // MARK: - Revocation

    /// What the list may name: certificates of the maker, and the batch by the serial number in its subject.
    static func serials(of chain: AndroidChain) -> [String] {
        var found = chain.path.filter { $0.extension(KeyDescription.oid) == nil }.map(\.serial)
        if let text = chain.batch?.subject.value(.serialNumber), let serial = Hex.normalise(text),
            !found.contains(serial)
        {
            found.append(serial)
        }
        return found
    }

    private mutating func judgeRevocation(_ chain: AndroidChain) {
        guard let revocation else { return report.skip("revocation", "no list") }
        var isGood = true
        for serial in Self.serials(of: chain) {
            guard let status = revocation.status(ofSerial: serial) else { continue }
            isGood = false
            switch status {
            case .revoked: report.fail("revocation", .revoked, serial)
            case .suspended: report.fail("revocation", .suspended, serial)
            case .unknown: report.fail("revocation", .revoked, "\(serial) has an unknown status")
            }
        }
        if isGood { report.pass("revocation", "\(revocation.count) entries") }
    }
}
