// SPDX-License-Identifier: Apache-2.0

/// Why a text is no JSON that we accept.
package enum StrictJSONFault: Error, Sendable, Equatable {
    /// Not RFC 8259: grammar, UTF-8, byte order mark, something behind the value.
    case syntax
    /// A surrogate without its other half; no Unicode string has one.
    case loneSurrogate
    /// A member name twice in one object, compared after unescaping.
    case duplicateMember
    /// Arrays and objects nested deeper than the limit.
    case tooDeep
    /// More members in one object than the limit.
    case tooManyMembers
    /// A number outside the range of a finite Double.
    case numberRange
    /// More octets than a reader can index.
    case tooLong
}

/// A strict RFC 8259 document: the octets and a flat list of nodes in document order.
///
/// Foundation's readers keep the first or last of duplicate members, take trailing commas, byte order marks and
/// UTF-16; this one refuses all of that. Strings are unescaped in place, so that a document costs two allocations.
/// Accessors answer nil for a node of another kind; none of them traps on anything a peer can send.
package struct StrictJSON: Sendable {
    /// What a document may hold at most.
    package struct Limits: Sendable {
        /// Nested arrays and objects; never more than 128, since the reader recurses.
        package var depth: Int
        /// Members of one object.
        package var members: Int

        /// Makes limits; the defaults are those of tokens.
        package init(depth: Int = 16, members: Int = 64) {
            self.depth = min(depth, 128)
            self.members = members
        }
    }

    /// The kinds of value; numbers that are written as an integer and fit Int64 are their own kind.
    package enum Kind: UInt8, Sendable {
        case object
        case array
        case string
        case integer
        case number
        case `true`
        case `false`
        case null
    }

    /// A value inside the document that made it; meaningless with another one.
    package struct Node: Sendable, Equatable {
        let index: Int
    }

    /// One entry of the flat list.
    struct Entry: Sendable {
        var kind: Kind
        var start: UInt32
        var end: UInt32
        /// The index of the first entry behind this value and all it holds.
        var next: UInt32
    }

    /// The octets of the document; escaped strings are already unescaped in them.
    package let bytes: [UInt8]
    private let entries: [Entry]

    /// Reads a document.
    ///
    /// - Throws: The first fault found.
    package init(_ bytes: consuming [UInt8], limits: Limits = Limits()) throws(StrictJSONFault) {
        var reader = StrictJSONReader(bytes: bytes, limits: limits)
        try reader.readDocument()
        self.bytes = reader.bytes
        entries = reader.entries
    }

    /// The outermost value.
    package var root: Node { Node(index: 0) }

    /// The kind of a value.
    package func kind(_ node: Node) -> Kind { entries[node.index].kind }

    /// The value of the member `name` of an object.
    package func member(_ name: StaticString, of object: Node) -> Node? {
        let entry = entries[object.index]
        guard entry.kind == .object else { return nil }
        var index = object.index + 1
        while index < entry.next {
            if Octets.equal(bytes.span.extracting(range(index)), name) { return Node(index: index + 1) }
            index = Int(entries[index + 1].next)
        }
        return nil
    }

    /// Names (as ranges of `bytes`) and values of an object in document order; empty for other kinds.
    package func members(of object: Node) -> [(name: Range<Int>, value: Node)] {
        guard kind(object) == .object else { return [] }
        var found: [(name: Range<Int>, value: Node)] = []
        var index = object.index + 1
        while index < entries[object.index].next {
            found.append((range(index), Node(index: index + 1)))
            index = Int(entries[index + 1].next)
        }
        return found
    }

    /// The elements of an array in document order; empty for other kinds.
    package func elements(of array: Node) -> [Node] {
        guard kind(array) == .array else { return [] }
        var found: [Node] = []
        var next = firstElement(of: array)
        while let node = next {
            found.append(node)
            next = element(after: node, in: array)
        }
        return found
    }

    /// The first element of an array, for a walk without allocations.
    package func firstElement(of array: Node) -> Node? {
        let entry = entries[array.index]
        guard entry.kind == .array, array.index + 1 < entry.next else { return nil }
        return Node(index: array.index + 1)
    }

    /// The element behind `node` in the same array.
    package func element(after node: Node, in array: Node) -> Node? {
        let next = entries[node.index].next
        return next < entries[array.index].next ? Node(index: Int(next)) : nil
    }

    /// The number of members or elements; 0 for other kinds.
    package func count(of container: Node) -> Int {
        switch kind(container) {
        case .object: members(of: container).count
        case .array: elements(of: container).count
        default: 0
        }
    }

    /// The value of an integer; nil for fractions, exponents, and what does not fit Int64.
    package func integer(_ node: Node) -> Int64? {
        guard kind(node) == .integer else { return nil }
        return StrictJSONReader.integer(bytes.span.extracting(range(node.index)))
    }

    /// The value of `true` and `false`.
    package func boolean(_ node: Node) -> Bool? {
        switch kind(node) {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// Where the unescaped octets of a string lie in `bytes`.
    package func text(_ node: Node) -> Range<Int>? {
        kind(node) == .string ? range(node.index) : nil
    }

    /// The unescaped octets of a string as an array of its own.
    package func textBytes(_ node: Node) -> [UInt8]? {
        guard let range = text(node) else { return nil }
        return Array(bytes[range])
    }

    /// Where the digits of a number or integer lie in `bytes`, as they were written.
    package func numberText(_ node: Node) -> Range<Int>? {
        switch kind(node) {
        case .integer, .number: range(node.index)
        default: nil
        }
    }

    /// Whether a value is a string of exactly these octets.
    package func isText(_ node: Node, _ literal: StaticString) -> Bool {
        guard let range = text(node) else { return false }
        return Octets.equal(bytes.span.extracting(range), literal)
    }

    /// Whether a value is a string of exactly these octets.
    package func isText(_ node: Node, _ other: Span<UInt8>) -> Bool {
        guard let range = text(node) else { return false }
        return Octets.equal(bytes.span.extracting(range), other)
    }

    private func range(_ index: Int) -> Range<Int> {
        Int(entries[index].start)..<Int(entries[index].end)
    }
}
