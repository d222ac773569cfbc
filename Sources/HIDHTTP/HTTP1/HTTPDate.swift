// SPDX-License-Identifier: Apache-2.0

/// The date form of HTTP, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].map { Array($0.utf8) }
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    /// Appends the date of a moment in seconds since 1970; nothing for years that need no or five digits.
    package static func append(_ seconds: Int64, to out: inout [UInt8]) {
        guard (0...253_402_300_799).contains(seconds) else { return }
        let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let date = civil(day)
        out += days[Int((day + 4) % 7)]
        out += ", ".utf8
        appendPair(date.day, to: &out)
        out.append(UInt8(ascii: " "))
        out += months[date.month - 1]
        out.append(UInt8(ascii: " "))
        appendPair(date.year / 100, to: &out)
        appendPair(date.year % 100, to: &out)
        out.append(UInt8(ascii: " "))
        for (index, part) in [second / 3600, second / 60 % 60, second % 60].enumerated() {
            if index > 0 { out.append(UInt8(ascii: ":")) }
            appendPair(Int(part), to: &out)
        }
        out += " GMT".utf8
    }

    private static func appendPair(_ number: Int, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / 10 % 10))
        out.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }

    /// Year, month and day of a day since 1970, in the proleptic Gregorian calendar: eras of 400 years that begin in
    /// March, so that the leap day is the last of its year.
    private static func civil(_ day: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = Int(day) + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
