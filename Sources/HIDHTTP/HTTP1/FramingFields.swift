// SPDX-License-Identifier: Apache-2.0

/// Gathers what Content-Length, Transfer-Encoding and Connection say about one message (RFC 9112 sections 6 and 9).
///
/// Stricter than the standard on purpose: equal duplicate lengths, lengths with leading zeros, and any coding other than one
/// plain `chunked` are refused, because two readers of the same bytes may disagree about them.
struct FramingFields {
    private(set) var contentLength: UInt64?
    private(set) var isChunked = false
    private(set) var wantsClose = false
    private(set) var wantsKeepAlive = false

    /// Reads one field line if it is one of the three.
    mutating func note(
        _ field: FieldLine, _ bytes: Span<UInt8>, minorVersion: UInt8, policy: ConnectionPolicy?
    ) -> FieldFault? {
        switch field.name.count {
        case 10:
            guard FieldName.connection.matches(bytes.extracting(field.name)) else { return nil }
            return noteConnection(bytes, field.value, policy)
        case 14:
            guard FieldName.contentLength.matches(bytes.extracting(field.name)) else { return nil }
            return noteLength(bytes.extracting(field.value))
        case 17:
            let name = bytes.extracting(field.name)
            guard FieldName.transferEncoding.matches(name) else { return nil }
            return noteCoding(bytes, field.value, minorVersion)
        default:
            return nil
        }
    }

    /// Whether the sender keeps the connection (RFC 9112 section 9.3).
    func isPersistent(minorVersion: UInt8) -> Bool {
        !wantsClose && (minorVersion == 1 || wantsKeepAlive)
    }

    private mutating func noteLength(_ digits: Span<UInt8>) -> FieldFault? {
        guard let length = Decimal63.parse(digits) else { return .contentLengthBad }
        if isChunked { return .bothFramings }
        if let contentLength { return contentLength == length ? .contentLengthMultiple : .contentLengthConflict }
        contentLength = length
        return nil
    }

    private mutating func noteCoding(_ bytes: Span<UInt8>, _ value: Range<Int>, _ minorVersion: UInt8) -> FieldFault? {
        if minorVersion == 0 { return .transferEncodingHTTP10 }
        if isChunked { return .transferEncodingMultiple }
        if contentLength != nil { return .bothFramings }
        var elements = ListElements(value)
        var count = 0
        var chunkedAt: Int?
        while let element = elements.next(in: bytes) {
            let coding = bytes.extracting(element)
            guard Token.isValid(coding) else { return .transferEncodingBad }
            if KnownToken.chunked.matches(coding) {
                guard chunkedAt == nil else { return .transferEncodingBad }
                chunkedAt = count
            }
            count += 1
        }
        if let chunkedAt, chunkedAt != count - 1 { return .transferEncodingBad }
        guard count == 1, chunkedAt == 0 else { return .transferEncodingUnsupported }
        isChunked = true
        return nil
    }

    private mutating func noteConnection(
        _ bytes: Span<UInt8>, _ value: Range<Int>, _ policy: ConnectionPolicy?
    ) -> FieldFault? {
        var elements = ListElements(value)
        while let element = elements.next(in: bytes) {
            if element.isEmpty { continue }
            let option = bytes.extracting(element)
            guard Token.isValid(option) else { return .connectionBad }
            if KnownToken.close.matches(option) {
                wantsClose = true
            } else if KnownToken.keepAlive.matches(option) {
                wantsKeepAlive = true
            } else if let policy, policy.protects(option) {
                return .connectionProtected
            }
        }
        return nil
    }
}

/// Reads whole numbers written in decimal digits and nothing else.
enum Decimal63 {
    /// A number below 2^63 without sign, white space or leading zeros, or nil.
    static func parse(_ digits: Span<UInt8>) -> UInt64? {
        guard digits.count >= 1, digits.count <= 19 else { return nil }
        if digits[0] == 0x30, digits.count > 1 { return nil }
        var number: UInt64 = 0
        for index in digits.indices {
            let digit = digits[index] &- 0x30
            guard digit < 10 else { return nil }
            number = number &* 10 &+ UInt64(digit)
        }
        return number <= UInt64(Int64.max) ? number : nil
    }
}

/// The `token` rule of RFC 9110 section 5.6.2.
enum Token {
    /// Whether the bytes are one or more `tchar`.
    static func isValid(_ bytes: Span<UInt8>) -> Bool {
        !bytes.isEmpty && ByteClass.skip(ByteClass.token, in: bytes, from: 0, to: bytes.count) == bytes.count
    }
}
