// SPDX-License-Identifier: Apache-2.0

/// Builds one JSON object a line without intermediate strings; made for reuse on a hot path.
///
/// Everything below 0x20, above 0x7E, the quote and the backslash are escaped, so that a line holds printable
/// ASCII only and no value can end it or forge another. Valid UTF-8 becomes `\uXXXX` (pairs
/// beyond U+FFFF); an octet that is not part of valid UTF-8 becomes `\u00XX` with its own value, that is, it is
/// read as Latin-1. Keys are written as they are.
package struct JSONLineWriter: Sendable {
    /// The line so far; complete after `end`.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private var clock = TimestampWriter()

    package init(capacity: Int = 1024) {
        bytes.reserveCapacity(capacity)
    }

    /// Starts a new line and keeps the storage of the last one.
    package mutating func begin() {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(0x7B)
        needsComma = false
    }

    /// Ends the line with a line feed.
    package mutating func end() {
        bytes.append(0x7D)
        bytes.append(0x0A)
    }

    package mutating func beginObject(_ key: StaticString) {
        appendKey(key)
        bytes.append(0x7B)
        needsComma = false
    }

    package mutating func endObject() {
        bytes.append(0x7D)
        needsComma = true
    }

    package mutating func beginArray(_ key: StaticString) {
        appendKey(key)
        bytes.append(0x5B)
        needsComma = false
    }

    package mutating func endArray() {
        bytes.append(0x5D)
        needsComma = true
    }

    // MARK: Values

    package mutating func string(_ key: StaticString, _ value: Span<UInt8>) {
        appendKey(key)
        appendQuoted(value)
    }

    package mutating func string(_ key: StaticString, _ value: [UInt8]) {
        string(key, value.span)
    }

    package mutating func string(_ key: StaticString, _ value: ArraySlice<UInt8>) {
        string(key, value.span)
    }

    package mutating func string(_ key: StaticString, _ value: String) {
        string(key, value.utf8.span)
    }

    /// A constant, escaped like any other text.
    package mutating func constant(_ key: StaticString, _ value: StaticString) {
        appendKey(key)
        value.withUTF8Buffer { unsafe appendQuoted($0.span) }
    }

    package mutating func integer(_ key: StaticString, _ value: some FixedWidthInteger) {
        appendKey(key)
        Decimal.append(value, to: &bytes)
    }

    package mutating func integer(_ key: StaticString, _ value: Int64) {
        appendKey(key)
        Decimal.append(value, to: &bytes)
    }

    /// Milliseconds with three decimals, from nanoseconds.
    package mutating func milliseconds(_ key: StaticString, nanoseconds: Int) {
        appendKey(key)
        Decimal.appendThousandths(nanoseconds / 1000, to: &bytes)
    }

    /// A finite number in the shortest form that reads back; null for infinities and NaN.
    ///
    /// Makes a String: not for hot paths.
    package mutating func double(_ key: StaticString, _ value: Double) {
        appendKey(key)
        bytes += (value.isFinite ? "\(value)" : "null").utf8
    }

    package mutating func bool(_ key: StaticString, _ value: Bool) {
        appendKey(key)
        bytes += value ? [0x74, 0x72, 0x75, 0x65] as [UInt8] : [0x66, 0x61, 0x6C, 0x73, 0x65]
    }

    package mutating func null(_ key: StaticString) {
        appendKey(key)
        bytes += [0x6E, 0x75, 0x6C, 0x6C] as [UInt8]
    }

    /// RFC 3339 with milliseconds, UTC.
    package mutating func time(_ key: StaticString, millisecondsSince1970: Int64) {
        appendKey(key)
        bytes.append(0x22)
        clock.append(millisecondsSince1970: millisecondsSince1970, to: &bytes)
        bytes.append(0x22)
    }

    /// An object as the next element of an array; `endObject` closes it.
    package mutating func beginElement() {
        appendComma()
        bytes.append(0x7B)
        needsComma = false
    }

    /// An element of an array.
    package mutating func element(_ value: [UInt8]) {
        appendComma()
        appendQuoted(value.span)
    }

    // MARK: Octets

    private mutating func appendComma() {
        if needsComma { bytes.append(0x2C) }
        needsComma = true
    }

    private mutating func appendKey(_ key: StaticString) {
        appendComma()
        bytes.append(0x22)
        key.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
        bytes.append(0x22)
        bytes.append(0x3A)
    }

    private mutating func appendQuoted(_ value: Span<UInt8>) {
        bytes.append(0x22)
        var index = 0
        while index < value.count {
            let runStart = index
            while index < value.count, Self.isPlain(value[index]) { index += 1 }
            if index > runStart {
                unsafe value.extracting(runStart..<index).withUnsafeBufferPointer {
                    unsafe bytes.append(contentsOf: $0)
                }
            }
            if index < value.count { index += appendEscaped(value, at: index) }
        }
        bytes.append(0x22)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
    }

    /// Escapes the character at an index and gives its length.
    private mutating func appendEscaped(_ value: Span<UInt8>, at index: Int) -> Int {
        guard let (scalar, length) = UTF8Scan.decode(value, at: index) else {
            appendUnit(UInt32(value[index]))
            return 1
        }
        if scalar > 0xFFFF {
            appendUnit(0xD800 + (scalar - 0x10000) >> 10)
            appendUnit(0xDC00 + (scalar - 0x10000) & 0x3FF)
        } else {
            appendUnit(scalar)
        }
        return length
    }

    private mutating func appendUnit(_ unit: UInt32) {
        bytes.append(0x5C)
        bytes.append(0x75)
        for shift in stride(from: UInt32(12), through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: unit >> shift & 0xF)
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
