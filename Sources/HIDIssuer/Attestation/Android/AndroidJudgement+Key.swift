// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Everything about the key of the leaf: decisions read the hardware list only, but for the application.
extension AndroidJudgement {
    mutating func judgeKey(_ leaf: Certificate, _ description: KeyDescription?, _ chain: AndroidChain?) {
        let isP256 = judgePoint(leaf)
        guard let description else { return }
        let level = judgeLevel(description, chain)
        judgeChallenge(description)
        let isSelfSigned = judgeBoot(description.hardwareEnforced)
        judgeAuthorizations(description)
        judgeApplication(description)
        if let chain, chain.isVerified {
            report.tier = Self.tier(level, isRemote: chain.isRemotelyProvisioned, isSelfSigned: isSelfSigned)
        }
        guard isP256 else { return }
        var key = AttestedKey(subjectPublicKeyInfo: leaf.subjectPublicKeyInfo, level: level)
        if let chain {
            key.batchID = chain.batch.map { Hex.octets(SHA256.digest($0.subjectPublicKeyInfo.span)) }
            key.revocationSerials = Self.serials(of: chain)
            if case .anchor(let anchor) = chain.end { facts.insert(.init("anchor", anchor.name), at: 0) }
        }
        key.facts = facts + Self.facts(description)
        report.key = key
    }

    /// Named P-256 with an uncompressed point on the curve, as `P256PublicKey` takes it.
    private mutating func judgePoint(_ leaf: Certificate) -> Bool {
        guard (try? P256PublicKey(subjectPublicKeyInfo: leaf.subjectPublicKeyInfo)) != nil else {
            report.fail("public_key", .keyNotP256, "\(leaf.keyKind)")
            return false
        }
        report.pass("public_key", "P-256")
        return true
    }

    // MARK: - Level

    private mutating func judgeLevel(_ description: KeyDescription, _ chain: AndroidChain?) -> SecurityLevel {
        let claimed = description.attestationLevel
        guard claimed == description.keymintLevel, claimed != .software else {
            let words = "attestation \(claimed), key \(description.keymintLevel)"
            report.fail("security_level", .softwareAttestation, words)
            return .software
        }
        let level = issuedLevel(claimed, chain)
        guard let wanted = policy.securityLevels else {
            report.skip("accepted_level", "no accepted levels given; \(level.rawValue)")
            return level
        }
        if wanted.contains(level) {
            report.pass("accepted_level", level.rawValue)
        } else {
            report.fail("accepted_level", .levelNotAccepted, level.rawValue)
        }
        return level
    }

    /// A StrongBox leaf wants a StrongBox issuer: else a leaked key of a TEE could claim more than it was.
    private mutating func issuedLevel(_ claimed: KeyDescription.Level, _ chain: AndroidChain?) -> SecurityLevel {
        guard claimed == .strongbox else {
            report.pass("security_level", "tee")
            return .tee
        }
        switch chain?.batchLevel {
        case .strongbox:
            report.pass("security_level", "strongbox")
            return .strongbox
        case .tee, .software:
            report.fail("security_level", .levelMismatch, "a StrongBox leaf under a certificate of the TEE")
            return .tee
        case nil:
            report.pass("security_level", "tee: the issuer of a StrongBox leaf does not say StrongBox")
            return .tee
        }
    }

    private static func tier(_ level: SecurityLevel, isRemote: Bool, isSelfSigned: Bool) -> AttestationTier? {
        switch level {
        case .software, .secureEnclave: nil
        case .strongbox: isSelfSigned ? .selfSignedAllowed : isRemote ? .strongboxRKP : .strongboxFactory
        case .tee: isSelfSigned ? .selfSignedAllowed : isRemote ? .teeRKP : .teeFactory
        }
    }

    // MARK: - Challenge and boot

    private mutating func judgeChallenge(_ description: KeyDescription) {
        guard let wanted = policy.challenge else { return report.skip("challenge", "no nonce given") }
        let found = description.challenge
        guard !found.isEmpty, constantTimeEqual(found.span, wanted.span) else {
            return report.fail("challenge", .nonceMismatch, "\(found.count) octets, another value than the nonce")
        }
        report.pass("challenge")
    }

    /// Returns whether the system was booted with a key of the allow-list.
    private mutating func judgeBoot(_ list: AuthorizationList) -> Bool {
        guard let root = list.rootOfTrust else {
            report.fail("root_of_trust", .rootOfTrustMissing, "not in the hardware list")
            return false
        }
        report.pass("root_of_trust")
        if root.deviceLocked {
            report.pass("bootloader", "locked")
        } else {
            report.fail("bootloader", .bootloaderUnlocked, "unlocked")
        }
        switch root.verifiedBootState {
        case 0: report.pass("verified_boot", "verified")
        case 1:
            if root.deviceLocked, !root.verifiedBootKey.isEmpty,
                policy.verifiedBootKeys.contains(root.verifiedBootKey)
            {
                report.pass("verified_boot", "self-signed, key on the allow-list")
                return true
            }
            report.fail("verified_boot", .bootSelfSigned, "key \(Hex.octets(root.verifiedBootKey))")
        case 2: report.fail("verified_boot", .bootUnverified, "unverified")
        case 3: report.fail("verified_boot", .bootFailed, "failed")
        default: report.fail("verified_boot", .bootFailed, "unknown state \(root.verifiedBootState)")
        }
        return false
    }

    // MARK: - Authorizations

    private mutating func judgeAuthorizations(_ description: KeyDescription) {
        let list = description.hardwareEnforced
        judge("key_origin", list.origin == 0, .keyImported, "origin \(Self.text(list.origin))")
        let purposes = list.purposes ?? []
        let mayPurpose = policy.sdkKeysOnly ? purposes == [2] : purposes.contains(2) && !purposes.contains(7)
        judge("key_purpose", mayPurpose, .keyPurpose, "purposes \(purposes)")
        // 10 ecCurve is 0 or missing on phones whose key is P-256: the key itself was judged.
        let isCurveKey = list.algorithm == 3 && (list.keySize ?? 256) == 256
        let kind = "algorithm \(Self.text(list.algorithm)), size \(Self.text(list.keySize))"
        judge("key_algorithm", isCurveKey, .keyNotP256, kind)
        let digests = list.digests ?? []
        if policy.sdkKeysOnly {
            // A key for NONE signs any hash that its application is given, certificates among them.
            judge("key_digest", digests == [4], .keyDigest, "digests \(digests)")
        } else {
            // Keys of other applications are made for any digest: NONE, and SHA-512 alone, are common.
            report.skip("key_digest", "keys of the client SDK are not demanded; digests \(digests)")
        }
        let isShared = list.allApplications || description.softwareEnforced.allApplications
        judge("key_owner", !isShared, .keyShared, isShared ? "all applications" : "one application")
    }

    private mutating func judge(
        _ name: StaticString, _ isGood: Bool, _ reason: AttestationReason, _ detail: String
    ) {
        if isGood { report.pass(name, detail) } else { report.fail(name, reason, detail) }
    }

    // MARK: - Application

    private mutating func judgeApplication(_ description: KeyDescription) {
        guard policy.packages != nil || policy.signerDigests != nil else {
            return report.skip("application", "no package or signer given")
        }
        guard let found = description.applicationID, !found.signerDigests.isEmpty, !found.packages.isEmpty,
            !found.packages.contains(where: Self.isPlaceholder)
        else {
            return report.fail("application", .appIDUnavailable, "the phone did not name the application")
        }
        if let wanted = policy.packages {
            let names = found.packages.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
            let isAmong = wanted.contains { found.packages.contains(Array($0.utf8)) }
            judge("package", isAmong, .wrongPackage, names)
        } else {
            report.skip("package", "no package given")
        }
        if let wanted = policy.signerDigests {
            let digests = found.signerDigests.map { Hex.octets($0) }.joined(separator: " ")
            judge("signer", found.signerDigests.allSatisfy(wanted.contains), .wrongSigner, digests)
        } else {
            report.skip("signer", "no signer given")
        }
    }

    /// What the system writes when its part that knows the application failed, or for device-id attestation.
    private static func isPlaceholder(_ package: [UInt8]) -> Bool {
        package.elementsEqual("UnknownPackage".utf8) || package.elementsEqual("AndroidSystem".utf8)
    }

    // MARK: - Facts

    private static func text(_ number: Int64?) -> String { number.map { "\($0)" } ?? "absent" }

    private static func facts(_ description: KeyDescription) -> [AttestedKey.Fact] {
        let (hardware, software) = (description.hardwareEnforced, description.softwareEnforced)
        let versions = [
            AttestedKey.Fact("attestation_version", "\(description.attestationVersion)"),
            AttestedKey.Fact("keymint_version", "\(description.keymintVersion)"),
        ]
        let numbers: [(String, Int64?)] = [
            ("os_version", hardware.osVersion), ("os_patch", hardware.osPatch), ("vendor_patch", hardware.vendorPatch),
            ("boot_patch", hardware.bootPatch), ("boot_state", hardware.rootOfTrust?.verifiedBootState),
            ("user_auth", hardware.userAuthType), ("created", software.creation ?? hardware.creation),
        ]
        var found = versions
        for case (let name, let number?) in numbers { found.append(.init(name, "\(number)")) }
        if let key = hardware.rootOfTrust?.verifiedBootKey, !key.isEmpty {
            found.append(.init("boot_key", Hex.octets(key)))
        }
        let unknown = hardware.unknownTags + software.unknownTags
        if unknown > 0 { found.append(.init("unknown_tags", "\(unknown)")) }
        if !hardware.isOrdered || !software.isOrdered { found.append(.init("tag_order", "unsorted")) }
        return found
    }
}
