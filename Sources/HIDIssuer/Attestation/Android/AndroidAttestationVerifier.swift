// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Judges Android Key Attestation chains (https://developer.android.com/privacy-and-security/security-key-attestation).
///
/// Any thread may call it. It reads no clock, file or network: time and revocation list are parameters. A report lists
/// every reason that can be found and not only the first.
package final class AndroidAttestationVerifier: Sendable {
    /// Certificates of one chain.
    package static let certificates = 2...6
    /// Octets of one chain.
    package static let maximumSize = 24 << 10

    /// SubjectPublicKeyInfo of Google's roots, to be compared with what Google publishes.
    package static var builtinKeys: [[UInt8]] { AndroidAnchor.google.map(\.subjectPublicKeyInfo) }

    /// Links that verified once.
    package let links: LinkCache

    /// Makes a verifier that remembers links of intermediates, which most phones share.
    ///
    /// - Parameter memoisedLinks: How many are remembered at least, about 150 octets each; 0 for none.
    package init(memoisedLinks: Int = 4096) {
        links = LinkCache(capacity: memoisedLinks)
    }

    /// Judges a chain.
    ///
    /// - Parameters:
    ///   - chain: DER certificates in the order received, leaf first; the root may be left out.
    ///   - policy: What is wanted.
    ///   - revocation: nil skips the check; whether that may be is for the caller to say.
    ///   - now: Seconds since 1970.
    /// - Returns: The report; its key is set whenever it could be read.
    package func verify(
        chain: [[UInt8]], policy: AndroidAttestationPolicy, revocation: RevocationList?, now: Int64
    ) -> AttestationReport {
        var judgement = AndroidJudgement(policy: policy, revocation: revocation, now: now, links: links)
        judgement.judge(chain)
        return judgement.report
    }
}

/// One verification: what is known so far, and the report on it.
struct AndroidJudgement {
    let policy: AndroidAttestationPolicy
    let revocation: RevocationList?
    let now: Int64
    let links: LinkCache
    var report = AttestationReport()
    var facts: [AttestedKey.Fact] = []

    init(policy: AndroidAttestationPolicy, revocation: RevocationList?, now: Int64, links: LinkCache) {
        self.policy = policy
        self.revocation = revocation
        self.now = now
        self.links = links
    }

    mutating func judge(_ octets: [[UInt8]]) {
        guard let certificates = certificates(of: octets), let leaf = certificates.first else { return }
        let description = keyDescription(of: leaf)
        var chain: AndroidChain?
        if certificates.count > 1, certificates.count == octets.count {
            var found = AndroidChain(certificates, anchors: policy.anchors)
            judgeChain(&found, description)
            chain = found
        }
        judgeKey(leaf, description, chain)
    }

    /// The certificates up to the first that cannot be read; nil when nothing more is to be looked at.
    private mutating func certificates(of octets: [[UInt8]]) -> [Certificate]? {
        let bounds = AndroidAttestationVerifier.certificates
        guard bounds.contains(octets.count) else {
            report.fail("chain_length", .chainLength, "\(octets.count) certificates, not \(bounds)")
            return octets.count == 1 ? read(octets) : nil
        }
        report.pass("chain_length", "\(octets.count)")
        guard octets.reduce(0, { $0 + $1.count }) <= AndroidAttestationVerifier.maximumSize else {
            report.fail("certificates", .malformed, "more than \(AndroidAttestationVerifier.maximumSize) octets")
            return nil
        }
        return read(octets)
    }

    private mutating func read(_ octets: [[UInt8]]) -> [Certificate] {
        var found: [Certificate] = []
        for (index, der) in octets.enumerated() {
            do throws(DERFault) {
                found.append(try Certificate(der))
            } catch {
                report.fail("certificates", .malformed, "certificate \(index): \(error.rawValue)")
                return found
            }
        }
        report.pass("certificates")
        return found
    }

    private mutating func keyDescription(of leaf: Certificate) -> KeyDescription? {
        guard let found = leaf.extension(KeyDescription.oid) else {
            report.fail("key_description", .keyDescriptionMissing, "the leaf has no attestation extension")
            return nil
        }
        do throws(DERFault) {
            let description = try KeyDescription(found.value)
            report.pass("key_description", "version \(description.attestationVersion)")
            return description
        } catch {
            report.fail("key_description", .keyDescriptionMalformed, error.rawValue)
            return nil
        }
    }
}
