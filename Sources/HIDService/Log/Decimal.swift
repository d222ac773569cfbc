// SPDX-License-Identifier: Apache-2.0

/// Decimal digits written by hand.
package enum Decimal {
    package static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        if value < 0 { bytes.append(0x2D) }
        let start = bytes.count
        var rest = value.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(0x30 + UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest > 0
        bytes[start...].reverse()
    }

    /// The low digits of a number, with leading zeros.
    static func appendPadded(_ value: Int, digits: Int, to bytes: inout [UInt8]) {
        let start = bytes.count
        var rest = value.magnitude
        for _ in 0..<digits {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        bytes[start...].reverse()
    }

    /// `12345` as `12.345`.
    static func appendThousandths(_ value: Int, to bytes: inout [UInt8]) {
        if value < 0 { bytes.append(0x2D) }
        append(value.magnitude / 1000, to: &bytes)
        bytes.append(0x2E)
        appendPadded(Int(value.magnitude % 1000), digits: 3, to: &bytes)
    }
}
