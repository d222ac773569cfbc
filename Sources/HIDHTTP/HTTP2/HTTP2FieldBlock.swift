// SPDX-License-Identifier: Apache-2.0

/// Reads the field lines an answer is made of, as octets of HTTP/1, into names and values for HTTP/2.
///
/// Names become lower case (RFC 9113 section 8.2.1). Dropped: what belongs to one HTTP/1 connection (section 8.2.2), and
/// any line that is not well-formed, which no caller should make.
struct HTTP2FieldBlock {
    /// The octets, with names in lower case; ranges point into them.
    private(set) var bytes: [UInt8]
    private(set) var fields: [(name: Range<Int>, value: Range<Int>)] = []

    init(lines: [UInt8]) {
        bytes = lines
        fields.reserveCapacity(16)
        var index = 0
        while index < bytes.count {
            let end = Self.lineEnd(bytes.span, index)
            readLine(index..<end)
            index = end + 2
        }
    }

    /// Puts `:status` before the fields (RFC 9113 section 8.3.2).
    init(status: Int, lines: [UInt8]) {
        self.init(lines: lines)
        let start = bytes.count
        bytes.append(literal: ":status")
        HeadWriter.decimal(UInt64(clamping: status), into: &bytes)
        fields.insert((start..<(start + 7), (start + 7)..<bytes.count), at: 0)
    }

    private static func lineEnd(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        var index = start
        while index + 1 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A { return index }
            index += 1
        }
        return bytes.count
    }

    private mutating func readLine(_ line: Range<Int>) {
        guard let colon = bytes[line].firstIndex(of: 0x3A) else { return }
        var value = (colon + 1)..<line.upperBound
        while !value.isEmpty, bytes[value.lowerBound] == 0x20 || bytes[value.lowerBound] == 0x09 {
            value = (value.lowerBound + 1)..<value.upperBound
        }
        while !value.isEmpty, bytes[value.upperBound - 1] == 0x20 || bytes[value.upperBound - 1] == 0x09 {
            value = value.lowerBound..<(value.upperBound - 1)
        }
        let name = line.lowerBound..<colon
        for index in name { bytes[index] = ASCII.lower(bytes[index]) }
        if isWanted(name, value) { fields.append((name, value)) }
    }

    private func isWanted(_ name: Range<Int>, _ value: Range<Int>) -> Bool {
        let octets = bytes.span
        let text = octets.extracting(name)
        return Token.isValid(text) && HeadWriter.isValue(octets.extracting(value))
            && !HTTP2FieldRules.isOfConnection(text)
    }
}
