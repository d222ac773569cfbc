// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// Makes certificates, right ones by default and wrong ones when a field says so.
package struct CertificateBuilder: Sendable {
    /// A Name with one attribute a set, in the order given: dotted identifier and value.
    package static func name(_ attributes: [(oid: String, value: String)]) -> [UInt8] {
        DERWriter.sequence(
            attributes.map { attribute in
                DERWriter.set(DERWriter.sequence(DERWriter.oid(attribute.oid), DERWriter.utf8(attribute.value)))
            })
    }

    /// A Name with an optional organization before its common name.
    package static func name(_ commonName: String, organization: String? = nil) -> [UInt8] {
        name((organization.map { [(oid: "2.5.4.10", value: $0)] } ?? []) + [(oid: "2.5.4.3", value: commonName)])
    }

    /// One Extension.
    package static func `extension`(_ oid: String, critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(
            [DERWriter.oid(oid)] + (critical ? [DERWriter.boolean(true)] : []) + [DERWriter.octetString(value)])
    }

    /// basicConstraints, critical.
    package static func basicConstraints(authority: Bool, pathLength: Int64? = nil) -> [UInt8] {
        let fields = (authority ? [DERWriter.boolean(true)] : []) + (pathLength.map { [DERWriter.integer($0)] } ?? [])
        return `extension`("2.5.29.19", critical: true, DERWriter.sequence(fields))
    }

    /// keyUsage, critical, from the octets and unused bits of its BIT STRING.
    package static func keyUsage(_ octets: [UInt8], unused: UInt8) -> [UInt8] {
        `extension`("2.5.29.15", critical: true, DERWriter.bitString(octets, unused: unused))
    }

    /// keyUsage with keyCertSign alone.
    package static let keyCertSign = keyUsage([0x04], unused: 2)

    /// The AlgorithmIdentifier of an algorithm.
    package static func identifier(of algorithm: SignatureAlgorithm) -> [UInt8] {
        let oid = DERWriter.value(0x06, algorithm.oid.octets)
        switch algorithm {
        case .ecdsaSHA256, .ecdsaSHA384: return DERWriter.sequence(oid)
        case .rsaSHA256, .rsaSHA384, .rsaSHA512: return DERWriter.sequence(oid, DERWriter.null)
        }
    }

    /// The whole `[0] EXPLICIT` version; v3.
    package var version = DERWriter.explicit(0, DERWriter.integer(2))
    /// The whole INTEGER.
    package var serial = DERWriter.integer(1)
    /// The whole Name.
    package var issuer: [UInt8]
    /// The whole Name.
    package var subject: [UInt8]
    /// Seconds since 1970.
    package var notBefore: Int64 = 0
    /// Seconds since 1970.
    package var notAfter: Int64 = 2_524_608_000
    /// The whole validity in place of the two dates.
    package var validity: [UInt8]?
    /// The whole SubjectPublicKeyInfo.
    package var publicKey: [UInt8]
    /// Whole Extensions; with none the field is left out.
    package var extensions: [[UInt8]] = []
    /// What the key signs with; nil is its usual algorithm.
    package var algorithm: SignatureAlgorithm?
    /// The AlgorithmIdentifier inside the signed part, when it shall differ.
    package var innerIdentifier: [UInt8]?
    /// The AlgorithmIdentifier outside, when it shall differ.
    package var outerIdentifier: [UInt8]?
    /// The signature, when it shall differ.
    package var signature: [UInt8]?

    package init(subject: [UInt8], issuer: [UInt8], publicKey: [UInt8]) {
        self.subject = subject
        self.issuer = issuer
        self.publicKey = publicKey
    }

    /// An authority below `issuer`, or self-signed without one.
    package static func authority(_ subject: [UInt8], issuer: [UInt8]? = nil, key: TestSigningKey) -> Self {
        var builder = Self(subject: subject, issuer: issuer ?? subject, publicKey: key.subjectPublicKeyInfo)
        builder.extensions = [basicConstraints(authority: true), keyCertSign]
        return builder
    }

    /// The signed part.
    package func tbs(identifier: [UInt8]) -> [UInt8] {
        let dates = validity ?? DERWriter.sequence(DERWriter.time(notBefore), DERWriter.time(notAfter))
        let list = extensions.isEmpty ? [] : DERWriter.explicit(3, DERWriter.sequence(extensions))
        return DERWriter.sequence(
            version, serial, innerIdentifier ?? identifier, issuer, dates, subject, publicKey, list)
    }

    /// The certificate, signed by the key of its issuer.
    package func signed(by key: TestSigningKey) throws -> [UInt8] {
        let algorithm = algorithm ?? key.usualAlgorithm
        let identifier = Self.identifier(of: algorithm)
        let tbs = tbs(identifier: identifier)
        let signature = try signature ?? key.sign(tbs, algorithm)
        return DERWriter.sequence(tbs, outerIdentifier ?? identifier, DERWriter.bitString(signature))
    }
}
