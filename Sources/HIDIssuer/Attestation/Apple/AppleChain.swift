// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// A certificate chain of Apple's, leaf first, with at least one authority between leaf and anchor.
///
/// Links are checked by name (octet for octet), constraints and signature (RFC 5280 section 6.1.3 and 6.1.4); dates
/// are asked for apart. A copy of an anchor at the end counts as the anchor, and what else it says is not looked at.
struct AppleChain: Sendable {
    /// What does not hold, and where: 0 is the leaf.
    struct Fault: Error, Sendable, Equatable {
        var reason: AttestationReason
        var detail: String
    }

    /// Leaf first, without a copy of the anchor.
    let certificates: [Certificate]
    let leaf: Certificate
    private let anchors: [AppleAnchor]

    /// Takes a chain; `chainLength` when there is no authority between leaf and anchor.
    init(_ chain: [Certificate], anchors: [AppleAnchor]) throws(Fault) {
        let isCopy = chain.last.map { last in Self.isAnchor(last, anchors) } ?? false
        let certificates = isCopy ? Array(chain.dropLast()) : chain
        guard let leaf = certificates.first, certificates.count >= 2 else {
            throw Fault(reason: .chainLength, detail: "\(chain.count) certificates, no authority below the root")
        }
        self.certificates = certificates
        self.leaf = leaf
        self.anchors = anchors
    }

    private static func isAnchor(_ certificate: Certificate, _ anchors: [AppleAnchor]) -> Bool {
        anchors.contains { $0.subjectPublicKeyInfo == certificate.subjectPublicKeyInfo }
    }

    /// Each certificate names the next as its issuer.
    func checkOrder() throws(Fault) {
        for (index, issuer) in certificates.enumerated().dropFirst()
        where certificates[index - 1].issuer.der != issuer.subject.der {
            throw Fault(reason: .chainOrder, detail: "certificate \(index) is not the issuer of the one before")
        }
    }

    /// Authorities are such and reach as far as needed; the leaf is none and may sign; nothing critical is unknown.
    func checkConstraints() throws(Fault) {
        for (index, certificate) in certificates.enumerated() {
            let unknown = certificate.extensions.first { $0.isCritical && !Self.understood.contains($0.oid) }
            if let unknown {
                throw Fault(
                    reason: .issuerConstraints, detail: "certificate \(index): critical \(unknown.oid) is not known")
            }
            let isFit = index == 0 ? Self.isLeaf(certificate) : Self.isAuthority(certificate, below: index - 1)
            guard isFit else {
                throw Fault(reason: .issuerConstraints, detail: "certificate \(index) may not stand there")
            }
        }
    }

    /// Every signature holds up to the anchor; gives the anchor's name.
    func checkSignatures() throws(Fault) -> String {
        for (index, certificate) in certificates.enumerated() {
            guard certificate.signatureAlgorithm != nil else {
                throw Fault(reason: .signatureAlgorithm, detail: "certificate \(index): algorithm not supported")
            }
            guard index + 1 < certificates.count else {
                let anchor = anchors.first {
                    certificate.isSigned(bySubjectPublicKeyInfo: $0.subjectPublicKeyInfo)
                }
                if let anchor { return anchor.name }
                throw Fault(reason: .untrustedRoot, detail: "certificate \(index) is not signed by a trusted root")
            }
            guard certificate.isSigned(byKeyOf: certificates[index + 1]) else {
                throw Fault(reason: .badSignature, detail: "certificate \(index) is not signed by the next one")
            }
        }
        throw Fault(reason: .chainLength, detail: "no certificates")
    }

    /// Every certificate is valid at a time, seconds since 1970.
    func checkDates(at now: Int64) throws(Fault) {
        for (index, certificate) in certificates.enumerated() {
            guard certificate.notBefore <= now else {
                throw Fault(reason: .notYetValid, detail: "certificate \(index) from \(certificate.notBefore) on")
            }
            guard now <= certificate.notAfter else {
                throw Fault(reason: .certificateExpired, detail: "certificate \(index) until \(certificate.notAfter)")
            }
        }
    }

    private static func isLeaf(_ certificate: Certificate) -> Bool {
        certificate.basicConstraints?.isAuthority != true && certificate.keyUsage?.keyCertSign != true
            && certificate.keyUsage?.digitalSignature != false
    }

    private static func isAuthority(_ certificate: Certificate, below count: Int) -> Bool {
        guard let constraints = certificate.basicConstraints, constraints.isAuthority else { return false }
        guard certificate.keyUsage?.keyCertSign != false else { return false }
        return constraints.pathLength.map { $0 >= Int64(count) } ?? true
    }

    private static let understood: [OID] = [Certificate.basicConstraintsOID, Certificate.keyUsageOID]
}
