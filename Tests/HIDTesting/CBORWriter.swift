// SPDX-License-Identifier: Apache-2.0

/// Writes CBOR of any shape, wrong ones among them.
package indirect enum CBORValue: Sendable {
    case unsigned(UInt64)
    /// The integer -1 - n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// Pairs in the order given, duplicates and all.
    case map([(CBORValue, CBORValue)])
    case tag(UInt64, CBORValue)
    /// Octets as they are.
    case raw([UInt8])

    /// The encoding with shortest heads.
    package var encoded: [UInt8] {
        switch self {
        case .unsigned(let value): Self.head(0, value)
        case .negative(let value): Self.head(1, value)
        case .bytes(let octets): Self.head(2, UInt64(octets.count)) + octets
        case .text(let text): Self.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let items): Self.head(4, UInt64(items.count)) + items.flatMap(\.encoded)
        case .map(let pairs): Self.head(5, UInt64(pairs.count)) + pairs.flatMap { $0.0.encoded + $0.1.encoded }
        case .tag(let number, let item): Self.head(6, number) + item.encoded
        case .raw(let octets): octets
        }
    }

    /// A head with the shortest argument.
    package static func head(_ major: UInt8, _ value: UInt64) -> [UInt8] {
        let first = major << 5
        if value < 24 { return [first | UInt8(value)] }
        let width = value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
        return [first | UInt8(24 + width.trailingZeroBitCount)]
            + (0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
    }
}
