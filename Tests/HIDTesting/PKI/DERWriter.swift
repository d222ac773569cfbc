// SPDX-License-Identifier: Apache-2.0

/// Writes DER, and anything near it, for tests.
package enum DERWriter {
    /// A value with a tag of one octet.
    package static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    /// The shortest length octets.
    package static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(octets.count)] + octets
    }

    package static func sequence(_ parts: [[UInt8]]) -> [UInt8] { value(0x30, parts.flatMap { $0 }) }
    package static func sequence(_ parts: [UInt8]...) -> [UInt8] { sequence(parts) }
    /// A SET in the order given, unsorted.
    package static func set(_ parts: [[UInt8]]) -> [UInt8] { value(0x31, parts.flatMap { $0 }) }
    package static func set(_ parts: [UInt8]...) -> [UInt8] { set(parts) }
    package static func octetString(_ content: [UInt8]) -> [UInt8] { value(0x04, content) }
    package static func bitString(_ content: [UInt8], unused: UInt8 = 0) -> [UInt8] { value(0x03, [unused] + content) }
    package static func boolean(_ isTrue: Bool) -> [UInt8] { value(0x01, [isTrue ? 0xFF : 0x00]) }
    package static func utf8(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }
    package static func printable(_ text: String) -> [UInt8] { value(0x13, Array(text.utf8)) }
    package static let null: [UInt8] = [0x05, 0x00]

    package static func integer(_ number: Int64) -> [UInt8] { value(0x02, integerContent(number)) }
    package static func enumerated(_ number: Int64) -> [UInt8] { value(0x0A, integerContent(number)) }

    /// An INTEGER with a magnitude of any length.
    package static func unsignedInteger(_ magnitude: [UInt8]) -> [UInt8] {
        let minimal = Array(magnitude.drop { $0 == 0 })
        guard let first = minimal.first else { return value(0x02, [0]) }
        return value(0x02, first >= 0x80 ? [0] + minimal : minimal)
    }

    /// An OBJECT IDENTIFIER in dotted decimal.
    package static func oid(_ dotted: String) -> [UInt8] {
        let arcs = dotted.split(separator: ".").compactMap { UInt64($0) }
        guard arcs.count >= 2 else { return value(0x06, []) }
        return value(0x06, ([arcs[0] * 40 + arcs[1]] + arcs[2...]).flatMap(base128))
    }

    /// A constructed context tag of any number around `content`.
    package static func explicit(_ number: UInt64, _ content: [UInt8]) -> [UInt8] {
        guard number >= 31 else { return value(0xA0 | UInt8(number), content) }
        return [0xBF] + base128(number) + length(content.count) + content
    }

    /// GeneralizedTime of any year, or UTCTime when `short`.
    package static func time(_ seconds: Int64, short: Bool = false) -> [UInt8] {
        let day = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
        let second = seconds - day * 86400
        var (year, rest) = (1970 + day / 366 - 2, day)
        while dayNumber(of: year + 1) <= day { year += 1 }
        rest -= dayNumber(of: year)
        var month = 1
        let lengths: [Int64] = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while rest >= lengths[month - 1] {
            rest -= lengths[month - 1]
            month += 1
        }
        let date = digits(Int64(month)) + digits(rest + 1)
        let clock = digits(second / 3600) + digits(second / 60 % 60) + digits(second % 60)
        let text = date + clock + "Z"
        return short
            ? value(0x17, Array((digits(year % 100) + text).utf8))
            : value(0x18, Array((digits(year / 100) + digits(year % 100) + text).utf8))
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Days from 1970 to the first of January, counted year by year.
    private static func dayNumber(of year: Int64) -> Int64 {
        let sign: Int64 = year >= 1970 ? 1 : -1
        let span = sign > 0 ? 1970..<year : year..<1970
        return sign * span.reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
    }

    private static func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func integerContent(_ number: Int64) -> [UInt8] {
        var octets = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
        while octets.count > 1, octets[0] == 0 && octets[1] < 0x80 || octets[0] == 0xFF && octets[1] >= 0x80 {
            octets.removeFirst()
        }
        return octets
    }

    private static func base128(_ number: UInt64) -> [UInt8] {
        var octets = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            octets.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return octets
    }
}
