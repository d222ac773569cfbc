// SPDX-License-Identifier: Apache-2.0

/// Walks the elements of one comma list value (RFC 9110 section 5.6.1), empty ones included.
///
/// Quoted strings are not known here: none of the lists the codec reads has them.
struct ListElements {
    private var next: Int
    private let end: Int
    private var isOver = false

    init(_ value: Range<Int>) {
        next = value.lowerBound
        end = value.upperBound
    }

    /// The next element without the white space round it, or nil behind the last.
    mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard !isOver else { return nil }
        var first = next
        var last = next
        while last < end, bytes[last] != 0x2C { last &+= 1 }
        next = last &+ 1
        isOver = last == end
        while first < last, bytes[first] == 0x20 || bytes[first] == 0x09 { first &+= 1 }
        while last > first, bytes[last &- 1] == 0x20 || bytes[last &- 1] == 0x09 { last &-= 1 }
        return first..<last
    }
}

/// The fields a head's Connection lines name, so that a hop can leave them out (RFC 9110 section 7.6.1).
///
/// `close` and `keep-alive` are options of their own, no fields, and are not kept. The storage is reused.
package struct ConnectionTokens: Sendable {
    /// The named options, as ranges into the bytes of the head.
    package private(set) var names: [Range<Int>] = []

    package init() {}

    /// Forgets the last head and reads the Connection lines of this one.
    package mutating func collect(from head: some FieldSection) {
        names.removeAll(keepingCapacity: true)
        let bytes = head.bytes.span
        for field in head.fields where field.name.count == 10 {
            guard FieldName.connection.matches(bytes.extracting(field.name)) else { continue }
            var elements = ListElements(field.value)
            while let element = elements.next(in: bytes) {
                let option = bytes.extracting(element)
                if element.isEmpty || KnownToken.close.matches(option) { continue }
                if KnownToken.keepAlive.matches(option) { continue }
                names.append(element)
            }
        }
    }

    /// Whether the Connection lines of the head name that field line of it.
    package func contains(_ field: FieldLine, of head: some FieldSection) -> Bool {
        let bytes = head.bytes.span
        for name in names where name.count == field.name.count {
            if ASCII.equalIgnoringCase(bytes.extracting(name), bytes.extracting(field.name)) { return true }
        }
        return false
    }
}
