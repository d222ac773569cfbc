// SPDX-License-Identifier: Apache-2.0

/// The signature algorithms that a certificate may have; there are no others.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case ecdsaSHA256 = "ecdsa-sha256"
    case ecdsaSHA384 = "ecdsa-sha384"
    case rsaSHA256 = "rsa-sha256"
    case rsaSHA384 = "rsa-sha384"
    case rsaSHA512 = "rsa-sha512"

    /// The identifier (RFC 5758 section 3.2, RFC 4055 section 5).
    package var oid: OID {
        switch self {
        case .ecdsaSHA256: Self.ecdsaSHA256OID
        case .ecdsaSHA384: Self.ecdsaSHA384OID
        case .rsaSHA256: Self.rsaSHA256OID
        case .rsaSHA384: Self.rsaSHA384OID
        case .rsaSHA512: Self.rsaSHA512OID
        }
    }

    /// Whether a key of this kind can have made such a signature, and is strong enough for it.
    package func fits(_ kind: PublicKeyKind) -> Bool {
        switch (self, kind) {
        case (.ecdsaSHA256, .p256), (.ecdsaSHA256, .p384), (.ecdsaSHA384, .p256), (.ecdsaSHA384, .p384): true
        case (.rsaSHA256, .rsa(let bits)), (.rsaSHA384, .rsa(let bits)), (.rsaSHA512, .rsa(let bits)):
            (2048...4096).contains(bits)
        default: false
        }
    }

    /// Reads an AlgorithmIdentifier; nil for any other algorithm or other parameters.
    ///
    /// RSA has NULL parameters (RFC 4055 section 5). ECDSA has none (RFC 5758 section 3.2); NULL is accepted too,
    /// because Titan M writes it.
    init?(_ value: DERValue, in reader: DERReader) throws(DERFault) {
        var fields = try reader.inside(value)
        let oid = try fields.oid(fields.next(.oid))
        let parameters = fields.isAtEnd ? nil : try fields.next()
        try fields.finish()
        guard let algorithm = Self.allCases.first(where: { $0.oid == oid }) else { return nil }
        let hasNull = parameters?.tag == .null && parameters?.content.isEmpty == true
        switch algorithm {
        case .ecdsaSHA256, .ecdsaSHA384: guard parameters == nil || hasNull else { return nil }
        case .rsaSHA256, .rsaSHA384, .rsaSHA512: guard hasNull else { return nil }
        }
        self = algorithm
    }

    private static let ecdsaSHA256OID = OID(1, 2, 840, 10045, 4, 3, 2)
    private static let ecdsaSHA384OID = OID(1, 2, 840, 10045, 4, 3, 3)
    private static let rsaSHA256OID = OID(1, 2, 840, 113549, 1, 1, 11)
    private static let rsaSHA384OID = OID(1, 2, 840, 113549, 1, 1, 12)
    private static let rsaSHA512OID = OID(1, 2, 840, 113549, 1, 1, 13)
}
