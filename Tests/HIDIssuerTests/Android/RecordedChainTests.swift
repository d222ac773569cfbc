// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

@Suite(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
struct RecordedChainTests {
    private let verifier = AndroidAttestationVerifier()

    private func report(
        _ entry: RecordedChain, at now: Int64? = nil, revocation: RevocationList? = nil,
        _ change: (inout AndroidAttestationPolicy) -> Void = { _ in }
    ) throws -> AttestationReport {
        var policy = entry.policy
        change(&policy)
        return verifier.verify(
            chain: try entry.chain(), policy: policy, revocation: revocation, now: now ?? entry.now)
    }

    private static func list(_ name: String) throws -> RevocationList {
        try RevocationList(json: Vectors.bytes("attestation/roots/" + name))
    }

    @Test func `all entries are there`() {
        #expect(RecordedChain.all.count == 56)
        #expect(RecordedChain.all.count { $0.verdict == "pass" } == 20)
        #expect(RecordedChain.all.count { $0.verdict == "fail" } == 31)
    }

    /// What a check of ours finds besides the recorded reasons.
    private func further(_ entry: RecordedChain) -> Set<AttestationReason> {
        var found: Set<AttestationReason> = []
        if !entry.complete, entry.certs == 1 { found.insert(.chainLength) }
        // The links below the RSA software root are by keys of 1024 bits.
        if entry.anchor == "SW-RSA" { found.insert(.signatureAlgorithm) }
        return found
    }

    @Test(arguments: RecordedChain.all)
    func `a recorded chain comes out as recorded`(_ entry: RecordedChain) throws {
        let report = try report(entry)
        #expect((report.outcome == .human) == (entry.verdict == "pass"))
        #expect(Set(report.reasons) == entry.reasons.union(further(entry)), "\(report.checks)")
        guard let key = report.key, entry.verdict == "pass" else { return }
        #expect(Hex.octets(SHA256.digest(key.subjectPublicKeyInfo)) == entry.leafSpkiSha256)
        #expect(key.level.rawValue == entry.attestationLevel)
        let isRemote = entry.provisioning == "RKP"
        #expect(report.tier?.rawValue == "\(key.level.rawValue)-\(isRemote ? "rkp" : "factory")")
        let anchor = key.facts.first { $0.name == "anchor" }?.value
        #expect(anchor == (entry.anchor == "RSA" ? "google-rsa" : "google-p384"))
        #expect(key.batchID?.count == 64)
        let batch = entry.keyDescriptionAt.count
        #expect(key.revocationSerials.first == entry.serialsHex[batch])
    }

    @Test(arguments: RecordedChain.all.filter { $0.attestationVersion != nil && !$0.isMock })
    func `the key description is read as recorded`(_ entry: RecordedChain) throws {
        let chain = try entry.chain()
        let leaf = try Certificate(chain[0])
        let value = try #require(leaf.extension(KeyDescription.oid)).value
        let description = try KeyDescription(value)
        let hardware = description.hardwareEnforced
        #expect(Hex.octets(SHA256.digest(leaf.subjectPublicKeyInfo)) == entry.leafSpkiSha256)
        #expect(description.attestationVersion == entry.attestationVersion)
        #expect("\(description.attestationLevel)" == entry.attestationLevel)
        #expect(description.keymintVersion == entry.keymintVersion)
        #expect("\(description.keymintLevel)" == entry.keymintLevel)
        #expect(Hex.octets(description.challenge) == entry.challengeHex)
        let application = description.applicationID
        #expect(application?.packages.map { String(decoding: $0, as: UTF8.self) } ?? [] == entry.packages)
        #expect(application?.versions ?? [] == entry.packageVersions)
        #expect(application?.signerDigests.map { Hex.octets($0) } ?? [] == entry.signerDigestsHex)
        #expect(hardware.algorithm == entry.hwAlgorithm)
        #expect(hardware.keySize == entry.hwKeySize)
        #expect(hardware.purposes == entry.hwPurposes)
        #expect(hardware.origin == entry.hwOrigin)
        #expect(hardware.osVersion == entry.osVersion)
        #expect(hardware.osPatch == entry.osPatch)
        #expect(hardware.vendorPatch == entry.vendorPatch)
        #expect(hardware.bootPatch == entry.bootPatch)
        #expect(hardware.rootOfTrust.map { Hex.octets($0.verifiedBootKey) } == entry.hwRootOfTrust?.key)
        #expect(hardware.rootOfTrust?.deviceLocked == entry.hwRootOfTrust.map { $0.locked != "00" })
        #expect(hardware.rootOfTrust?.verifiedBootState == entry.hwRootOfTrust?.state)
        #expect(hardware.rootOfTrust?.verifiedBootHash.map { Hex.octets($0) } == entry.hwRootOfTrust?.hash)
    }

    @Test(arguments: RecordedChain.all)
    func `serial numbers are the minimal hex that lists hold`(_ entry: RecordedChain) throws {
        let serials = try entry.chain().map { try Certificate($0).serial }
        #expect(serials == entry.serialsHex)
    }

    @Test(arguments: RecordedChain.all.filter { $0.verdict == "pass" })
    func `another nonce is a mismatch and nothing else`(_ entry: RecordedChain) throws {
        for other in [[1], [UInt8](repeating: 0, count: 32), [], Vectors.hex(entry.challengeHex ?? "") + [0]] {
            let report = try report(entry) { $0.challenge = other }
            #expect(report.outcome == .rejected)
            #expect(report.reasons == [.nonceMismatch])
        }
    }

    @Test(arguments: RecordedChain.all.filter { $0.verdict == "pass" })
    func `another package or signer blocks`(_ entry: RecordedChain) throws {
        let package = try report(entry) { $0.packages = ["com.example.other"] }
        #expect(package.reasons == [.wrongPackage])
        #expect(package.outcome == .blocked)
        let signer = try report(entry) { $0.signerDigests = [[UInt8](repeating: 7, count: 32)] }
        #expect(signer.reasons == [.wrongSigner])
        let nobody = try report(entry) { $0.packages = [] }
        #expect(nobody.reasons == [.wrongPackage])
        let level = try report(entry) { $0.securityLevels = [entry.attestationLevel == "tee" ? .strongbox : .tee] }
        #expect(level.reasons == [.levelNotAccepted])
    }

    @Test(arguments: RecordedChain.all.filter { $0.keyDescriptionAt == [0, 1] })
    func `an attestation key of the application is refused unless it is allowed`(_ entry: RecordedChain) throws {
        let report = try report(entry) { $0.allowAttestKey = false }
        #expect(report.outcome == .rejected)
        #expect(Set(report.reasons) == entry.reasons.union([.attestKeyUnsupported]))
    }

    @Test func `GrapheneOS passes with its boot key on the list`() throws {
        let entry = try RecordedChain.named("gos-grapheneos-strongbox-attestkey-rkp-selfsigned-noroot")
        let bootKey = try #require(entry.passWithVerifiedBootKey)
        let good = try report(entry) { $0.verifiedBootKeys = [[1, 2, 3], Vectors.hex(bootKey)] }
        #expect(good.outcome == .human)
        #expect(good.tier == .selfSignedAllowed)
        let bad = try report(entry) { $0.verifiedBootKeys = [Array(Vectors.hex(bootKey).dropLast())] }
        #expect(bad.reasons == [.bootSelfSigned])
        #expect(bad.outcome == .blocked)
    }

    @Test(arguments: RecordedChain.all.filter { $0.verdict == "pass" })
    func `a factory chain never ends and a provisioned one does`(_ entry: RecordedChain) throws {
        let later = try report(entry, at: 4_102_444_800)
        #expect(later.reasons == (entry.provisioning == "RKP" ? [.rkpExpired] : []))
        let earlier = try report(entry, at: 0)
        #expect(earlier.reasons == [.notYetValid])
    }

    @Test func `a provisioned chain passes up to five minutes behind its first end`() throws {
        let entry = try RecordedChain.named("gka-pixel9a-sdk36-tee-ec-rkp-2026root")
        let chain = try entry.chain().map { try Certificate($0) }
        let first = try #require(chain[1...3].map(\.notAfter).min())
        let last = try #require(chain[1...3].map(\.notBefore).max())
        for (now, reasons) in [
            (first + 300, []), (first + 301, [AttestationReason.rkpExpired]), (last - 300, []),
            (last - 301, [.notYetValid]),
        ] {
            #expect(try report(entry, at: now).reasons == reasons)
        }
    }

    @Test func `no recorded chain is on a real list`() throws {
        let real = try Self.list("android-statuslist-20260324.json")
        #expect(real.count == 1640)
        #expect(try Self.list("android-statuslist-20241121.json").count == 467)
        for entry in RecordedChain.all where entry.verdict == "pass" {
            #expect(try report(entry, revocation: real).outcome == .human)
        }
    }

    @Test(arguments: [
        ("gos-pixel5a-strongbox-attestkey-factory-noroot", AttestationReason.revoked),
        ("asit-pixel6-tee-ec-rkp-v200", .revoked), ("asit-nokiax10-tee-ec-v3", .suspended),
    ])
    func `every entry of a list refuses`(_ name: String, _ reason: AttestationReason) throws {
        let report = try report(
            RecordedChain.named(name), revocation: Self.list("android-statuslist-synthetic.json"))
        #expect(report.reasons == [reason])
        #expect(report.outcome == .blocked)
    }

    @Test func `the certificate on Google's sample list is found`() throws {
        let entry = try RecordedChain.named("asit-intermediate-on-sample-statuslist-SUSPENDED")
        let serial = try Certificate(entry.chain()[0]).serial
        let list = try Self.list("android-statuslist-google-sample.json")
        #expect(list.status(ofSerial: serial) == .suspended)
    }

    @Test func `the compiled-in keys are those that Google publishes`() throws {
        let list = try StrictJSON(Vectors.bytes("attestation/roots/google-roots-hosted-list.json"))
        let roots = try list.elements(of: list.root).map { node in
            try Certificate(try #require(PEM.blocks(list.textBytes(node) ?? [], label: "CERTIFICATE").first))
        }
        #expect(roots.count == AndroidAttestationVerifier.builtinKeys.count)
        for root in roots {
            let isPinned = AndroidAttestationVerifier.builtinKeys.contains(root.subjectPublicKeyInfo)
            #expect(isPinned)
        }
        let pins = AndroidAttestationVerifier.builtinKeys.map { Hex.octets(SHA256.digest($0)) }
        #expect(pins[0].hasPrefix("feb2ea7551ee316e") && pins[0].hasSuffix("4580fbae"))
        #expect(pins[1].hasPrefix("3ee44512a1af2beb") && pins[1].hasSuffix("76cd07ec"))
    }

    @Test func `the number of certificates issued to a phone is read where the service says it`() throws {
        var numbers: [Int] = []
        for entry in RecordedChain.all where entry.verdict == "pass" {
            let facts = try report(entry).key?.facts ?? []
            let number = facts.first { $0.name == "certificates_issued" }.flatMap { Int($0.value) }
            if let number { numbers.append(number) }
            #expect(number == nil || entry.provisioning == "RKP")
        }
        #expect(numbers.count >= 4)
        #expect(numbers.allSatisfy { (8...64).contains($0) }, "\(numbers)")
    }

    @Test func `without Google's roots nothing recorded is trusted`() throws {
        for entry in RecordedChain.all where entry.verdict == "pass" {
            let report = try report(entry) { $0.usesBuiltinRoots = false }
            #expect(report.outcome == .rejected)
            #expect(report.reasons == [.untrustedRoot])
            #expect(report.tier == nil)
        }
    }
}
