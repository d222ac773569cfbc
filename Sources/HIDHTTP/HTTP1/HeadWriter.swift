// SPDX-License-Identifier: Apache-2.0

/// Appends the parts of a head and of the chunked coding to an output buffer (RFC 9112 sections 3 to 7).
///
/// Literals are our own; octets that a peer sent come out of a parsed head, where they were checked, or go through a
/// function that checks them again and refuses. So no CR or LF can get in.
package enum HeadWriter {
    // MARK: - Start lines

    /// Appends the request line of an HTTP/1.1 request; false, and nothing written, unless both parts fit the grammar.
    package static func requestLine(
        method: Span<UInt8>, target: Span<UInt8>, into out: inout [UInt8]
    ) -> Bool {
        let targetEnd = ByteClass.skip(ByteClass.target, in: target, from: 0, to: target.count)
        guard Token.isValid(method), targetEnd == target.count, targetEnd > 0 else { return false }
        out.append(copying: method)
        out.append(0x20)
        out.append(copying: target)
        out.append(literal: " HTTP/1.1\r\n")
        return true
    }

    /// Appends an HTTP/1.1 status line with the standard reason phrase, or with none when the code has none.
    package static func statusLine(_ status: Int, into out: inout [UInt8]) {
        precondition(status >= 100 && status <= 599, "a status code of our own making")
        out.append(literal: "HTTP/1.1 ")
        decimal(UInt64(status), into: &out)
        out.append(0x20)
        out.append(literal: ReasonPhrase.of(status))
        out.append(literal: "\r\n")
    }

    // MARK: - Fields

    /// Appends Date, which an origin server with a clock must send (RFC 9110 section 6.6.1).
    package static func date(_ seconds: Int64, into out: inout [UInt8]) {
        out += "Date: ".utf8
        HTTPDate.append(seconds, to: &out)
        out += [0x0D, 0x0A]
    }

    /// Appends a field with a literal value.
    package static func field(_ name: StaticString, _ value: StaticString, into out: inout [UInt8]) {
        out.append(literal: name)
        out.append(literal: ": ")
        out.append(literal: value)
        out.append(literal: "\r\n")
    }

    /// Appends a field with a decimal value.
    package static func field(_ name: StaticString, _ value: UInt64, into out: inout [UInt8]) {
        out.append(literal: name)
        out.append(literal: ": ")
        decimal(value, into: &out)
        out.append(literal: "\r\n")
    }

    /// Appends a field with a value from anywhere; false, and nothing written, when it holds a control byte.
    package static func field(_ name: StaticString, checking value: Span<UInt8>, into out: inout [UInt8]) -> Bool {
        guard isValue(value) else { return false }
        out.append(literal: name)
        out.append(literal: ": ")
        out.append(copying: value)
        out.append(literal: "\r\n")
        return true
    }

    /// Appends a field with a value from anywhere; false, and nothing written, when it holds a control byte.
    package static func field(_ name: StaticString, checking value: [UInt8], into out: inout [UInt8]) -> Bool {
        field(name, checking: value.span, into: &out)
    }

    /// Appends a field with a name and a value from anywhere; false, and nothing written, when either is malformed.
    package static func field(
        checkingName name: Span<UInt8>, value: Span<UInt8>, into out: inout [UInt8]
    ) -> Bool {
        guard Token.isValid(name), isValue(value) else { return false }
        out.append(copying: name)
        out.append(literal: ": ")
        out.append(copying: value)
        out.append(literal: "\r\n")
        return true
    }

    /// Appends a line of a parsed head as it came, without the white space round the value.
    package static func field(_ line: FieldLine, of head: some FieldSection, into out: inout [UInt8]) {
        let bytes = head.bytes.span
        let end = line.value.upperBound
        let isPlain =
            line.value.lowerBound == line.name.upperBound + 2 && end + 2 <= bytes.count
            && bytes[line.name.upperBound] == 0x3A && bytes[line.name.upperBound + 1] == 0x20
            && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
        if isPlain {
            // Nearly every line is written the way we write it: one copy then.
            out.append(copying: bytes.extracting(line.name.lowerBound..<(end + 2)))
            return
        }
        out.append(copying: bytes.extracting(line.name))
        out.append(literal: ": ")
        out.append(copying: bytes.extracting(line.value))
        out.append(literal: "\r\n")
    }

    /// Appends the empty line.
    package static func endOfHead(into out: inout [UInt8]) {
        out.append(literal: "\r\n")
    }

    // MARK: - Chunked coding

    /// Appends the size line of a chunk of at least one octet; the data and `chunkEnd` follow.
    package static func chunkHeader(_ count: Int, into out: inout [UInt8]) {
        precondition(count > 0, "the empty chunk is lastChunk")
        var shift = (Int.bitWidth - count.leadingZeroBitCount - 1) / 4 * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift) & 0x0F
            out.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
        out.append(literal: "\r\n")
    }

    /// Appends what follows the data of a chunk.
    package static func chunkEnd(into out: inout [UInt8]) {
        out.append(literal: "\r\n")
    }

    /// Appends the last chunk and a trailer section of checked field lines, each with its CRLF.
    package static func lastChunk(trailers: [UInt8] = [], into out: inout [UInt8]) {
        out.append(literal: "0\r\n")
        out.append(contentsOf: trailers)
        out.append(literal: "\r\n")
    }

    // MARK: - Parts

    /// Appends a number in decimal digits.
    package static func decimal(_ number: UInt64, into out: inout [UInt8]) {
        var unit: UInt64 = 1
        while number / unit >= 10 { unit *= 10 }
        while unit > 0 {
            out.append(0x30 + UInt8(truncatingIfNeeded: number / unit % 10))
            unit /= 10
        }
    }

    /// Whether the octets can be a field value: no control byte but HTAB, no white space at either end.
    package static func isValue(_ value: Span<UInt8>) -> Bool {
        guard !value.isEmpty else { return true }
        let last = value[value.count - 1]
        if value[0] == 0x20 || value[0] == 0x09 || last == 0x20 || last == 0x09 { return false }
        return ByteClass.skip(ByteClass.value, in: value, from: 0, to: value.count) == value.count
    }
}
