// SPDX-License-Identifier: Apache-2.0

/// Decimal digits written by hand.
package enum Decimal {
    package static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        if value < 0 { bytes.append(0x2D) }
        guard let magnitude = UInt64(exactly: value.magnitude) else {
            bytes += "\(value.magnitude)".utf8
            return
        }
        append(digits: magnitude, to: &bytes)
    }

    /// Appends a number of the usual size: no generic code, no allocation.
    package static func append(_ value: Int64, to bytes: inout [UInt8]) {
        if value < 0 { bytes.append(0x2D) }
        append(digits: value.magnitude, to: &bytes)
    }

    private static func append(digits value: UInt64, to bytes: inout [UInt8]) {
        var unit: UInt64 = 1
        while value / unit >= 10 { unit *= 10 }
        while unit > 0 {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: value / unit % 10))
            unit /= 10
        }
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
