// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

/// Order, number and provisioning of certificates, attestation keys, revocation and memory.
@Suite struct ChainShapeTests {
    private let verifier = AndroidAttestationVerifier()

    private func reasons(
        _ chain: [[UInt8]], _ policy: AndroidAttestationPolicy, at now: Int64 = AndroidTestChain.now,
        revocation: RevocationList? = nil
    ) -> [AttestationReason] {
        verifier.verify(chain: chain, policy: policy, revocation: revocation, now: now).reasons
    }

    // MARK: - Chain extension

    @Test func `a certificate below a genuine leaf is an extended chain`() throws {
        for chain in [try AndroidTestChain(), try AndroidTestChain(remote: "TEE")] {
            let forged = try chain.signedWithForgery()
            for allow in [false, true] {
                var policy = try chain.policy()
                policy.allowAttestKey = allow
                let report = verifier.verify(chain: forged, policy: policy, revocation: nil, now: AndroidTestChain.now)
                #expect(report.outcome == .rejected)
                #expect(report.reasons.contains(.chainExtended))
            }
        }
    }

    @Test func `two certificates below a genuine leaf are an extended chain`() throws {
        let chain = try AndroidTestChain()
        let below = try chain.signedWithForgery()
        var second = CertificateBuilder(
            subject: CertificateBuilder.name("Android Keystore Key"), issuer: chain.leaf.subject,
            publicKey: chain.keys.attest.subjectPublicKeyInfo)
        second.extensions = [chain.description.asExtension()]
        let forged = try [second.signed(by: chain.keys.forged)] + below
        var policy = try chain.policy()
        policy.allowAttestKey = true
        #expect(reasons(forged, policy).contains(.chainExtended))
    }

    @Test func `a forged authority below a genuine leaf is no way around`() throws {
        let chain = try AndroidTestChain()
        var middle = CertificateBuilder.authority(
            CertificateBuilder.name([("2.5.4.12", "TEE")]), issuer: chain.leaf.subject, key: chain.keys.forged)
        middle.extensions.append(CertificateBuilder.extension("1.2.3", []))
        var leaf = CertificateBuilder(
            subject: chain.leaf.subject, issuer: middle.subject, publicKey: chain.keys.attest.subjectPublicKeyInfo)
        leaf.extensions = [chain.description.asExtension()]
        let forged = try [leaf.signed(by: chain.keys.forged), middle.signed(by: chain.keys.leaf)] + chain.signed()
        let found = reasons(forged, try chain.policy())
        #expect(found.contains(.chainExtended))
    }

    @Test func `an attestation key passes only when it is allowed`() throws {
        for chain in [
            try AndroidTestChain(), try AndroidTestChain(level: "StrongBox"), try AndroidTestChain(remote: "TEE"),
        ] {
            var policy = try chain.policy()
            let octets = try chain.signedWithAttestKey()
            #expect(reasons(octets, policy) == [.attestKeyUnsupported])
            policy.allowAttestKey = true
            let report = verifier.verify(chain: octets, policy: policy, revocation: nil, now: AndroidTestChain.now)
            #expect(report.outcome == .human, "\(report.checks)")
            #expect(report.key?.batchID == Hex.octets(SHA256.digest(chain.keys.batch.subjectPublicKeyInfo)))
            #expect(report.key?.revocationSerials.first == "abcdef012")
        }
    }

    /// One thing by which an attestation key differs from the leaf, or may do more than attest.
    struct Difference: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout KeyDescriptionWriter) -> Void
    }

    static let differences: [Difference] = [
        Difference(testDescription: "it signs as well") {
            $0.set(1, DERWriter.set(DERWriter.integer(2), DERWriter.integer(7)))
        },
        Difference(testDescription: "it signs") { $0.set(1, DERWriter.set(DERWriter.integer(2))) },
        Difference(testDescription: "its purpose is in the software list") {
            $0.remove(1)
            $0.software.append((1, DERWriter.set(DERWriter.integer(7))))
        },
        Difference(testDescription: "imported") { $0.set(702, DERWriter.integer(2)) },
        Difference(testDescription: "no origin") { $0.remove(702) },
        Difference(testDescription: "algorithm") { $0.set(2, DERWriter.integer(32)) },
        Difference(testDescription: "levels") { $0.setLevels(2) },
        Difference(testDescription: "attestation version") { $0.attestationVersion = DERWriter.integer(200) },
        Difference(testDescription: "KeyMint version") { $0.keymintVersion = DERWriter.integer(200) },
        Difference(testDescription: "boot key") {
            $0.set(704, KeyDescriptionWriter.root(key: [UInt8](repeating: 0, count: 32)))
        },
        Difference(testDescription: "boot state") { $0.set(704, KeyDescriptionWriter.root(state: 2)) },
        Difference(testDescription: "boot hash") { $0.set(704, KeyDescriptionWriter.root(hash: nil)) },
        Difference(testDescription: "lock") { $0.set(704, KeyDescriptionWriter.root(locked: [1, 1, 0])) },
        Difference(testDescription: "no root of trust") { $0.remove(704) },
        Difference(testDescription: "system version") { $0.set(705, DERWriter.integer(150000)) },
        Difference(testDescription: "system patch") { $0.set(706, DERWriter.integer(202601)) },
        Difference(testDescription: "vendor patch") { $0.set(718, DERWriter.integer(1)) },
        Difference(testDescription: "boot patch") { $0.remove(719) },
        Difference(testDescription: "nonce") { $0.challenge = DERWriter.octetString([1]) },
        Difference(testDescription: "application") {
            $0.software[1].value = DERWriter.octetString(KeyDescriptionWriter.application(packages: ["a"]))
        },
        Difference(testDescription: "a description that cannot be read") { $0.tail = [0] },
    ]

    @Test(arguments: differences)
    func `an attestation key that differs from the leaf is an extended chain`(_ difference: Difference) throws {
        let chain = try AndroidTestChain()
        var policy = try chain.policy()
        policy.allowAttestKey = true
        let found = reasons(try chain.signedWithAttestKey(difference.change), policy)
        #expect(found.contains(.chainExtended))
    }

    // MARK: - Number and order

    @Test func `a chain has two to six certificates and a size`() throws {
        let chain = try AndroidTestChain(remote: "TEE")
        let (octets, policy) = (try chain.signed(), try chain.policy())
        let seven = try chain.signedWithForgery() + octets.suffix(1)
        #expect(seven.count == 7)
        #expect(reasons(seven, policy) == [.chainLength])
        #expect(reasons([], policy) == [.chainLength])
        #expect(reasons([octets[0]], policy) == [.chainLength])
        let big = [UInt8](repeating: 0x30, count: 8193)
        #expect(reasons([octets[0], big], policy) == [.malformed])
        #expect(reasons([big, octets[1]], policy) == [.malformed])
        #expect(reasons([UInt8](repeating: 0, count: 4).map { _ in [UInt8](big.dropLast()) }, policy) == [.malformed])
    }

    @Test func `certificates stand in one order, each once`() throws {
        for chain in [try AndroidTestChain(), try AndroidTestChain(remote: "StrongBox")] {
            let (octets, policy) = (try chain.signed(), try chain.policy())
            for first in octets.indices {
                for second in octets.indices where second > first {
                    var other = octets
                    other.swapAt(first, second)
                    let report = verifier.verify(
                        chain: other, policy: policy, revocation: nil, now: AndroidTestChain.now)
                    #expect(report.outcome == .rejected, "\(first) and \(second)")
                }
                guard first < octets.count - 1 else { continue }
                var shorter = octets
                shorter.remove(at: first)
                #expect(!reasons(shorter, policy).isEmpty, "without \(first)")
                var longer = octets
                longer.insert(octets[first], at: first)
                #expect(!reasons(longer, policy).isEmpty, "twice \(first)")
            }
        }
    }

    @Test func `a root with another key is a stranger, also under the same name`() throws {
        let chain = try AndroidTestChain()
        let stranger = try TestSigningKey(.p384)
        let root = CertificateBuilder.authority(AndroidTestChain.root, key: stranger)
        var upper = chain.above[0]
        upper.publicKey = chain.keys.upper.subjectPublicKeyInfo
        var octets = try chain.signed()
        octets[2] = try upper.signed(by: stranger)
        octets[3] = try root.signed(by: stranger)
        #expect(reasons(octets, try chain.policy()) == [.untrustedRoot])
        // Without its root the last certificate only names the anchor.
        #expect(reasons(octets.dropLast(), try chain.policy()) == [.badSignature])
    }

    @Test func `a server verifies nothing for a stranger, and the outcome is the same`() throws {
        var chain = try AndroidTestChain()
        var policy = try chain.policy()
        policy.verifiesEveryLink = false
        #expect(reasons(try chain.signed(), policy).isEmpty)
        chain.leafSigner = chain.keys.forged
        chain.batch.signature = [0x30, 0x00]
        let broken = try chain.signed()
        let report = verifier.verify(chain: broken, policy: policy, revocation: nil, now: AndroidTestChain.now)
        #expect(report.reasons == [.badSignature])
        #expect(report.checks.count { "\($0.name)" == "signatures" } == 1)
        policy.extraRoots = []
        let stranger = verifier.verify(chain: broken, policy: policy, revocation: nil, now: AndroidTestChain.now)
        #expect(stranger.reasons == [.untrustedRoot])
        #expect(stranger.outcome == .rejected)
        #expect(stranger.checks.contains { "\($0.name)" == "signatures" && $0.result == .skipped })
        policy.verifiesEveryLink = true
        #expect(reasons(broken, policy) == [.untrustedRoot, .badSignature])
    }

    @Test func `the supplied copy of the root does not count`() throws {
        var chain = try AndroidTestChain()
        let policy = try chain.policy()
        chain.above[1].notAfter = 0
        chain.above[1].subject = CertificateBuilder.name("Any name")
        chain.above[1].signature = [1, 2, 3]
        chain.above[1].extensions = []
        #expect(reasons(try chain.signed(), policy).isEmpty)
    }

    @Test func `two anchors of one name are told apart by their keys`() throws {
        let chain = try AndroidTestChain()
        var policy = try chain.policy()
        let other = try TestSigningKey(.p384)
        let twin = CertificateBuilder.authority(AndroidTestChain.root, key: other)
        policy.extraRoots.insert(try Certificate(twin.signed(by: other)), at: 0)
        #expect(reasons(try chain.signed().dropLast(), policy).isEmpty)
        #expect(reasons(try chain.signed(), policy).isEmpty)
        policy.extraRoots.removeLast()
        #expect(reasons(try chain.signed(), policy) == [.untrustedRoot])
    }

    // MARK: - Dates

    @Test func `remotely provisioned certificates end with five minutes of grace`() throws {
        let chain = try AndroidTestChain(remote: "TEE")
        let (octets, policy) = (try chain.signed(), try chain.policy())
        let (begin, end) = (chain.batch.notBefore, chain.batch.notAfter)
        #expect(reasons(octets, policy, at: end + 300).isEmpty)
        #expect(reasons(octets, policy, at: end + 301) == [.rkpExpired])
        #expect(reasons(octets, policy, at: begin - 300).isEmpty)
        #expect(reasons(octets, policy, at: begin - 301) == [.notYetValid])
        for now in [Int64.min, .max] { #expect(!reasons(octets, policy, at: now).isEmpty) }
    }

    @Test(arguments: [0, 1])
    func `each provisioned intermediate has its dates`(_ index: Int) throws {
        var chain = try AndroidTestChain(remote: "TEE")
        chain.above[index].notAfter = AndroidTestChain.now - 301
        #expect(reasons(try chain.signed(), try chain.policy()) == [.rkpExpired])
    }

    // MARK: - Revocation

    @Test(arguments: [
        ("abcdef012", "REVOKED", AttestationReason.revoked), ("ABCDEF012", "REVOKED", .revoked),
        ("0abcdef012", "SUSPENDED", .suspended), ("77", "REVOKED", .revoked), ("c0ffee", "SUSPENDED", .suspended),
        ("77", "revoked", .revoked), ("77", "", .revoked), ("77", "VALID", .revoked),
    ])
    func `every certificate of the maker is looked up, and the batch`(
        _ serial: String, _ status: String, _ reason: AttestationReason
    ) throws {
        let chain = try AndroidTestChain()
        let list = try RevocationList(
            json: Array(#"{"entries":{"\#(serial)":{"status":"\#(status)","expires":"1999-01-01"}}}"#.utf8))
        #expect(reasons(try chain.signed(), try chain.policy(), revocation: list) == [reason])
    }

    @Test func `serial numbers of leaf and anchor are not looked up`() throws {
        let chain = try AndroidTestChain()
        let list = try RevocationList(json: Array(#"{"entries":{"1":{"status":"REVOKED"}}}"#.utf8))
        let report = verifier.verify(
            chain: try chain.signed(), policy: try chain.policy(), revocation: list, now: AndroidTestChain.now)
        #expect(report.outcome == .human)
        #expect(report.key?.revocationSerials == ["abcdef012", "77", "c0ffee"])
    }

    // MARK: - Memory

    @Test func `links are remembered once they verified below an anchor`() throws {
        let verifier = AndroidAttestationVerifier()
        let chain = try AndroidTestChain(remote: "TEE")
        let (octets, policy) = (try chain.signed(), try chain.policy())
        var strange = policy
        strange.extraRoots = []
        _ = verifier.verify(chain: octets, policy: strange, revocation: nil, now: AndroidTestChain.now)
        #expect(verifier.links.count == 0)
        for _ in 0..<3 {
            let report = verifier.verify(chain: octets, policy: policy, revocation: nil, now: AndroidTestChain.now)
            #expect(report.outcome == .human)
            #expect(verifier.links.count == 3)
        }
        // Dates and revocation are judged anew, and the leaf is verified each time.
        let late = verifier.verify(chain: octets, policy: policy, revocation: nil, now: AndroidTestChain.now + 9999)
        #expect(late.reasons == [.rkpExpired])
        let list = try RevocationList(json: Array(#"{"entries":{"71":{"status":"REVOKED"}}}"#.utf8))
        let revoked = verifier.verify(chain: octets, policy: policy, revocation: list, now: AndroidTestChain.now)
        #expect(revoked.reasons == [.revoked])
        var other = chain
        other.leafSigner = chain.keys.forged
        let forged = verifier.verify(
            chain: [try other.signed()[0]] + octets.dropFirst(), policy: policy, revocation: nil,
            now: AndroidTestChain.now)
        #expect(forged.reasons == [.badSignature])
    }

    @Test func `a remembered link holds for its own octets and its own parent only`() throws {
        let verifier = AndroidAttestationVerifier()
        let chain = try AndroidTestChain()
        let (octets, policy) = (try chain.signed(), try chain.policy())
        _ = verifier.verify(chain: octets, policy: policy, revocation: nil, now: AndroidTestChain.now)
        for index in octets[1].indices.suffix(70) {
            var other = octets
            other[1][index] ^= 1
            let report = verifier.verify(chain: other, policy: policy, revocation: nil, now: AndroidTestChain.now)
            #expect(report.outcome == .rejected)
        }
        #expect(verifier.links.count == 2)
    }

    @Test func `the memory of links has two generations`() throws {
        let links = LinkCache(capacity: 4)
        func key(_ number: Int) -> [UInt8] { [UInt8(number)] }
        for number in 0..<4 { links.insert(key(number)) }
        #expect(links.count == 4)
        for number in 4..<8 { links.insert(key(number)) }
        #expect(links.count == 8)
        #expect(links.contains(key(0)))  // moves to the younger generation, which was full
        #expect(links.count <= 8)
        for number in 8..<200 {
            links.insert(key(number))
            #expect(links.contains(key(0)))
            #expect(links.count <= 8)
        }
        #expect(!links.contains(key(1)))
        let none = LinkCache(capacity: 0)
        none.insert(key(1))
        #expect(none.count == 0)
    }
}
