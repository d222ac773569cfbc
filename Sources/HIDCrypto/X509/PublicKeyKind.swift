// SPDX-License-Identifier: Apache-2.0

/// What kind of key a SubjectPublicKeyInfo holds, read without any arithmetic on it.
package enum PublicKeyKind: Sendable, Hashable, CustomStringConvertible {
    /// id-ecPublicKey on the named curve, with an uncompressed point (RFC 5480 section 2.2).
    case p256
    case p384
    /// rsaEncryption with an odd modulus of so many bits and a public exponent of at most 32 bits.
    case rsa(bits: Int)
    /// Anything else: other algorithms, explicit curve parameters, compressed points.
    case other

    package var description: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        case .rsa(let bits): "RSA-\(bits)"
        case .other: "other"
        }
    }

    /// Reads a SubjectPublicKeyInfo that fills `der`.
    ///
    /// - Throws: When it is no DER of AlgorithmIdentifier and BIT STRING; an unknown algorithm is `other`.
    package init(subjectPublicKeyInfo der: [UInt8]) throws(DERFault) {
        var reader = try DERReader.only(.sequence, in: der)
        var algorithm = try reader.open(.sequence)
        let key = try reader.next(.bitString)
        try reader.finish()
        let oid = try algorithm.oid(algorithm.next(.oid))
        let parameters = algorithm.isAtEnd ? nil : try algorithm.next()
        try algorithm.finish()
        switch oid {
        case Self.ecPublicKey: self = try Self.curveKey(reader, key, parameters)
        case Self.rsaEncryption: self = try Self.rsaKey(reader, key, parameters)
        default: self = .other
        }
    }

    private static func curveKey(
        _ reader: DERReader, _ key: DERValue, _ parameters: DERValue?
    ) throws(DERFault) -> PublicKeyKind {
        guard let parameters, parameters.tag == .oid else { return .other }
        let curve = try reader.oid(parameters)
        let point = try reader.octetBitString(key)
        guard let first = point.first, reader.bytes[first] == 0x04 else { return .other }
        switch (curve, point.count) {
        case (prime256v1, 65): return .p256
        case (secp384r1, 97): return .p384
        default: return .other
        }
    }

    private static func rsaKey(
        _ reader: DERReader, _ key: DERValue, _ parameters: DERValue?
    ) throws(DERFault) -> PublicKeyKind {
        guard let parameters, parameters.tag == .null, parameters.content.isEmpty else { return .other }
        var fields = try DERReader.only(.sequence, in: Array(reader.bytes[try reader.octetBitString(key)]))
        let modulus = try fields.unsignedInteger(fields.next(.integer))
        let exponent = try fields.unsignedInteger(fields.next(.integer))
        try fields.finish()
        guard fields.bytes[modulus].last.map({ $0 & 1 == 1 }) == true, exponent.count <= 4 else { return .other }
        let value = fields.bytes[exponent].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard value >= 3, value & 1 == 1, let first = fields.bytes[modulus].first else { return .other }
        return .rsa(bits: modulus.count * 8 - first.leadingZeroBitCount)
    }

    private static let ecPublicKey = OID(1, 2, 840, 10045, 2, 1)
    private static let prime256v1 = OID(1, 2, 840, 10045, 3, 1, 7)
    private static let secp384r1 = OID(1, 3, 132, 0, 34)
    private static let rsaEncryption = OID(1, 2, 840, 113549, 1, 1, 1)
}
