// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

/// Chains of an own root: what no phone sends and an attacker would.
@Suite struct SyntheticChainTests {
    private let verifier = AndroidAttestationVerifier()

    private func verify(
        _ chain: [[UInt8]], _ policy: AndroidAttestationPolicy, at now: Int64 = AndroidTestChain.now,
        revocation: RevocationList? = nil
    ) -> AttestationReport {
        verifier.verify(chain: chain, policy: policy, revocation: revocation, now: now)
    }

    @Test func `a right chain is human, in every shape`() throws {
        for level in ["TEE", "StrongBox"] {
            for isRemote in [false, true] {
                let chain = isRemote ? try AndroidTestChain(remote: level) : try AndroidTestChain(level: level)
                let policy = try chain.policy()
                let octets = try chain.signed()
                for supplied in [octets, Array(octets.dropLast())] {
                    let report = verify(supplied, policy)
                    #expect(report.outcome == .human, "\(report.checks)")
                    let name = level == "TEE" ? "tee" : "strongbox"
                    #expect(report.tier?.rawValue == "\(name)-\(isRemote ? "rkp" : "factory")")
                    #expect(report.key?.level.rawValue == name)
                    #expect(report.key?.subjectPublicKeyInfo == chain.keys.leaf.subjectPublicKeyInfo)
                    let batch = Hex.octets(SHA256.digest(chain.keys.batch.subjectPublicKeyInfo))
                    #expect(report.key?.batchID == batch)
                    #expect(report.key?.facts.first == AttestedKey.Fact("anchor", "extra"))
                    #expect(report.checks.allSatisfy { $0.result == .pass || "\($0.name)" == "revocation" })
                }
            }
        }
    }

    /// One thing wrong with a chain, and what it leads to.
    struct Wrong: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reasons: Set<AttestationReason>
        var change: @Sendable (inout AndroidTestChain) throws -> Void = { _ in }
        var policy: @Sendable (inout AndroidAttestationPolicy) -> Void = { _ in }

        init(
            _ name: String, _ reasons: Set<AttestationReason>,
            _ change: @escaping @Sendable (inout AndroidTestChain) throws -> Void
        ) {
            testDescription = name
            self.reasons = reasons
            self.change = change
        }
    }

    static let authority = CertificateBuilder.basicConstraints(authority: true)

    static let wrongCertificates: [Wrong] = [
        Wrong("batch without basicConstraints", [.issuerConstraints]) { $0.batch.extensions.removeFirst() },
        Wrong("batch with an unknown critical extension", [.issuerConstraints]) {
            $0.batch.extensions.append(CertificateBuilder.extension("1.2.3", critical: true, []))
        },
        Wrong("intermediate that is no authority", [.issuerConstraints]) {
            $0.above[0].extensions[0] = CertificateBuilder.basicConstraints(authority: false)
        },
        Wrong("intermediate without keyCertSign", [.issuerConstraints]) {
            $0.above[0].extensions[1] = CertificateBuilder.keyUsage([0x80], unused: 7)
        },
        Wrong("batch without keyCertSign", [.issuerConstraints]) {
            $0.batch.extensions[1] = CertificateBuilder.keyUsage([0x80], unused: 7)
        },
        Wrong("intermediate with path length 0", [.issuerConstraints]) {
            $0.above[0].extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: 0)
        },
        Wrong("batch that begins after now and skew", [.notYetValid]) {
            $0.batch.notBefore = AndroidTestChain.now + 301
        },
        Wrong("leaf of another key than the batch key", [.badSignature]) { $0.leafSigner = $0.keys.forged },
        Wrong("leaf that names another issuer", [.chainOrder]) {
            $0.leaf.issuer = CertificateBuilder.name("Somebody")
        },
        Wrong("batch with another algorithm", [.signatureAlgorithm]) {
            $0.batch.innerIdentifier = DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.1"))
            $0.batch.outerIdentifier = $0.batch.innerIdentifier
        },
        Wrong("batch with a broken signature", [.badSignature]) { $0.batch.signature = [0x30, 0x00] },
        Wrong("batch with the attestation extension", [.chainExtended]) {
            $0.batch.extensions.append($0.description.asExtension())
        },
        Wrong("intermediate with the attestation extension", [.chainExtended]) {
            $0.above[0].extensions.append($0.description.asExtension())
        },
        Wrong("batch called like a keystore key", [.chainExtended]) {
            $0.batch.subject = CertificateBuilder.name("Android Keystore Key")
            $0.leaf.issuer = $0.batch.subject
        },
        Wrong("intermediate twice an extension", [.malformed]) {
            $0.above[0].extensions.append($0.above[0].extensions[0])
        },
        Wrong("attestation extension twice", [.malformed]) {
            $0.leaf.extensions.append($0.description.asExtension())
        },
        Wrong("provisioning information makes a chain strict", [.rkpExpired]) {
            $0.batch.extensions.append(CertificateBuilder.extension("1.3.6.1.4.1.11129.2.1.30", [0xA0]))
            $0.batch.notAfter = AndroidTestChain.now - 301
        },
    ]

    static let wrongKeys: [Wrong] = [
        Wrong("a P-384 key", [.keyNotP256]) { $0.leaf.publicKey = $0.keys.root.subjectPublicKeyInfo },
        Wrong("explicit parameters", [.keyNotP256]) {
            let point = Array($0.keys.leaf.subjectPublicKeyInfo.suffix(65))
            let explicit = DERWriter.sequence(DERWriter.integer(1), DERWriter.sequence([]))
            $0.leaf.publicKey = DERWriter.sequence(
                DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), explicit), DERWriter.bitString(point))
        },
        Wrong("a compressed point", [.keyNotP256]) {
            let x = Array($0.keys.leaf.subjectPublicKeyInfo.suffix(64).prefix(32))
            $0.leaf.publicKey = DERWriter.sequence(
                DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), DERWriter.oid("1.2.840.10045.3.1.7")),
                DERWriter.bitString([0x02] + x))
        },
        Wrong("a point off the curve", [.keyNotP256]) {
            $0.leaf.publicKey[$0.leaf.publicKey.count - 1] ^= 1
        },
        Wrong("a point with coordinates over p", [.keyNotP256]) {
            let ones = [UInt8](repeating: 0xFF, count: 64)
            $0.leaf.publicKey.replaceSubrange(($0.leaf.publicKey.count - 64)..., with: ones)
        },
        Wrong("an imported key", [.keyImported]) { $0.description.set(702, DERWriter.integer(2)) },
        Wrong("a securely imported key", [.keyImported]) { $0.description.set(702, DERWriter.integer(4)) },
        Wrong("no origin", [.keyImported]) { $0.description.remove(702) },
        Wrong("a key that attests", [.keyPurpose]) {
            $0.description.set(1, DERWriter.set(DERWriter.integer(2), DERWriter.integer(7)))
        },
        Wrong("a key that verifies as well", [.keyPurpose]) {
            $0.description.set(1, DERWriter.set(DERWriter.integer(2), DERWriter.integer(3)))
        },
        Wrong("no purpose", [.keyPurpose]) { $0.description.remove(1) },
        Wrong("digest NONE", [.keyDigest]) { $0.description.set(5, DERWriter.set(DERWriter.integer(0))) },
        Wrong("digests NONE and SHA-256", [.keyDigest]) {
            $0.description.set(5, DERWriter.set(DERWriter.integer(4), DERWriter.integer(0)))
        },
        Wrong("algorithm RSA", [.keyNotP256]) { $0.description.set(2, DERWriter.integer(1)) },
        Wrong("no algorithm", [.keyNotP256]) { $0.description.remove(2) },
        Wrong("key size 384", [.keyNotP256]) { $0.description.set(3, DERWriter.integer(384)) },
        Wrong("a key of all applications", [.keyShared]) { $0.description.set(600, DERWriter.null) },
        Wrong("a key of all applications, says the software", [.keyShared]) {
            $0.description.software.append((600, DERWriter.null))
        },
    ]

    static let wrongStates: [Wrong] = [
        Wrong("root of trust in the software list only", [.rootOfTrustMissing]) {
            $0.description.remove(704)
            $0.description.software.append((704, KeyDescriptionWriter.root()))
        },
        Wrong("an unlocked boot loader", [.bootloaderUnlocked]) {
            $0.description.set(704, KeyDescriptionWriter.root(locked: [0x01, 0x01, 0x00]))
        },
        Wrong("self-signed", [.bootSelfSigned]) {
            $0.description.set(704, KeyDescriptionWriter.root(state: 1))
        },
        Wrong("unverified", [.bootUnverified]) { $0.description.set(704, KeyDescriptionWriter.root(state: 2)) },
        Wrong("boot failed", [.bootFailed]) { $0.description.set(704, KeyDescriptionWriter.root(state: 3)) },
        Wrong("an unknown boot state", [.bootFailed]) {
            $0.description.set(704, KeyDescriptionWriter.root(state: -1))
        },
        Wrong("unlocked and unverified", [.bootloaderUnlocked, .bootUnverified]) {
            $0.description.set(704, KeyDescriptionWriter.root(locked: [0x01, 0x01, 0x00], state: 2))
        },
        Wrong("software attestation of a key of the TEE", [.softwareAttestation]) {
            $0.description.attestationLevel = DERWriter.enumerated(0)
        },
        Wrong("software key", [.softwareAttestation]) { $0.description.setLevels(0) },
        Wrong("levels that differ", [.softwareAttestation]) {
            $0.description.keymintLevel = DERWriter.enumerated(2)
        },
        Wrong("StrongBox leaf under a batch key of the TEE", [.levelMismatch]) { $0.description.setLevels(2) },
        Wrong("an empty nonce", [.nonceMismatch]) { $0.description.challenge = DERWriter.octetString([]) },
        Wrong("a nonce of 129 octets", [.nonceMismatch]) {
            $0.description.challenge = DERWriter.octetString([UInt8](repeating: 1, count: 129))
        },
        Wrong("a nonce cut off", [.nonceMismatch]) {
            $0.description.challenge = DERWriter.octetString(Array(AndroidTestChain.nonce.dropLast()))
        },
        Wrong("UnknownPackage", [.appIDUnavailable]) {
            $0.setApplication(KeyDescriptionWriter.application(packages: ["UnknownPackage"]))
        },
        Wrong("AndroidSystem without a digest", [.appIDUnavailable]) {
            $0.setApplication(KeyDescriptionWriter.application(packages: ["AndroidSystem"], digests: []))
        },
        Wrong("no digest", [.appIDUnavailable]) {
            $0.setApplication(KeyDescriptionWriter.application(digests: []))
        },
        Wrong("no application", [.appIDUnavailable]) { $0.description.software.removeLast() },
        Wrong("another package", [.wrongPackage]) {
            $0.setApplication(KeyDescriptionWriter.application(packages: [AndroidTestChain.package + "."]))
        },
        Wrong("a right digest beside a foreign one", [.wrongSigner]) {
            let foreign = [UInt8](repeating: 0xC9, count: 32)
            $0.setApplication(KeyDescriptionWriter.application(digests: [AndroidTestChain.signer, foreign]))
        },
        Wrong("a digest cut off", [.wrongSigner]) {
            let digest = Array(AndroidTestChain.signer.dropLast())
            $0.setApplication(KeyDescriptionWriter.application(digests: [digest]))
        },
    ]

    @Test(arguments: wrongCertificates + wrongKeys + wrongStates)
    func `one wrong thing is found, and nothing else`(_ wrong: Wrong) throws {
        var chain = try AndroidTestChain()
        try wrong.change(&chain)
        let report = verify(try chain.signed(), try chain.policy())
        #expect(Set(report.reasons) == wrong.reasons, "\(report.checks)")
        #expect(report.outcome == (wrong.reasons.contains { $0.outcome == .rejected } ? .rejected : .blocked))
    }

    /// Deviations of real phones that change nothing.
    static let tolerated: [Wrong] = [
        Wrong("batch that is no authority", []) {
            $0.batch.extensions = [CertificateBuilder.basicConstraints(authority: false)]
        },
        Wrong("factory intermediates that expired", []) {
            $0.batch.notAfter = 0
            $0.above[0].notAfter = 1
        },
        Wrong("a boot loader locked by 0x01", []) {
            $0.description.set(704, KeyDescriptionWriter.root(locked: [0x01, 0x01, 0x01]))
        },
        Wrong("tags out of order, and unknown ones", []) {
            $0.description.hardware.append((99999, DERWriter.octetString([1])))
            $0.description.hardware.reverse()
        },
        Wrong("no boot hash, empty boot key", []) {
            $0.description.set(704, KeyDescriptionWriter.root(key: [], hash: nil))
        },
        Wrong("curve 0", []) { $0.description.set(10, DERWriter.integer(0)) },
        Wrong("no curve and no size", []) {
            $0.description.remove(10)
            $0.description.remove(3)
        },
        Wrong("patch levels of 0 and of 6 digits", []) {
            $0.description.set(718, DERWriter.integer(0))
            $0.description.set(719, DERWriter.integer(202602))
        },
        Wrong("an unknown version", []) {
            $0.description.attestationVersion = DERWriter.integer(900)
            $0.description.keymintVersion = DERWriter.integer(900)
        },
        Wrong("a leaf with an unknown critical extension", []) {
            $0.leaf.extensions.append(CertificateBuilder.extension("1.2.3", critical: true, [1]))
        },
        Wrong("a leaf that begins in 2106", []) {
            ($0.leaf.notBefore, $0.leaf.notAfter) = (4_294_967_295, 0)
        },
        Wrong("13 packages", []) {
            let names = (0..<12).map { "com.example.p\($0)" } + [AndroidTestChain.package]
            $0.setApplication(KeyDescriptionWriter.application(packages: names))
        },
        Wrong("both digests of the list", []) {
            let both = [[UInt8](repeating: 0xC8, count: 32), AndroidTestChain.signer]
            $0.setApplication(KeyDescriptionWriter.application(digests: both))
        },
        Wrong("keyUsage with trailing zeros", []) {
            $0.batch.extensions[1] = CertificateBuilder.keyUsage([0x04, 0x00], unused: 0)
        },
        Wrong("intermediate with path length 1", []) {
            $0.above[0].extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: 1)
        },
    ]

    @Test(arguments: tolerated)
    func `deviations of real phones are accepted`(_ case: Wrong) throws {
        var chain = try AndroidTestChain()
        try `case`.change(&chain)
        let report = verify(try chain.signed(), try chain.policy())
        #expect(report.outcome == .human, "\(report.checks)")
    }

    @Test func `keys of other applications may do more when SDK keys are not demanded`() throws {
        for (purposes, digests, reasons) in [
            ([2, 3, 6], [0], []), ([3, 2], [6], []), ([2], [], []), ([3], [4], [AttestationReason.keyPurpose]),
            ([2, 7], [4], [.keyPurpose]),
        ] as [([Int64], [Int64], [AttestationReason])] {
            var chain = try AndroidTestChain()
            chain.description.set(1, DERWriter.set(purposes.map(DERWriter.integer)))
            chain.description.set(5, DERWriter.set(digests.map(DERWriter.integer)))
            var policy = try chain.policy()
            policy.sdkKeysOnly = false
            #expect(verify(try chain.signed(), policy).reasons == reasons)
        }
    }

    @Test func `an old StrongBox chain without titles counts as TEE`() throws {
        var chain = try AndroidTestChain(level: "StrongBox")
        chain.batch.subject = CertificateBuilder.name([("2.5.4.5", "3e7fb6a1ee4bd568")])
        chain.leaf.issuer = chain.batch.subject
        var policy = try chain.policy()
        let report = verify(try chain.signed(), policy)
        #expect(report.outcome == .human)
        #expect(report.tier == .teeFactory)
        #expect(report.key?.level == .tee)
        policy.securityLevels = [.strongbox]
        #expect(verify(try chain.signed(), policy).reasons == [.levelNotAccepted])
    }

    @Test func `a check without an expected value is skipped`() throws {
        let chain = try AndroidTestChain()
        var policy = AndroidAttestationPolicy()
        policy.extraRoots = try chain.policy().extraRoots
        let report = verify(try chain.signed(), policy)
        let skipped = report.checks.filter { $0.result == .skipped }.map { "\($0.name)" }
        #expect(Set(skipped) == ["challenge", "application", "accepted_level", "revocation", "key_digest"])
        #expect(report.outcome == .human)
        policy.packages = [AndroidTestChain.package]
        #expect(
            verify(try chain.signed(), policy).checks.contains { "\($0.name)" == "signer" && $0.result == .skipped })
    }
}

extension AndroidTestChain {
    mutating func setApplication(_ content: [UInt8]) {
        description.software.removeAll { $0.tag == 709 }
        description.software.append((709, DERWriter.octetString(content)))
    }
}
