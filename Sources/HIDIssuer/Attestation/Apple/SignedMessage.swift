// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// A CMS SignedData (RFC 5652 section 5) of the two shapes that App Attest receipts have.
///
/// One signer, named by issuer and serial number, SHA-256 and ECDSA, over the content itself or over signed
/// attributes that hold its digest. The outer shell may have indefinite lengths; all else is strict DER. The content
/// may be read before the signature was checked; it proves nothing until then.
struct SignedMessage: Sendable {
    /// The octets of the content.
    let content: [UInt8]
    /// In the order of the message.
    let certificates: [Certificate]
    private let signer: SignerInfo

    init(_ octets: [UInt8]) throws(DERFault) {
        let definite = try IndefiniteLength.rewrite(octets)
        var outer = try DERReader.only(.sequence, in: definite)
        guard try outer.oid(outer.next(.oid)) == Self.signedDataOID else { throw .value }
        let tagged = try outer.next(.context(0))
        try outer.finish()
        let inner = try outer.single(in: tagged)
        guard inner.tag == .sequence else { throw .unexpectedTag }
        var fields = try outer.inside(inner)
        guard try fields.integer(fields.next(.integer)) == 1 else { throw .value }
        var digests = try fields.open(.set)
        try SignerInfo.checkDigest(digests.open(.sequence))
        try digests.finish()
        content = try Self.readContent(fields.open(.sequence))
        certificates = try Self.readCertificates(fields.open(.context(0)))
        var signers = try fields.open(.set)
        try fields.finish()
        signer = try SignerInfo(signers.open(.sequence))
        try signers.finish()
    }

    private static func readContent(_ reader: DERReader) throws(DERFault) -> [UInt8] {
        var fields = reader
        guard try fields.oid(fields.next(.oid)) == SignerInfo.dataOID else { throw .value }
        let tagged = try fields.next(.context(0))
        try fields.finish()
        let value = try fields.single(in: tagged)
        return Array(fields.bytes[try fields.octetString(value)])
    }

    private static func readCertificates(_ reader: DERReader) throws(DERFault) -> [Certificate] {
        var list = reader
        var found: [Certificate] = []
        while !list.isAtEnd {
            guard found.count < maximumCertificates else { throw .range }
            let value = try list.next(.sequence)
            found.append(try Certificate(Array(list.bytes[value.full])))
        }
        return found
    }

    private static let signedDataOID = OID(1, 2, 840, 113549, 1, 7, 2)
    /// Certificates that are looked at, at most.
    private static let maximumCertificates = 8

    // MARK: - Signature

    /// The certificates from the signer up, as far as the message holds them.
    var chain: [Certificate] {
        guard let first = certificates.first(where: { signer.isNamed(by: $0) }) else { return [] }
        var chain = [first]
        while chain.count < certificates.count, let last = chain.last, last.issuer.der != last.subject.der,
            let next = certificates.first(where: { $0.subject.der == last.issuer.der })
        {
            chain.append(next)
        }
        return chain
    }

    /// Whether the key of a certificate signed the content.
    func isSigned(by certificate: Certificate) -> Bool {
        guard let message = signer.signedOctets(for: content) else { return false }
        return LinkSignature.verify(
            message: message.span, signature: signer.signature, algorithm: .ecdsaSHA256,
            subjectPublicKeyInfo: certificate.subjectPublicKeyInfo)
    }
}

/// The one SignerInfo (RFC 5652 section 5.3) of a message.
private struct SignerInfo: Sendable {
    /// ECDSA in DER.
    let signature: [UInt8]
    private let issuer: [UInt8]
    private let serial: String
    private let attributes: SignedAttributes?

    init(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        guard try fields.integer(fields.next(.integer)) == 1 else { throw .value }
        var name = try fields.open(.sequence)
        issuer = Array(name.bytes[try name.next(.sequence).full])
        serial = try name.unsignedHex(name.next(.integer))
        try name.finish()
        try Self.checkDigest(fields.open(.sequence))
        let signed = try fields.nextIfPresent(.context(0))
        if let signed { attributes = try SignedAttributes(signed, in: fields) } else { attributes = nil }
        var algorithm = try fields.open(.sequence)
        guard try algorithm.oid(algorithm.next(.oid)) == SignatureAlgorithm.ecdsaSHA256.oid else { throw .value }
        try algorithm.finish()
        let value = try fields.next(.octetString)
        signature = fields.octets(value)
        try fields.finish()
    }

    func isNamed(by certificate: Certificate) -> Bool {
        certificate.issuer.der == issuer && certificate.serial == serial
    }

    /// What the signature is over; nil when signed attributes speak of another content.
    func signedOctets(for content: [UInt8]) -> [UInt8]? {
        guard let attributes else { return content }
        return attributes.digest == SHA256.digest(content.span) ? attributes.signedOctets : nil
    }

    /// SHA-256 with NULL parameters or none.
    static func checkDigest(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        guard try fields.oid(fields.next(.oid)) == sha256OID else { throw .value }
        if let null = try fields.nextIfPresent(.null), !null.content.isEmpty { throw .value }
        try fields.finish()
    }

    static let dataOID = OID(1, 2, 840, 113549, 1, 7, 1)
    private static let sha256OID = OID(2, 16, 840, 1, 101, 3, 4, 2, 1)
}

/// Signed attributes (RFC 5652 section 5.4 and 11) of which content type and message digest count.
private struct SignedAttributes: Sendable {
    /// The attributes as a SET, that is, with the tag under which they are signed.
    let signedOctets: [UInt8]
    let digest: [UInt8]

    init(_ value: DERValue, in reader: DERReader) throws(DERFault) {
        var list = try reader.inside(value)
        var found: [OID: [UInt8]] = [:]
        while !list.isAtEnd {
            var attribute = try list.open(.sequence)
            let oid = try attribute.oid(attribute.next(.oid))
            let values = try attribute.next(.set)
            try attribute.finish()
            guard found.updateValue(attribute.octets(values), forKey: oid) == nil else { throw .value }
        }
        guard let type = found[Self.contentTypeOID], let digest = found[Self.messageDigestOID] else { throw .value }
        var types = DERReader(type)
        guard try types.oid(types.next(.oid)) == SignerInfo.dataOID else { throw .value }
        try types.finish()
        var digests = DERReader(digest)
        self.digest = digests.octets(try digests.next(.octetString))
        try digests.finish()
        signedOctets = [0x31] + reader.bytes[value.full].dropFirst()
    }

    private static let contentTypeOID = OID(1, 2, 840, 113549, 1, 9, 3)
    private static let messageDigestOID = OID(1, 2, 840, 113549, 1, 9, 4)
}
