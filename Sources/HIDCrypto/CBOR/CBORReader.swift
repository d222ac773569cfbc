// SPDX-License-Identifier: Apache-2.0

/// The recursive descent behind `CBOR`; depth is limited before it recurses.
struct CBORReader {
    private(set) var entries: [CBOR.Entry] = []
    private(set) var position: Int
    private let bytes: [UInt8]
    private let limits: CBOR.Limits

    /// Makes a reader; the caller has checked that the offset lies in the octets and that these fit Int32.
    init(bytes: [UInt8], from offset: Int, limits: CBOR.Limits) {
        self.bytes = bytes
        self.limits = limits
        position = offset
    }

    /// Reads one item with all it holds.
    mutating func readItem(depth: Int) throws(CBORFault) {
        guard entries.count < limits.items else { throw .tooManyItems }
        let start = position
        guard let first = next() else { throw .truncated }
        let argument = try readArgument(first & 0x1F, isMajorSeven: first >> 5 == 7)
        let index = entries.count
        entries.append(
            CBOR.Entry(
                kind: Self.kind(first), argument: argument, start: UInt32(truncatingIfNeeded: start),
                content: UInt32(truncatingIfNeeded: position), end: 0, next: 0))
        switch entries[index].kind {
        case .bytes: try skip(argument)
        case .text: try readText(argument)
        case .array: try readChildren(argument, depth: depth + 1)
        case .map: try readPairs(argument, depth: depth + 1)
        case .tag: try readChildren(1, depth: depth + 1)
        case .unsigned, .negative, .simple, .float: break
        }
        entries[index].end = UInt32(truncatingIfNeeded: position)
        entries[index].next = UInt32(truncatingIfNeeded: entries.count)
    }

    private static func kind(_ first: UInt8) -> CBOR.Kind {
        switch first >> 5 {
        case 0: .unsigned
        case 1: .negative
        case 2: .bytes
        case 3: .text
        case 4: .array
        case 5: .map
        case 6: .tag
        default: (25...27).contains(first & 0x1F) ? .float : .simple
        }
    }

    // MARK: - Heads

    private mutating func readArgument(_ information: UInt8, isMajorSeven: Bool) throws(CBORFault) -> UInt64 {
        switch information {
        case 0..<24: return UInt64(information)
        case 24...27: break
        case 31: throw .indefiniteLength
        default: throw .malformed
        }
        let width = 1 << Int(information - 24)
        guard bytes.count - position >= width else { throw .truncated }
        var value: UInt64 = 0
        for offset in 0..<width { value = value << 8 | UInt64(bytes[position + offset]) }
        position += width
        if isMajorSeven {
            // Simple values below 32 have one form only, and it is the short one (RFC 8949 section 3.3).
            guard information != 24 || value >= 32 else { throw .malformed }
            return value
        }
        let smallest: UInt64 = width == 1 ? 24 : 1 << UInt64(width * 4)
        guard value >= smallest else { throw .notShortest }
        return value
    }

    private mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    // MARK: - Contents

    private mutating func skip(_ length: UInt64) throws(CBORFault) {
        guard let count = Int(exactly: length), count <= bytes.count - position else { throw .truncated }
        position += count
    }

    private mutating func readText(_ length: UInt64) throws(CBORFault) {
        let start = position
        try skip(length)
        guard String(validating: bytes[start..<position], as: UTF8.self) != nil else { throw .invalidText }
    }

    private mutating func readChildren(_ count: UInt64, depth: Int) throws(CBORFault) {
        guard depth <= limits.depth else { throw .tooDeep }
        // Each element takes an octet at least: a lying count is refused before the walk.
        guard count <= UInt64(bytes.count - position) else { throw .truncated }
        for _ in 0..<count { try readItem(depth: depth) }
    }

    private mutating func readPairs(_ count: UInt64, depth: Int) throws(CBORFault) {
        guard depth <= limits.depth else { throw .tooDeep }
        guard count <= UInt64(bytes.count - position) / 2 else { throw .truncated }
        // Heads are the shortest, so equal keys have equal octets; the set keeps a map of many keys linear.
        var seen: Set<ArraySlice<UInt8>> = []
        for _ in 0..<count {
            let start = position
            let key = entries.count
            try readItem(depth: depth)
            switch entries[key].kind {
            case .unsigned, .negative, .bytes, .text: break
            case .array, .map, .tag, .simple, .float: throw .keyKind
            }
            guard seen.insert(bytes[start..<position]).inserted else { throw .duplicateKey }
            try readItem(depth: depth)
        }
    }
}
