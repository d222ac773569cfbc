// SPDX-License-Identifier: Apache-2.0

/// Decimal integers of digits only: no sign, no white space, no overflow.
package enum StrictInteger {
    /// Reads an unsigned decimal number.
    ///
    /// - Parameters:
    ///   - text: The octets; all of them must be `0-9`.
    ///   - leadingZeros: Whether `007` is a number; `0` alone always is.
    ///   - maximum: The greatest value accepted.
    /// - Returns: nil for an empty text, any other octet, or a value over `maximum`.
    package static func parse(
        _ text: Span<UInt8>, leadingZeros: Bool = true, maximum: UInt64 = .max
    ) -> UInt64? {
        guard !text.isEmpty else { return nil }
        if !leadingZeros, text.count > 1, text[0] == UInt8(ascii: "0") { return nil }
        var value: UInt64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, carry) = value.multipliedReportingOverflow(by: 10)
            let (sum, over) = tens.addingReportingOverflow(UInt64(digit))
            guard !carry, !over, sum <= maximum else { return nil }
            value = sum
        }
        return value
    }
}
