// SPDX-License-Identifier: Apache-2.0

/// A Name (RFC 5280 section 4.1.2.4) as its DER and its attributes in order.
///
/// Names are compared by their DER octets: that is what the issuers of attestation chains keep to, and no case folding
/// can make two of them equal.
package struct DistinguishedName: Sendable, Equatable {
    /// An attribute and the octets of its value, whatever string type that has.
    package struct Attribute: Sendable, Equatable {
        package let oid: OID
        package let value: [UInt8]
    }

    /// The attributes that are asked for by name.
    package enum AttributeType: Sendable, CaseIterable {
        case commonName
        case organization
        case organizationalUnit
        case serialNumber
        case title

        package var oid: OID { DistinguishedName.oids[self] ?? OID(2, 5, 4, 0) }
    }

    /// The whole SEQUENCE.
    package let der: [UInt8]
    package let attributes: [Attribute]

    /// Reads the Name that stands as `value` in the octets of `reader`.
    init(_ value: DERValue, in reader: DERReader) throws(DERFault) {
        var names = try reader.inside(value)
        var found: [Attribute] = []
        while !names.isAtEnd {
            var set = try names.open(.set)
            guard !set.isAtEnd else { throw .value }
            while !set.isAtEnd {
                var pair = try set.open(.sequence)
                let oid = try pair.oid(pair.next(.oid))
                let text = try pair.next()
                try pair.finish()
                found.append(Attribute(oid: oid, value: pair.octets(text)))
            }
        }
        der = Array(reader.bytes[value.full])
        attributes = found
    }

    /// The octets of the one attribute of a type; nil when there is none, or more than one.
    package func value(_ type: AttributeType) -> [UInt8]? {
        let oid = type.oid
        let found = attributes.filter { $0.oid == oid }
        return found.count == 1 ? found.first?.value : nil
    }

    /// Whether the one attribute of a type has exactly the octets of a literal.
    package func has(_ type: AttributeType, _ literal: StaticString) -> Bool {
        guard let value = value(type) else { return false }
        return Octets.equal(value.span, literal)
    }

    private static let oids: [AttributeType: OID] = [
        .commonName: OID(2, 5, 4, 3), .organization: OID(2, 5, 4, 10), .organizationalUnit: OID(2, 5, 4, 11),
        .serialNumber: OID(2, 5, 4, 5), .title: OID(2, 5, 4, 12),
    ]
}
