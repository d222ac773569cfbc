// SPDX-License-Identifier: Apache-2.0

/// An object identifier by the octets of its content (X.690 section 8.19).
package struct OID: Sendable, Hashable, CustomStringConvertible {
    package let octets: [UInt8]

    /// Takes the content of an OBJECT IDENTIFIER; nil when an arc is cut off or not written in its shortest form.
    package init?(octets: ArraySlice<UInt8>) {
        guard let last = octets.last, last < 0x80, octets.count <= 64 else { return nil }
        var isFirstOfArc = true
        for octet in octets {
            if isFirstOfArc, octet == 0x80 { return nil }
            isFirstOfArc = octet < 0x80
        }
        self.octets = Array(octets)
    }

    /// Writes arcs, of which the first two make one number; for identifiers that stand in the source.
    package init(_ first: UInt32, _ second: UInt32, _ rest: UInt32...) {
        var content: [UInt8] = []
        for arc in [first &* 40 &+ second] + rest { Self.append(arc, to: &content) }
        octets = content
    }

    /// Dotted decimal; arcs over 63 bits come out as `?`.
    package var description: String {
        var arcs: [String] = []
        var value: UInt64 = 0
        var isTooBig = false
        for octet in octets {
            isTooBig = isTooBig || value >> 56 != 0
            value = value << 7 | UInt64(octet & 0x7F)
            guard octet < 0x80 else { continue }
            if arcs.isEmpty, !isTooBig {
                let first = min(value / 40, 2)
                arcs = ["\(first)", "\(value - first * 40)"]
            } else {
                arcs.append(isTooBig ? "?" : "\(value)")
            }
            value = 0
            isTooBig = false
        }
        return arcs.joined(separator: ".")
    }

    private static func append(_ arc: UInt32, to output: inout [UInt8]) {
        var shift: UInt32 = 28
        while shift > 0, arc >> shift == 0 { shift -= 7 }
        while shift > 0 {
            output.append(UInt8(truncatingIfNeeded: arc >> shift) | 0x80)
            shift -= 7
        }
        output.append(UInt8(truncatingIfNeeded: arc) & 0x7F)
    }
}
