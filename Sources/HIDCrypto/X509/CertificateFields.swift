// SPDX-License-Identifier: Apache-2.0

/// The fields of a TBSCertificate in their order (RFC 5280 section 4.1).
struct CertificateFields {
    /// Extensions of one certificate at most.
    static let maximumExtensions = 32

    let serial: String
    let algorithm: DERValue
    let issuer: DistinguishedName
    let notBefore: Int64
    let notAfter: Int64
    let subject: DistinguishedName
    let subjectPublicKeyInfo: [UInt8]
    let extensions: [Certificate.Extension]

    /// Reads everything inside the SEQUENCE.
    init(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        let version = try Self.version(&fields)
        serial = try fields.unsignedHex(fields.next(.integer))
        algorithm = try fields.next(.sequence)
        issuer = try DistinguishedName(fields.next(.sequence), in: fields)
        var validity = try fields.open(.sequence)
        notBefore = try validity.time(validity.next())
        notAfter = try validity.time(validity.next())
        try validity.finish()
        subject = try DistinguishedName(fields.next(.sequence), in: fields)
        subjectPublicKeyInfo = Array(fields.bytes[try fields.next(.sequence).full])
        extensions = version == 2 ? try Self.extensions(&fields) : []
        try fields.finish()
    }

    /// 0 for v1, 1 for v2, 2 for v3; the default value must not be written.
    private static func version(_ fields: inout DERReader) throws(DERFault) -> Int64 {
        guard let tagged = try fields.nextIfPresent(.context(0)) else { return 0 }
        let version = try fields.integer(fields.single(in: tagged))
        guard version == 1 || version == 2 else { throw .range }
        return version
    }

    private static func extensions(_ fields: inout DERReader) throws(DERFault) -> [Certificate.Extension] {
        guard let tagged = try fields.nextIfPresent(.context(3)) else { return [] }
        let list = try fields.single(in: tagged)
        guard list.tag == .sequence else { throw .unexpectedTag }
        var reader = try fields.inside(list)
        var found: [Certificate.Extension] = []
        while !reader.isAtEnd {
            guard found.count < maximumExtensions else { throw .range }
            var parts = try reader.open(.sequence)
            let oid = try parts.oid(parts.next(.oid))
            var isCritical = false
            // Solana's StrongBox writes TRUE as 0x01.
            if let flag = try parts.nextIfPresent(.boolean) { isCritical = try parts.lenientBoolean(flag) }
            let value = try parts.next(.octetString)
            try parts.finish()
            guard !found.contains(where: { $0.oid == oid }) else { throw .value }
            found.append(Certificate.Extension(oid: oid, isCritical: isCritical, value: parts.octets(value)))
        }
        return found
    }
}
