// SPDX-License-Identifier: Apache-2.0

/// Why octets are no CBOR that we accept.
package enum CBORFault: Error, Sendable, Equatable {
    /// The octets end inside an item.
    case truncated
    /// An item of indefinite length, or the break code that would end one.
    case indefiniteLength
    /// An argument in more octets than its value needs (RFC 8949 section 4.2.1).
    case notShortest
    /// Reserved additional information, or a simple value in a form that it must not have.
    case malformed
    /// A text string that is not UTF-8.
    case invalidText
    /// A map key that is neither an integer nor a string.
    case keyKind
    /// A map key twice in one map.
    case duplicateKey
    /// Arrays, maps and tags nested deeper than the limit.
    case tooDeep
    /// More items than the limit.
    case tooManyItems
    /// More octets than the limit.
    case tooLong
    /// Something follows an item that should be the last.
    case trailingOctets
}

/// One strict CBOR item (RFC 8949): the octets and a flat list of nodes in document order.
///
/// Accepted is the core deterministic form without an order of keys: definite lengths and shortest heads only. Floats
/// are taken in any of their three widths. Map keys are integers or strings, each once. Accessors answer nil for a
/// node of another kind; none of them traps on anything a peer can send. Reading takes time linear in the octets.
package struct CBOR: Sendable {
    /// What an item may hold at most.
    package struct Limits: Sendable {
        /// Nested arrays, maps and tags; never more than 64, since the reader recurses.
        package var depth: Int
        /// Items altogether; keys and values count one each.
        package var items: Int
        /// Octets from the first of the item to the end of the input.
        package var octets: Int

        /// Makes limits; the defaults hold attestation objects with room.
        package init(depth: Int = 4, items: Int = 256, octets: Int = 16 * 1024) {
            self.depth = min(depth, 64)
            self.items = items
            self.octets = min(octets, Int(Int32.max))
        }
    }

    /// The kinds of item.
    package enum Kind: UInt8, Sendable {
        case unsigned
        case negative
        case bytes
        case text
        case array
        case map
        case tag
        /// `false`, `true`, `null`, `undefined` and the values without a meaning.
        case simple
        case float
    }

    /// An item inside the document that made it; meaningless with another one.
    package struct Node: Sendable, Equatable {
        let index: Int
    }

    /// One entry of the flat list.
    struct Entry: Sendable {
        var kind: Kind
        /// The argument of the head; for floats their bits.
        var argument: UInt64
        /// Where the head starts.
        var start: UInt32
        /// Where what follows the head starts.
        var content: UInt32
        /// Where the item ends.
        var end: UInt32
        /// The index of the first entry behind this item and all it holds.
        var next: UInt32
    }

    /// The octets in which the item lies.
    package let bytes: [UInt8]
    /// The offset of the first octet behind the item.
    package let end: Int
    private let entries: [Entry]

    /// Reads the item that starts at an offset; what follows it is not looked at.
    ///
    /// - Throws: The first fault found.
    package init(
        prefixOf bytes: [UInt8], from offset: Int = 0, limits: Limits = Limits()
    ) throws(CBORFault) {
        guard offset >= 0, offset <= bytes.count else { throw .truncated }
        guard bytes.count - offset <= limits.octets, bytes.count <= Int(Int32.max) else { throw .tooLong }
        var reader = CBORReader(bytes: bytes, from: offset, limits: limits)
        try reader.readItem(depth: 0)
        self.bytes = bytes
        end = reader.position
        entries = reader.entries
    }

    /// Reads octets that are one item and nothing else.
    ///
    /// - Throws: The first fault found.
    package init(_ bytes: [UInt8], limits: Limits = Limits()) throws(CBORFault) {
        try self.init(prefixOf: bytes, from: 0, limits: limits)
        guard end == bytes.count else { throw .trailingOctets }
    }

    /// The outermost item.
    package var root: Node { Node(index: 0) }

    /// The kind of an item.
    package func kind(_ node: Node) -> Kind { entries[node.index].kind }

    /// Where the whole encoding of an item lies in `bytes`.
    package func encoding(_ node: Node) -> Range<Int> {
        Int(entries[node.index].start)..<Int(entries[node.index].end)
    }

    // MARK: - Containers

    /// The elements of an array in document order; nil for other kinds.
    package func elements(of array: Node) -> [Node]? {
        guard kind(array) == .array else { return nil }
        return children(of: array)
    }

    /// Keys and values of a map in document order; nil for other kinds.
    package func entries(of map: Node) -> [(key: Node, value: Node)]? {
        guard kind(map) == .map else { return nil }
        let items = children(of: map)
        return stride(from: 0, to: items.count - 1, by: 2).map { (items[$0], items[$0 + 1]) }
    }

    /// The value of a text key of a map.
    package func value(of map: Node, _ key: StaticString) -> Node? {
        entries(of: map)?.first { isText($0.key, key) }?.value
    }

    /// The value of an integer key of a map.
    package func value(of map: Node, _ key: Int64) -> Node? {
        entries(of: map)?.first { integer($0.key) == key }?.value
    }

    /// The number of a tag and the item under it; nil for other kinds.
    package func tagged(_ node: Node) -> (tag: UInt64, item: Node)? {
        let entry = entries[node.index]
        return entry.kind == .tag ? (entry.argument, Node(index: node.index + 1)) : nil
    }

    private func children(of node: Node) -> [Node] {
        var found: [Node] = []
        var index = node.index + 1
        while index < entries[node.index].next {
            found.append(Node(index: index))
            index = Int(entries[index].next)
        }
        return found
    }

    // MARK: - Values

    /// The value of an unsigned integer.
    package func unsigned(_ node: Node) -> UInt64? {
        let entry = entries[node.index]
        return entry.kind == .unsigned ? entry.argument : nil
    }

    /// The value of an integer; nil when it does not fit Int64.
    package func integer(_ node: Node) -> Int64? {
        let entry = entries[node.index]
        guard let size = Int64(exactly: entry.argument) else { return nil }
        switch entry.kind {
        case .unsigned: return size
        case .negative: return -1 - size
        default: return nil
        }
    }

    /// Where the octets of a byte string lie in `bytes`.
    package func octets(_ node: Node) -> Range<Int>? {
        kind(node) == .bytes ? content(node) : nil
    }

    /// The octets of a byte string as an array of its own.
    package func octetArray(_ node: Node) -> [UInt8]? {
        octets(node).map { Array(bytes[$0]) }
    }

    /// Where the UTF-8 of a text string lies in `bytes`.
    package func text(_ node: Node) -> Range<Int>? {
        kind(node) == .text ? content(node) : nil
    }

    /// Whether an item is a text string of exactly these octets.
    package func isText(_ node: Node, _ literal: StaticString) -> Bool {
        guard let range = text(node) else { return false }
        return Octets.equal(bytes.span.extracting(range), literal)
    }

    /// The number of a simple value: 20 `false`, 21 `true`, 22 `null`, 23 `undefined`.
    package func simple(_ node: Node) -> UInt8? {
        let entry = entries[node.index]
        return entry.kind == .simple ? UInt8(exactly: entry.argument) : nil
    }

    /// The value of a float of any width.
    package func float(_ node: Node) -> Double? {
        let entry = entries[node.index]
        guard entry.kind == .float else { return nil }
        switch entry.content - entry.start {
        case 3: return Double(Float16(bitPattern: UInt16(truncatingIfNeeded: entry.argument)))
        case 5: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: entry.argument)))
        default: return Double(bitPattern: entry.argument)
        }
    }

    private func content(_ node: Node) -> Range<Int> {
        Int(entries[node.index].content)..<Int(entries[node.index].end)
    }
}
