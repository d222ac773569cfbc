// SPDX-License-Identifier: Apache-2.0

/// Finds what somebody who mistyped a name probably meant.
package enum NearestName {
    /// The known name with the least edit distance, at most 2 (1 for names of up to three characters).
    package static func of(_ name: String, in known: some Sequence<String>) -> String? {
        let limit = name.utf8.count <= 3 ? 1 : 2
        var best: (name: String, distance: Int)?
        for candidate in known where candidate != name {
            let found = distance(Array(name.utf8.prefix(80)), Array(candidate.utf8.prefix(80)))
            if found <= limit, found < best?.distance ?? .max {
                best = (candidate, found)
            }
        }
        return best?.name
    }

    /// `, did you mean 'x'?` or nothing.
    package static func hint(for name: String, in known: some Sequence<String>) -> String {
        of(name, in: known).map { ", did you mean \($0.quoted)?" } ?? ""
    }

    /// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let change = last[column] + (lowered(left[row]) == lowered(right[column]) ? 0 : 1)
                var cost = min(change, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
