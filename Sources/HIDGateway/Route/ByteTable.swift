// SPDX-License-Identifier: Apache-2.0

/// A hash table from (scope, octets) to a number that is built once and looked up by spans without allocating.
///
/// The keys come from the configuration; a peer chooses only what is looked up. The hash is seeded per table all the
/// same, and at most half of the slots are taken.
struct ByteTable: Sendable {
    private struct Entry: Sendable {
        let hash: UInt64
        let scope: Int
        let range: Range<Int>
        let value: Int
    }

    private let seed = UInt64.random(in: .min ... .max)
    private let ignoresCase: Bool
    private var arena: [UInt8] = []
    private var entries: [Entry] = []
    /// Of the longest key: nothing longer is hashed, so that a long path costs nothing here.
    private var longest = -1
    /// Offsets into `entries`, or -1; a power of two of them.
    private var slots = [Int32](repeating: -1, count: 16)

    /// Makes an empty table; one that ignores case takes keys in lower case only and lets any case find them.
    init(ignoringCase: Bool = false) {
        ignoresCase = ignoringCase
    }

    var isEmpty: Bool { entries.isEmpty }

    /// The value of a key, or -1.
    func value(of key: Span<UInt8>, scope: Int) -> Int {
        guard key.count <= longest else { return -1 }
        let hash = hash(key, scope)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let entry = entries[Int(slots[slot])]
            if entry.hash == hash, entry.scope == scope, isKey(entry.range, key) {
                return entry.value
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return -1
    }

    /// Returns the value of a key after it has been given the new one if it had none.
    mutating func value(of key: [UInt8], scope: Int, inserting new: Int) -> Int {
        let known = value(of: key.span, scope: scope)
        guard known < 0 else { return known }
        let range = arena.count..<(arena.count + key.count)
        arena += key
        longest = max(longest, key.count)
        entries.append(Entry(hash: hash(key.span, scope), scope: scope, range: range, value: new))
        if entries.count * 2 > slots.count {
            slots = [Int32](repeating: -1, count: slots.count * 2)
            for index in entries.indices { place(index) }
        } else {
            place(entries.count - 1)
        }
        return new
    }

    private mutating func place(_ index: Int) {
        var slot = Int(truncatingIfNeeded: entries[index].hash) & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(truncatingIfNeeded: index)
    }

    private func isKey(_ range: Range<Int>, _ key: Span<UInt8>) -> Bool {
        let own = arena.span.extracting(range)
        guard ignoresCase else { return own.equals(key) }
        guard own.count == key.count else { return false }
        for index in 0..<own.count where own[index] != ASCII.lowercased(key[index]) {
            return false
        }
        return true
    }

    /// FNV-1a over the octets with a final mix; the low bits pick the slot.
    private func hash(_ key: Span<UInt8>, _ scope: Int) -> UInt64 {
        var hash = seed ^ (UInt64(truncatingIfNeeded: scope) &* 0x9E37_79B9_7F4A_7C15)
        for index in 0..<key.count {
            let octet = ignoresCase ? ASCII.lowercased(key[index]) : key[index]
            hash = (hash ^ UInt64(octet)) &* 0x100_0000_01B3
        }
        hash ^= hash >> 32
        hash = hash &* 0xD6E8_FEB8_6659_FD93
        return hash ^ hash >> 32
    }
}
