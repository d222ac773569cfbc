// SPDX-License-Identifier: Apache-2.0

/// One value as a reader found it: its tag and where it lies in the octets of that reader.
package struct DERValue: Sendable, Equatable {
    package let tag: DERTag
    /// Header and content.
    package let full: Range<Int>
    package let content: Range<Int>
    /// How many further levels may be opened below the level of this value.
    let depth: Int
}

/// A strict reader of DER values that stand one behind the other.
///
/// Accepted are definite lengths and tag numbers in their shortest form only. A reader never copies: it holds the
/// whole octets and a range of them. Reading costs time linear in what is read, and traps on no input.
package struct DERReader: Sendable {
    /// Levels that a document may nest when nothing else is said.
    package static let defaultDepth = 16

    /// The octets that all ranges refer to.
    package let bytes: [UInt8]
    /// Where the next header begins.
    package private(set) var position: Int
    private let end: Int
    private let depth: Int

    /// Reads the values that fill `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: The octets; not copied.
    ///   - depth: How many levels may be opened with `inside`.
    package init(_ bytes: [UInt8], depth: Int = DERReader.defaultDepth) {
        self.bytes = bytes
        position = 0
        end = bytes.count
        self.depth = depth
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>, depth: Int) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
        self.depth = depth
    }

    /// Reads the one value that fills `bytes` and opens it.
    ///
    /// - Throws: `trailingOctets` when anything stands behind it, `unexpectedTag` for another tag.
    package static func only(
        _ tag: DERTag, in bytes: [UInt8], depth: Int = DERReader.defaultDepth
    ) throws(DERFault) -> DERReader {
        var reader = DERReader(bytes, depth: depth)
        let value = try reader.next(tag)
        try reader.finish()
        return try reader.inside(value)
    }

    /// Whether every value was read.
    package var isAtEnd: Bool { position >= end }

    /// Reads the next value, whatever its tag.
    package mutating func next() throws(DERFault) -> DERValue {
        let start = position
        var cursor = start
        let tag = try readTag(&cursor)
        let length = try readLength(&cursor)
        guard length <= end - cursor else { throw .truncated }
        position = cursor + length
        return DERValue(tag: tag, full: start..<position, content: cursor..<position, depth: depth)
    }

    /// Reads the next value, which must have this tag.
    package mutating func next(_ tag: DERTag) throws(DERFault) -> DERValue {
        let start = position
        let value = try next()
        guard value.tag == tag else {
            position = start
            throw .unexpectedTag
        }
        return value
    }

    /// Reads the next value when there is one and it has this tag; else nothing is read.
    package mutating func nextIfPresent(_ tag: DERTag) throws(DERFault) -> DERValue? {
        guard !isAtEnd else { return nil }
        let start = position
        let value = try next()
        if value.tag == tag { return value }
        position = start
        return nil
    }

    /// A reader of the values inside a constructed one.
    ///
    /// - Throws: `unexpectedTag` for a primitive value, `tooDeep` at the limit.
    package func inside(_ value: DERValue) throws(DERFault) -> DERReader {
        guard value.tag.isConstructed else { throw .unexpectedTag }
        guard value.depth > 0 else { throw .tooDeep }
        return DERReader(bytes, value.content, depth: value.depth - 1)
    }

    /// Opens the next value, which must be a constructed one with this tag.
    package mutating func open(_ tag: DERTag) throws(DERFault) -> DERReader {
        try inside(next(tag))
    }

    /// The one value inside an EXPLICIT tag, whatever its own tag.
    package func single(in value: DERValue) throws(DERFault) -> DERValue {
        var reader = try inside(value)
        let inner = try reader.next()
        try reader.finish()
        return inner
    }

    /// Asks that nothing is left.
    package func finish() throws(DERFault) {
        guard isAtEnd else { throw .trailingOctets }
    }

    /// Asks that a value that is not understood is DER down to its last level, within the depth of the reader.
    package func check(_ value: DERValue) throws(DERFault) {
        guard value.tag.isConstructed else { return }
        var open = [try inside(value)]
        while var reader = open.popLast() {
            guard !reader.isAtEnd else { continue }
            let next = try reader.next()
            open.append(reader)
            if next.tag.isConstructed { open.append(try reader.inside(next)) }
        }
    }

    private func octet(_ cursor: inout Int) throws(DERFault) -> UInt8 {
        guard cursor < end else { throw .truncated }
        defer { cursor += 1 }
        return bytes[cursor]
    }

    private func readTag(_ cursor: inout Int) throws(DERFault) -> DERTag {
        let first = try octet(&cursor)
        let tagClass = DERTag.Class(rawValue: first >> 6) ?? .universal
        let isConstructed = first & 0x20 != 0
        guard first & 0x1F == 0x1F else {
            return DERTag(tagClass, UInt32(first & 0x1F), isConstructed: isConstructed)
        }
        var number: UInt32 = 0
        for index in 0..<4 {
            let next = try octet(&cursor)
            if index == 0, next == 0x80 { throw .tagNumber }
            number = number << 7 | UInt32(next & 0x7F)
            guard next & 0x80 == 0 else { continue }
            guard number >= 0x1F else { throw .tagNumber }
            return DERTag(tagClass, number, isConstructed: isConstructed)
        }
        throw .tagNumber
    }

    private func readLength(_ cursor: inout Int) throws(DERFault) -> Int {
        let first = try octet(&cursor)
        guard first >= 0x80 else { return Int(first) }
        guard first != 0x80, first != 0xFF else { throw .indefiniteLength }
        let count = Int(first & 0x7F)
        guard count <= 4 else { throw .lengthForm }
        var length: UInt64 = 0
        for index in 0..<count {
            let next = try octet(&cursor)
            if index == 0, next == 0 { throw .lengthForm }
            length = length << 8 | UInt64(next)
        }
        guard length >= 0x80, let size = Int(exactly: length) else { throw .lengthForm }
        return size
    }
}
