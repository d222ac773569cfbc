// SPDX-License-Identifier: Apache-2.0

extension ConfigurationValue {
    /// Text that is not empty and holds no control characters.
    package func string() -> String? {
        guard let text = scalar("text") else { return nil }
        guard !text.isEmpty else {
            error("\(name.quoted) must not be empty")
            return nil
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            mustBe("text without control characters")
            return nil
        }
        return text
    }

    /// `true` or `false`; not yes, no, on, off.
    package func bool() -> Bool? {
        guard let text = scalar("true or false") else { return nil }
        switch text {
        case "true": return true
        case "false": return false
        default:
            mustBe("true or false")
            return nil
        }
    }

    /// A whole number: digits only.
    package func integer(in range: ClosedRange<Int>) -> Int? {
        let what = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard let text = scalar(what) else { return nil }
        guard let number = ScalarText.integer(text.utf8), range.contains(number) else {
            mustBe(what)
            return nil
        }
        return number
    }

    /// `250ms`, `10s`, `5m`, `1h` or `7d`; more than zero unless the range says otherwise.
    package func duration(
        in range: ClosedRange<Duration> = .milliseconds(1) ... .seconds(365 * 86400)
    ) -> Duration? {
        let what = "a duration like 250ms, 10s, 5m, 1h or 7d"
        guard let text = scalar(what) else { return nil }
        guard let duration = ScalarText.duration(text.utf8) else {
            mustBe(what)
            return nil
        }
        guard range.contains(duration) else {
            let bounds = "\(ScalarText.text(range.lowerBound)) to \(ScalarText.text(range.upperBound))"
            mustBe("a duration from \(bounds)")
            return nil
        }
        return duration
    }

    /// `64KiB`, `1MiB`, `10MB`, `1GiB` or plain octets.
    package func size(in range: ClosedRange<Int>) -> Int? {
        let what = "a size like 64KiB, 1MiB, 10MB or 1GiB"
        guard let text = scalar(what) else { return nil }
        guard let size = ScalarText.size(text.utf8) else {
            mustBe(what)
            return nil
        }
        guard range.contains(size) else {
            mustBe("a size from \(range.lowerBound) to \(range.upperBound) octets")
            return nil
        }
        return size
    }

    /// `50/s`, `10/m` or `5/h`.
    package func rate() -> Rate? {
        let what = "a rate like 50/s, 10/m or 5/h"
        guard let text = scalar(what) else { return nil }
        guard let rate = ScalarText.rate(text.utf8) else {
            mustBe(what)
            return nil
        }
        return rate
    }

    /// One of the words of an enum.
    package func word<Word>(_ type: Word.Type) -> Word?
    where Word: RawRepresentable<String> & CaseIterable {
        let words = Word.allCases.map(\.rawValue)
        guard let text = scalar(ScalarText.alternatives(words)) else { return nil }
        guard let word = Word(rawValue: text) else {
            refuseWord(text, known: words)
            return nil
        }
        return word
    }

    /// Reports a word that is not one of those known.
    package func refuseWord(_ text: String, known: [String]) {
        let hint = NearestName.hint(for: text, in: known)
        error("\(name.quoted) must be \(ScalarText.alternatives(known)), not \(text.quoted)\(hint)")
    }
}

/// So many in so long.
package struct Rate: Sendable, Hashable {
    package var count: Int
    package var per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }
}

/// Readers of the scalar notations; digits only, with overflow checks.
package enum ScalarText {
    /// No sign, no leading zero.
    package static func integer(_ text: some Collection<UInt8>) -> Int? {
        guard !text.isEmpty, text.count == 1 || text.first != 0x30 else { return nil }
        var value = 0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(byte - 0x30))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }

    package static func duration(_ text: some Collection<UInt8>) -> Duration? {
        let units: [(String, Int)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        guard let milliseconds = scaled(text, units) else { return nil }
        // Beyond a century the arithmetic of timers would overflow.
        guard milliseconds <= 100 * 366 * 86_400_000 else { return nil }
        return .milliseconds(milliseconds)
    }

    package static func size(_ text: some Collection<UInt8>) -> Int? {
        let units: [(String, Int)] = [
            ("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
            ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
        ]
        return scaled(text, units)
    }

    package static func rate(_ text: some Collection<UInt8>) -> Rate? {
        let units: [(String, Duration)] = [("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3600))]
        guard let slash = text.firstIndex(of: 0x2F) else { return nil }
        let unit = text[text.index(after: slash)...]
        guard let count = integer(text[..<slash]), count > 0 else { return nil }
        guard let per = units.first(where: { unit.elementsEqual($0.0.utf8) })?.1 else { return nil }
        return Rate(count: count, per: per)
    }

    /// A duration in the unit that needs the fewest digits.
    package static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let units: [(String, Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        for (unit, scale) in units where milliseconds >= scale && milliseconds % scale == 0 {
            return "\(milliseconds / scale)\(unit)"
        }
        return milliseconds == 0 ? "0s" : "\(milliseconds)ms"
    }

    /// `a`, `a or b`, `a, b or c`.
    package static func alternatives(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    private static func scaled(_ text: some Collection<UInt8>, _ units: [(String, Int)]) -> Int? {
        let unitStart = text.firstIndex { !(0x30...0x39).contains($0) } ?? text.endIndex
        guard let number = integer(text[..<unitStart]) else { return nil }
        guard let scale = units.first(where: { text[unitStart...].elementsEqual($0.0.utf8) })?.1 else { return nil }
        let (value, overflow) = number.multipliedReportingOverflow(by: scale)
        return overflow ? nil : value
    }
}
