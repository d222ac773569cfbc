// SPDX-License-Identifier: Apache-2.0

/// The recursive descent behind `StrictJSON`; depth is limited before it recurses.
struct StrictJSONReader {
    private(set) var bytes: [UInt8]
    private(set) var entries: [StrictJSON.Entry] = []
    private let limits: StrictJSON.Limits
    private var position = 0

    init(bytes: consuming [UInt8], limits: StrictJSON.Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// Reads one value and demands that nothing but white space follows.
    mutating func readDocument() throws(StrictJSONFault) {
        guard bytes.count < Int(Int32.max) else { throw .tooLong }
        entries.reserveCapacity(min(bytes.count / 8 + 4, 128))
        try readValue(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw .syntax }
    }

    /// The value of decimal digits with an optional minus; nil when it does not fit Int64.
    ///
    /// "-0" is no integer.
    static func integer(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty, text[0] == UInt8(ascii: "-") else {
            return StrictInteger.parse(text, maximum: UInt64(Int64.max)).map { Int64($0) }
        }
        let digits = text.extracting(1..<text.count)
        guard let size = StrictInteger.parse(digits, maximum: 1 << 63), size > 0 else { return nil }
        return Int64(truncatingIfNeeded: 0 &- size)
    }

    // MARK: - Values

    private mutating func readValue(depth: Int) throws(StrictJSONFault) {
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): try readObject(depth: depth + 1)
        case UInt8(ascii: "["): try readArray(depth: depth + 1)
        case UInt8(ascii: "\""): try readString()
        case UInt8(ascii: "t"): try readWord("true", .true)
        case UInt8(ascii: "f"): try readWord("false", .false)
        case UInt8(ascii: "n"): try readWord("null", .null)
        default: try readNumber()
        }
    }

    private mutating func readObject(depth: Int) throws(StrictJSONFault) {
        guard depth <= limits.depth else { throw .tooDeep }
        let object = open(.object)
        var count = 0
        var names: Set<[UInt8]> = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return close(object) }
        repeat {
            count += 1
            guard count <= limits.members else { throw .tooManyMembers }
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw .syntax }
            let name = entries.count
            try readString()
            let isNew =
                count <= Self.comparedMembers ? !isDuplicate(name, in: object) : insert(name, of: object, &names)
            guard isNew else { throw .duplicateMember }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw .syntax }
            try readValue(depth: depth)
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw .syntax }
        close(object)
    }

    private mutating func readArray(depth: Int) throws(StrictJSONFault) {
        guard depth <= limits.depth else { throw .tooDeep }
        let array = open(.array)
        skipSpace()
        if take(UInt8(ascii: "]")) { return close(array) }
        repeat {
            try readValue(depth: depth)
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw .syntax }
        close(array)
    }

    private mutating func readWord(_ word: StaticString, _ kind: StrictJSON.Kind) throws(StrictJSONFault) {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count, Octets.equal(bytes.span.extracting(position..<end), word) else { throw .syntax }
        append(kind, position..<end)
        position = end
    }

    /// Members of one object whose names are compared one by one; from then on a set keeps the time linear.
    private static let comparedMembers = 64

    private func insert(_ name: Int, of object: Int, _ names: inout Set<[UInt8]>) -> Bool {
        if names.isEmpty {
            var index = object + 1
            while index < name {
                names.insert(text(index))
                index = Int(entries[index + 1].next)
            }
        }
        return names.insert(text(name)).inserted
    }

    private func text(_ index: Int) -> [UInt8] {
        Array(bytes[Int(entries[index].start)..<Int(entries[index].end)])
    }

    private func isDuplicate(_ name: Int, in object: Int) -> Bool {
        let new = entries[name]
        var index = object + 1
        while index < name {
            let old = entries[index]
            if old.end - old.start == new.end - new.start, sameText(old, new) { return true }
            index = Int(entries[index + 1].next)
        }
        return false
    }

    private func sameText(_ left: StrictJSON.Entry, _ right: StrictJSON.Entry) -> Bool {
        let text = bytes.span
        return Octets.equal(
            text.extracting(Int(left.start)..<Int(left.end)), text.extracting(Int(right.start)..<Int(right.end)))
    }

    // MARK: - Numbers

    private mutating func readNumber() throws(StrictJSONFault) {
        let start = position
        var isInteger = true
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try readDigits() }
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try readDigits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try readDigits()
        }
        let range = start..<position
        if isInteger, Self.integer(bytes.span.extracting(range)) != nil { return append(.integer, range) }
        guard isFinite(range) else { throw .numberRange }
        append(.number, range)
    }

    private mutating func readDigits() throws(StrictJSONFault) {
        let start = position
        while let byte = peek(), byte &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw .syntax }
    }

    /// Whether a number is a finite Double; short ones without an exponent always are.
    private func isFinite(_ range: Range<Int>) -> Bool {
        let hasExponent = bytes[range].contains { $0 | 0x20 == UInt8(ascii: "e") }
        guard hasExponent || range.count > 300 else { return true }
        return Double(String(decoding: bytes[range], as: UTF8.self))?.isFinite ?? false
    }

    // MARK: - Strings

    /// Reads a string and unescapes it where it lies: no escape is shorter than what it stands for.
    private mutating func readString() throws(StrictJSONFault) {
        position += 1
        let start = position
        var end = position
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return append(.string, start..<end)
            case UInt8(ascii: "\\"): try readEscape(to: &end)
            case 0..<0x20: throw .syntax
            case 0x20..<0x80: copy(1, to: &end)
            default: copy(try sequenceLength(byte), to: &end)
            }
        }
        throw .syntax
    }

    private mutating func copy(_ count: Int, to end: inout Int) {
        if end != position {
            for offset in 0..<count { bytes[end + offset] = bytes[position + offset] }
        }
        end += count
        position += count
    }

    private mutating func put(_ byte: UInt8, to end: inout Int) {
        bytes[end] = byte
        end += 1
    }

    private mutating func readEscape(to end: inout Int) throws(StrictJSONFault) {
        position += 1
        guard let letter = peek() else { throw .syntax }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): put(letter, to: &end)
        case UInt8(ascii: "b"): put(0x08, to: &end)
        case UInt8(ascii: "f"): put(0x0C, to: &end)
        case UInt8(ascii: "n"): put(0x0A, to: &end)
        case UInt8(ascii: "r"): put(0x0D, to: &end)
        case UInt8(ascii: "t"): put(0x09, to: &end)
        case UInt8(ascii: "u"): putScalar(try readEscapedScalar(), to: &end)
        default: throw .syntax
        }
    }

    private mutating func readEscapedScalar() throws(StrictJSONFault) -> UInt32 {
        let first = try readHex()
        guard first & 0xF800 == 0xD800 else { return first }
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw .loneSurrogate }
        let second = try readHex()
        guard second & 0xFC00 == 0xDC00 else { throw .loneSurrogate }
        return 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF
    }

    private mutating func readHex() throws(StrictJSONFault) -> UInt32 {
        guard position + 4 <= bytes.count else { throw .syntax }
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = bytes[position]
            let digit = byte &- UInt8(ascii: "0")
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            guard digit < 10 || letter < 6 else { throw .syntax }
            value = value << 4 | UInt32(digit < 10 ? digit : letter + 10)
            position += 1
        }
        return value
    }

    private mutating func putScalar(_ value: UInt32, to end: inout Int) {
        let low = UInt8(truncatingIfNeeded: value) & 0x3F | 0x80
        let middle = UInt8(truncatingIfNeeded: value >> 6) & 0x3F | 0x80
        let high = UInt8(truncatingIfNeeded: value >> 12) & 0x3F | 0x80
        switch value {
        case 0..<0x80:
            put(UInt8(truncatingIfNeeded: value), to: &end)
        case 0x80..<0x800:
            put(UInt8(truncatingIfNeeded: value >> 6) | 0xC0, to: &end)
            put(low, to: &end)
        case 0x800..<0x10000:
            put(UInt8(truncatingIfNeeded: value >> 12) | 0xE0, to: &end)
            put(middle, to: &end)
            put(low, to: &end)
        default:
            put(UInt8(truncatingIfNeeded: value >> 18) | 0xF0, to: &end)
            put(high, to: &end)
            put(middle, to: &end)
            put(low, to: &end)
        }
    }

    /// The length of the well-formed UTF-8 sequence at `position` (Unicode table 3-7): no overlong form, no surrogate.
    private func sequenceLength(_ lead: UInt8) throws(StrictJSONFault) -> Int {
        let (count, second): (Int, ClosedRange<UInt8>) =
            switch lead {
            case 0xC2...0xDF: (2, 0x80...0xBF)
            case 0xE0: (3, 0xA0...0xBF)
            case 0xED: (3, 0x80...0x9F)
            case 0xE1...0xEF: (3, 0x80...0xBF)
            case 0xF0: (4, 0x90...0xBF)
            case 0xF1...0xF3: (4, 0x80...0xBF)
            case 0xF4: (4, 0x80...0x8F)
            default: throw .syntax
            }
        guard position + count <= bytes.count, second.contains(bytes[position + 1]) else { throw .syntax }
        for offset in 2..<max(count, 2) where bytes[position + offset] & 0xC0 != 0x80 { throw .syntax }
        return count
    }

    // MARK: - Octets and entries

    private func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func append(_ kind: StrictJSON.Kind, _ range: Range<Int>) {
        let next = UInt32(truncatingIfNeeded: entries.count + 1)
        entries.append(
            .init(
                kind: kind, start: UInt32(truncatingIfNeeded: range.lowerBound),
                end: UInt32(truncatingIfNeeded: range.upperBound), next: next))
    }

    private mutating func open(_ kind: StrictJSON.Kind) -> Int {
        append(kind, position..<position)
        position += 1
        return entries.count - 1
    }

    private mutating func close(_ container: Int) {
        entries[container].end = UInt32(truncatingIfNeeded: position)
        entries[container].next = UInt32(truncatingIfNeeded: entries.count)
    }
}
