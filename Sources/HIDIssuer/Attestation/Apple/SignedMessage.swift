// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// A CMS SignedData (RFC 5652 section 5) of the one shape that App Attest receipts have.
///
/// One signer, named by issuer and serial number, SHA-256, ECDSA over the content itself without signed attributes,
/// strict DER throughout. The content may be read before the signature was checked; it proves nothing until then.
struct SignedMessage: Sendable {
    private static let signedDataOID = OID(1, 2, 840, 113549, 1, 7, 2)
    private static let dataOID = OID(1, 2, 840, 113549, 1, 7, 1)
    private static let sha256OID = OID(2, 16, 840, 1, 101, 3, 4, 2, 1)
    /// Certificates that are looked at, at most.
    private static let maximumCertificates = 8

    let content: [UInt8]
    /// In the order of the message.
    let certificates: [Certificate]
    private let signerIssuer: [UInt8]
    private let signerSerial: String
    private let algorithm: SignatureAlgorithm
    private let signature: [UInt8]

    init(_ octets: [UInt8]) throws(DERFault) {
        var outer = try DERReader.only(.sequence, in: octets)
        guard try outer.oid(outer.next(.oid)) == Self.signedDataOID else { throw .value }
        let tagged = try outer.next(.context(0))
        try outer.finish()
        let inner = try outer.single(in: tagged)
        guard inner.tag == .sequence else { throw .unexpectedTag }
        var fields = try outer.inside(inner)
        guard try fields.integer(fields.next(.integer)) == 1 else { throw .value }
        try Self.checkDigests(fields.open(.set))
        content = try Self.readContent(fields.open(.sequence))
        certificates = try Self.readCertificates(fields.open(.context(0)))
        var signers = try fields.open(.set)
        try fields.finish()
        var signer = try signers.open(.sequence)
        try signers.finish()
        guard try signer.integer(signer.next(.integer)) == 1 else { throw .value }
        var name = try signer.open(.sequence)
        signerIssuer = Array(name.bytes[try name.next(.sequence).full])
        signerSerial = try name.unsignedHex(name.next(.integer))
        try name.finish()
        try Self.checkDigest(signer.open(.sequence))
        var identifier = try signer.open(.sequence)
        let oid = try identifier.oid(identifier.next(.oid))
        let known = [SignatureAlgorithm.ecdsaSHA256].first { $0.oid == oid }
        guard let known, identifier.isAtEnd else { throw .value }
        algorithm = known
        let value = try signer.next(.octetString)
        signature = signer.octets(value)
        try signer.finish()
    }

    private static func checkDigests(_ reader: DERReader) throws(DERFault) {
        var algorithms = reader
        try checkDigest(algorithms.open(.sequence))
        try algorithms.finish()
    }

    /// SHA-256 with NULL parameters or none.
    private static func checkDigest(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        guard try fields.oid(fields.next(.oid)) == sha256OID else { throw .value }
        if let null = try fields.nextIfPresent(.null), !null.content.isEmpty { throw .value }
        try fields.finish()
    }

    private static func readContent(_ reader: DERReader) throws(DERFault) -> [UInt8] {
        var fields = reader
        guard try fields.oid(fields.next(.oid)) == dataOID else { throw .value }
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

    /// The certificates from the signer up, as far as the message holds them.
    var chain: [Certificate] {
        guard
            let signer = certificates.first(where: {
                $0.issuer.der == signerIssuer && $0.serial == signerSerial
            })
        else { return [] }
        var chain = [signer]
        while chain.count < certificates.count, let last = chain.last {
            let isSelfIssued = last.issuer.der == last.subject.der
            guard !isSelfIssued, let next = certificates.first(where: { $0.subject.der == last.issuer.der }) else {
                break
            }
            chain.append(next)
        }
        return chain
    }

    /// Whether the key of a certificate signed the content.
    func isSigned(by signer: Certificate) -> Bool {
        LinkSignature.verify(
            message: content.span, signature: signature, algorithm: algorithm,
            subjectPublicKeyInfo: signer.subjectPublicKeyInfo)
    }
}
