// SPDX-License-Identifier: Apache-2.0

/// An X.509 certificate (RFC 5280 section 4.1) by an own walk over its DER; nothing in it is judged yet.
///
/// `parse` refuses: anything behind the certificate, more octets than the limit, an extension twice, unique
/// identifiers, a tbs.signature that differs from the outer algorithm in any octet, a negative serial number, and
/// basicConstraints or keyUsage that cannot be read.
package struct Certificate: Sendable, Equatable {
    /// An extension as it stands there.
    package struct Extension: Sendable, Equatable {
        package let oid: OID
        package let isCritical: Bool
        /// The content of the OCTET STRING.
        package let value: [UInt8]
    }

    /// The extension of RFC 5280 section 4.2.1.9.
    package struct BasicConstraints: Sendable, Equatable {
        package let isAuthority: Bool
        package let pathLength: Int64?
    }

    /// The extension of RFC 5280 section 4.2.1.3, bit 0 in the lowest place.
    package struct KeyUsage: Sendable, Equatable {
        package let bits: UInt32

        package var digitalSignature: Bool { bits & 1 != 0 }
        package var keyCertSign: Bool { bits & 1 << 5 != 0 }
    }

    /// Octets of one certificate at most, unless the caller says otherwise.
    package static let defaultMaximumSize = 8192

    /// The whole certificate.
    package let der: [UInt8]
    /// Where the signed part lies in `der`.
    package let tbsRange: Range<Int>
    /// Lower-case hex of the serial number as an unsigned integer, without leading zeros.
    package let serial: String
    package let issuer: DistinguishedName
    package let subject: DistinguishedName
    /// Seconds since 1970.
    package let notBefore: Int64
    /// Seconds since 1970.
    package let notAfter: Int64
    /// DER of the SubjectPublicKeyInfo.
    package let subjectPublicKeyInfo: [UInt8]
    package let keyKind: PublicKeyKind
    /// nil when the certificate is signed with an algorithm that is not supported.
    package let signatureAlgorithm: SignatureAlgorithm?
    /// The octets of the signature; ECDSA in DER.
    package let signature: [UInt8]
    package let extensions: [Extension]
    package let basicConstraints: BasicConstraints?
    package let keyUsage: KeyUsage?

    /// The signed octets.
    package var tbs: [UInt8] { Array(der[tbsRange]) }

    /// The extension with an identifier.
    package func `extension`(_ oid: OID) -> Extension? {
        extensions.first { $0.oid == oid }
    }

    /// Whether both certificates hold the same key; their names and dates may differ.
    package func hasSameKey(as other: Certificate) -> Bool {
        subjectPublicKeyInfo == other.subjectPublicKeyInfo
    }

    /// Reads the certificate that fills `der`.
    ///
    /// - Throws: The first fault found; `range` for more octets than `maximumSize`.
    package init(_ der: [UInt8], maximumSize: Int = Certificate.defaultMaximumSize) throws(DERFault) {
        guard der.count <= maximumSize else { throw .range }
        var outer = try DERReader.only(.sequence, in: der)
        let tbs = try outer.next(.sequence)
        let algorithm = try outer.next(.sequence)
        let bits = try outer.next(.bitString)
        try outer.finish()
        let fields = try CertificateFields(outer.inside(tbs))
        guard der[fields.algorithm.full].elementsEqual(der[algorithm.full]) else { throw .value }
        self.der = der
        tbsRange = tbs.full
        serial = fields.serial
        issuer = fields.issuer
        subject = fields.subject
        (notBefore, notAfter) = (fields.notBefore, fields.notAfter)
        subjectPublicKeyInfo = fields.subjectPublicKeyInfo
        keyKind = try PublicKeyKind(subjectPublicKeyInfo: fields.subjectPublicKeyInfo)
        signatureAlgorithm = try SignatureAlgorithm(algorithm, in: outer)
        signature = Array(der[try outer.octetBitString(bits)])
        extensions = fields.extensions
        basicConstraints = try Self.basicConstraints(in: fields.extensions)
        keyUsage = try Self.keyUsage(in: fields.extensions)
    }

    private static func basicConstraints(in extensions: [Extension]) throws(DERFault) -> BasicConstraints? {
        guard let found = extensions.first(where: { $0.oid == basicConstraintsOID }) else { return nil }
        var fields = try DERReader.only(.sequence, in: found.value)
        let authority = try fields.nextIfPresent(.boolean)
        let length = try fields.nextIfPresent(.integer)
        try fields.finish()
        var isAuthority = false
        if let authority { isAuthority = try fields.boolean(authority) }
        guard let length else { return BasicConstraints(isAuthority: isAuthority, pathLength: nil) }
        let pathLength = try fields.integer(length)
        guard pathLength >= 0 else { throw .range }
        return BasicConstraints(isAuthority: isAuthority, pathLength: pathLength)
    }

    private static func keyUsage(in extensions: [Extension]) throws(DERFault) -> KeyUsage? {
        guard let found = extensions.first(where: { $0.oid == keyUsageOID }) else { return nil }
        var reader = DERReader(found.value)
        let value = try reader.next(.bitString)
        try reader.finish()
        return KeyUsage(bits: try reader.namedBits(value))
    }

    package static let basicConstraintsOID = OID(2, 5, 29, 19)
    package static let keyUsageOID = OID(2, 5, 29, 15)
}
