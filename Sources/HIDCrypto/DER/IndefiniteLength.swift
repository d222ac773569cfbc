// SPDX-License-Identifier: Apache-2.0

/// Rewrites the indefinite lengths of BER (X.690 section 8.1.3.6) as definite ones, so that `DERReader` can go on.
///
/// Signed data of Apple's comes with an outer shell of indefinite length around values in DER. Only that shell is
/// rewritten, and an OCTET STRING in parts (section 8.7.3) becomes one; values of definite length are copied as they
/// are. Takes time linear in the octets for each of at most eight levels.
package enum IndefiniteLength {
    private static let maximumDepth = 8

    /// The one value that fills `bytes`, with definite lengths down to the first values that have them.
    ///
    /// - Throws: `truncated` for octets or an end mark that are missing, `trailingOctets`, `tooDeep`, or what a header
    ///   is refused for.
    package static func rewrite(_ bytes: [UInt8]) throws(DERFault) -> [UInt8] {
        var position = 0
        let value = try read(bytes, at: &position, depth: 0)
        guard position == bytes.count else { throw .trailingOctets }
        return value
    }

    private static func read(_ bytes: [UInt8], at position: inout Int, depth: Int) throws(DERFault) -> [UInt8] {
        guard bytes.count - position >= 2 else { throw .truncated }
        let (start, tag) = (position, bytes[position])
        guard tag & 0x1F != 0x1F else { throw .tagNumber }
        guard bytes[position + 1] == 0x80 else {
            position = try end(bytes, of: position)
            return Array(bytes[start..<position])
        }
        guard tag & 0x20 != 0 else { throw .indefiniteLength }
        guard depth < maximumDepth else { throw .tooDeep }
        position += 2
        let isString = tag == constructedString
        var content: [UInt8] = []
        while true {
            guard bytes.count - position >= 2 else { throw .truncated }
            if bytes[position] == 0, bytes[position + 1] == 0 { break }
            let part = try read(bytes, at: &position, depth: depth + 1)
            content += isString ? try stringContent(part) : part
        }
        position += 2
        return header(isString ? 0x04 : tag, count: content.count) + content
    }

    private static let constructedString: UInt8 = 0x24

    private static func stringContent(_ part: [UInt8]) throws(DERFault) -> [UInt8] {
        var reader = DERReader(part)
        let value = try reader.next(.octetString)
        return reader.octets(value)
    }

    /// Where a value of definite length, with a tag of one octet, ends; the form of the length is judged later.
    private static func end(_ bytes: [UInt8], of start: Int) throws(DERFault) -> Int {
        let first = bytes[start + 1]
        guard first > 0x80 else { return try advance(bytes, start + 2, by: Int(first)) }
        let count = Int(first & 0x7F)
        guard count <= 4 else { throw .lengthForm }
        guard bytes.count - start - 2 >= count else { throw .truncated }
        let length = bytes[start + 2..<start + 2 + count].reduce(0) { $0 << 8 | Int($1) }
        return try advance(bytes, start + 2 + count, by: length)
    }

    private static func advance(_ bytes: [UInt8], _ position: Int, by count: Int) throws(DERFault) -> Int {
        guard count <= bytes.count - position else { throw .truncated }
        return position + count
    }

    /// A header with the shortest length.
    private static func header(_ tag: UInt8, count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [tag, UInt8(truncatingIfNeeded: count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(truncatingIfNeeded: octets.count)] + octets
    }
}
