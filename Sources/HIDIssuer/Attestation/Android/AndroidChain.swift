// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// A chain in the order received, with the anchor found for it; nothing is verified yet.
struct AndroidChain {
    /// What ends a chain.
    enum End {
        /// An anchor signs the last certificate of `path`, if the signature is right.
        case anchor(AndroidAnchor)
        /// A root of the Android source tree.
        case software(AndroidAnchor)
        /// Nobody who is known.
        case unknown
    }

    /// Leaf first, without a supplied copy of the root.
    let path: [Certificate]
    let end: End
    /// A copy of a root that is no anchor; its key verifies the last link, for the report.
    let foreignRoot: Certificate?
    /// Whether `path[1]` is an attestation key of the application itself.
    var hasAttestKey = false
    /// Whether every signature from the anchor down to the leaf is right.
    var isVerified = false

    /// Finds the end of two or more certificates: by the key of the last one, else by the issuer it names.
    init(_ certificates: [Certificate], anchors: [AndroidAnchor]) {
        let last = certificates[certificates.count - 1]
        let above = Array(certificates.dropLast())
        func holds(_ anchor: AndroidAnchor) -> Bool { anchor.subjectPublicKeyInfo == last.subjectPublicKeyInfo }
        func isNamed(_ anchor: AndroidAnchor) -> Bool { anchor.subject == last.issuer.der }
        // A root that is named like an anchor and has another key is a look-alike.
        let named = last.issuer.der == last.subject.der ? [] : anchors.filter(isNamed)
        if let anchor = anchors.first(where: holds) {
            (path, end, foreignRoot) = (above, .anchor(anchor), nil)
        } else if let anchor = Self.signer(of: last, among: named) {
            (path, end, foreignRoot) = (certificates, .anchor(anchor), nil)
        } else if let anchor = AndroidAnchor.software.first(where: { holds($0) || isNamed($0) }) {
            (path, end, foreignRoot) = (holds(anchor) ? above : certificates, .software(anchor), nil)
        } else {
            (path, end, foreignRoot) = (above, .unknown, last)
        }
    }

    /// The anchor whose signature is to be verified later; only when several have one name, it is verified here.
    private static func signer(of certificate: Certificate, among named: [AndroidAnchor]) -> AndroidAnchor? {
        guard named.count > 1 else { return named.first }
        let signer = named.first { certificate.isSigned(bySubjectPublicKeyInfo: $0.subjectPublicKeyInfo) }
        return signer ?? named.first
    }

    /// The key and the name above the last certificate of the path.
    var top: (subject: [UInt8], key: [UInt8], fingerprint: [UInt8]?)? {
        switch end {
        case .anchor(let anchor), .software(let anchor):
            (anchor.subject, anchor.subjectPublicKeyInfo, anchor.fingerprint)
        case .unknown:
            foreignRoot.map { ($0.subject.der, $0.subjectPublicKeyInfo, nil) }
        }
    }

    /// Whether the path ends at a key that is trusted; the signatures are another question.
    var isAnchored: Bool { if case .anchor = end { true } else { false } }

    /// Index in the path of the batch or attestation certificate, which belongs to the maker.
    var batchIndex: Int { hasAttestKey ? 2 : 1 }

    /// The batch or attestation certificate.
    var batch: Certificate? { batchIndex < path.count ? path[batchIndex] : nil }

    /// Whether keys come from remote provisioning: short-lived certificates below `Droid CA2`.
    ///
    /// Every sign of it counts, since the rules for dates are the stricter ones then.
    var isRemotelyProvisioned: Bool {
        path.dropFirst().contains { certificate in
            let isGoogle = certificate.subject.has(.organization, "Google LLC")
            return isGoogle && certificate.subject.has(.commonName, "Droid CA2")
                || isGoogle && certificate.subject.has(.commonName, "Droid CA3")
                || certificate.extension(Self.provisioningInfoOID) != nil || Self.isNamedByLevel(certificate)
        }
    }

    /// What the batch or attestation certificate says of the place of its key.
    var batchLevel: KeyDescription.Level? {
        guard let subject = batch?.subject else { return nil }
        if subject.has(.title, "StrongBox") || subject.has(.organization, "StrongBox") { return .strongbox }
        if subject.has(.title, "TEE") || subject.has(.organization, "TEE") { return .tee }
        return nil
    }

    /// O is the level and CN the serial number: the attestation certificate of remote provisioning.
    private static func isNamedByLevel(_ certificate: Certificate) -> Bool {
        let subject = certificate.subject
        guard subject.has(.organization, "TEE") || subject.has(.organization, "StrongBox"),
            let name = subject.value(.commonName), let number = Hex.normalise(name)
        else { return false }
        return number == certificate.serial
    }

    /// 1.3.6.1.4.1.11129.2.1.30, a CBOR map.
    static let provisioningInfoOID = OID(1, 3, 6, 1, 4, 1, 11129, 2, 1, 30)
}
