// SPDX-License-Identifier: Apache-2.0

/// The two time forms of certificates (RFC 5280 section 4.1.2.5): whole seconds, always Z.
package enum CertificateTime {
    /// Seconds since 1970 of `YYMMDDHHMMSSZ`, years 1950 to 2049.
    package static func utc(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.count == 13, let short = number(text, 0, 2) else { return nil }
        return seconds(year: short < 50 ? 2000 + short : 1900 + short, rest: text.dropFirst(2))
    }

    /// Seconds since 1970 of `YYYYMMDDHHMMSSZ`, years 0 to 9999.
    package static func generalized(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.count == 15, let year = number(text, 0, 4) else { return nil }
        return seconds(year: year, rest: text.dropFirst(4))
    }

    /// `rest` is `MMDDHHMMSSZ`.
    private static func seconds(year: Int64, rest: ArraySlice<UInt8>) -> Int64? {
        guard rest.last == UInt8(ascii: "Z"),
            let month = number(rest, 0, 2), let day = number(rest, 2, 2), let hour = number(rest, 4, 2),
            let minute = number(rest, 6, 2), let second = number(rest, 8, 2),
            (1...12).contains(month), day >= 1, day <= days(inMonth: month, of: year), hour < 24, minute < 60,
            second < 60
        else { return nil }
        return ((dayNumber(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: ArraySlice<UInt8>, _ offset: Int, _ count: Int) -> Int64? {
        var value: Int64 = 0
        for octet in text.dropFirst(offset).prefix(count) {
            let digit = octet &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar; years are counted from March, so that the leap day is last.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = (month <= 2 ? year - 1 : year) + 400
        let monthFromMarch = (month + 9) % 12
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
        return days + (153 * monthFromMarch + 2) / 5 + day - 1 - 719_468 - 146_097
    }
}
