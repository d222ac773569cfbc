// SPDX-License-Identifier: Apache-2.0

/// Primitive values; each takes one that this reader, or a reader of the same octets, returned.
extension DERReader {
    /// The octets of a content.
    package func octets(_ value: DERValue) -> [UInt8] {
        Array(bytes[value.content])
    }

    /// A BOOLEAN in its DER form, 0x00 or 0xFF (X.690 section 11.1).
    package func boolean(_ value: DERValue) throws(DERFault) -> Bool {
        guard value.tag == .boolean else { throw .unexpectedTag }
        guard value.content.count == 1 else { throw .value }
        switch bytes[value.content.lowerBound] {
        case 0x00: return false
        case 0xFF: return true
        default: throw .value
        }
    }

    /// A BOOLEAN as BER allows it: one octet, anything but 0 is true.
    ///
    /// Key Attestation of real phones writes 0x01.
    package func lenientBoolean(_ value: DERValue) throws(DERFault) -> Bool {
        guard value.tag == .boolean else { throw .unexpectedTag }
        guard value.content.count == 1 else { throw .value }
        return bytes[value.content.lowerBound] != 0
    }

    /// An INTEGER or ENUMERATED of at most 8 octets.
    ///
    /// - Throws: `range` for a longer one, `value` for a form that is not the shortest.
    package func integer(_ value: DERValue, _ tag: DERTag = .integer) throws(DERFault) -> Int64 {
        try checkInteger(value, tag)
        guard value.content.count <= 8 else { throw .range }
        var number: Int64 = bytes[value.content.lowerBound] & 0x80 == 0 ? 0 : -1
        for index in value.content { number = number << 8 | Int64(bytes[index]) }
        return number
    }

    /// Where the magnitude of a non-negative INTEGER of any length lies: big-endian, no leading zero octet.
    ///
    /// - Throws: `range` for a negative one; zero is one octet.
    package func unsignedInteger(_ value: DERValue) throws(DERFault) -> Range<Int> {
        try checkInteger(value, .integer)
        guard bytes[value.content.lowerBound] & 0x80 == 0 else { throw .range }
        let isPadded = value.content.count > 1 && bytes[value.content.lowerBound] == 0
        return isPadded ? value.content.lowerBound + 1..<value.content.upperBound : value.content
    }

    /// A non-negative INTEGER of any length as lower-case hex without leading zeros; zero is `0`.
    package func unsignedHex(_ value: DERValue) throws(DERFault) -> String {
        Hex.number(bytes[try unsignedInteger(value)])
    }

    /// An OBJECT IDENTIFIER.
    package func oid(_ value: DERValue) throws(DERFault) -> OID {
        guard value.tag == .oid else { throw .unexpectedTag }
        guard let oid = OID(octets: bytes[value.content]) else { throw .value }
        return oid
    }

    /// Where the content of an OCTET STRING lies.
    package func octetString(_ value: DERValue) throws(DERFault) -> Range<Int> {
        guard value.tag == .octetString else { throw .unexpectedTag }
        return value.content
    }

    /// Where the octets of a BIT STRING of whole octets lie.
    package func octetBitString(_ value: DERValue) throws(DERFault) -> Range<Int> {
        guard value.tag == .bitString else { throw .unexpectedTag }
        guard let first = value.content.first, bytes[first] == 0 else { throw .value }
        return value.content.dropFirst()
    }

    /// The named bits of a BIT STRING, bit 0 in the lowest place; at most 32 of them.
    ///
    /// Trailing zero bits, which DER forbids (X.690 section 11.2.2) and phones write, are accepted.
    package func namedBits(_ value: DERValue) throws(DERFault) -> UInt32 {
        guard value.tag == .bitString else { throw .unexpectedTag }
        guard let first = value.content.first, bytes[first] < 8 else { throw .value }
        let octets = value.content.dropFirst()
        guard octets.count <= 4, !octets.isEmpty || bytes[first] == 0 else { throw .value }
        var bits: UInt32 = 0
        for (index, position) in octets.enumerated() {
            for bit in 0..<8 where bytes[position] & (0x80 >> UInt8(bit)) != 0 {
                guard index * 8 + bit < octets.count * 8 - Int(bytes[first]) else { throw .value }
                bits |= 1 << UInt32(index * 8 + bit)
            }
        }
        return bits
    }

    /// Seconds since 1970 of a UTCTime or GeneralizedTime in the forms of RFC 5280 section 4.1.2.5.
    package func time(_ value: DERValue) throws(DERFault) -> Int64 {
        switch value.tag {
        case .utcTime:
            guard let seconds = CertificateTime.utc(bytes[value.content]) else { throw .value }
            return seconds
        case .generalizedTime:
            guard let seconds = CertificateTime.generalized(bytes[value.content]) else { throw .value }
            return seconds
        default:
            throw .unexpectedTag
        }
    }

    private func checkInteger(_ value: DERValue, _ tag: DERTag) throws(DERFault) {
        guard value.tag == tag else { throw .unexpectedTag }
        guard let first = value.content.first else { throw .value }
        guard value.content.count > 1 else { return }
        let isPadded =
            bytes[first] == 0x00 && bytes[first + 1] < 0x80 || bytes[first] == 0xFF && bytes[first + 1] >= 0x80
        guard !isPadded else { throw .value }
    }
}
