// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// The hops that the fields of a request name, the nearest first; it ends where one cannot be read.
enum ForwardedChain {
    private static let forwardedFor = FieldName("x-forwarded-for")
    private static let forwarded = FieldName("forwarded")

    /// The hops of all X-Forwarded-For lines; nil without such a line.
    static func plain(_ request: RequestHead, limit: Int) -> [PeerAddress]? {
        walk(request, forwardedFor, limit: limit) { bytes, value, limit in
            var elements: [Range<Int>?] = []
            var end = value.upperBound
            while elements.count < limit {
                var start = end
                while start > value.lowerBound, bytes[start - 1] != Octet.comma { start -= 1 }
                elements.append(ForwardedElement.trimmed(bytes, start..<end))
                guard start > value.lowerBound else { break }
                end = start - 1
            }
            return elements
        }
    }

    /// The `for` parameters of all Forwarded lines (RFC 7239 section 4); nil without such a line.
    static func standard(_ request: RequestHead, limit: Int) -> [PeerAddress]? {
        walk(request, forwarded, limit: limit) { bytes, value, limit in
            // Quoted strings are read from the left; what is wrong anywhere in a line makes all of it unreadable.
            var scanner = ForwardedScanner(value)
            var elements: [Range<Int>?] = []
            while let element = scanner.next(bytes) {
                if elements.count == limit { elements.removeFirst() }
                elements.append(element.text)
            }
            return scanner.isMalformed ? [nil] : elements.reversed()
        }
    }

    /// Reads lines from the last one on, each by its elements from the right; nil among them is no address.
    private static func walk(
        _ request: RequestHead, _ name: FieldName, limit: Int,
        elements: (_ bytes: Span<UInt8>, _ value: Range<Int>, _ limit: Int) -> [Range<Int>?]
    ) -> [PeerAddress]? {
        let bytes = request.bytes.span
        var hops: [PeerAddress]?
        for field in request.fields.reversed() where name.matches(bytes.extracting(field.name)) {
            var read = hops ?? []
            for element in elements(bytes, field.value, limit - read.count) {
                guard let element, let hop = ForwardedElement.node(bytes, element) else { return read }
                read.append(hop)
            }
            hops = read
            guard read.count < limit else { break }
        }
        return hops
    }
}

/// One hop as text.
private enum ForwardedElement {
    static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, Octet.isBlank(bytes[start]) { start += 1 }
        while end > start, Octet.isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    /// The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`; nil for
    /// anything else, an obfuscated port included.
    static func node(_ bytes: Span<UInt8>, _ range: Range<Int>) -> PeerAddress? {
        guard !range.isEmpty, range.count <= 64 else { return nil }
        var text = range
        var port: Range<Int>?
        if bytes[range.lowerBound] == Octet.leftBracket {
            guard let close = range.first(where: { bytes[$0] == Octet.rightBracket }) else { return nil }
            text = (range.lowerBound + 1)..<close
            if close + 1 < range.upperBound {
                guard bytes[close + 1] == Octet.colon else { return nil }
                port = (close + 2)..<range.upperBound
            }
            guard text.contains(where: { bytes[$0] == Octet.colon }) else { return nil }
        } else if let colon = range.first(where: { bytes[$0] == Octet.colon }),
            range.last(where: { bytes[$0] == Octet.colon }) == colon
        {
            (text, port) = (range.lowerBound..<colon, (colon + 1)..<range.upperBound)
        }
        if let port, !isPort(bytes, port) { return nil }
        return PeerAddress(text: text.map { bytes[$0] })
    }

    private static func isPort(_ bytes: Span<UInt8>, _ digits: Range<Int>) -> Bool {
        guard (1...5).contains(digits.count) else { return false }
        var port = 0
        for index in digits {
            guard bytes[index] &- 0x30 < 10 else { return false }
            port = port * 10 + Int(bytes[index] &- 0x30)
        }
        return port <= 65_535
    }
}

/// The value of `for` of one element; nil when it has none, or two.
private struct ForwardedHop {
    let text: Range<Int>?
}

/// Reads the elements of one Forwarded line from the left (RFC 7239 section 4, RFC 9110 section 5.6).
private struct ForwardedScanner {
    private var index: Int
    private let end: Int
    private var isOver = false
    private(set) var isMalformed = false

    init(_ value: Range<Int>) {
        index = value.lowerBound
        end = value.upperBound
    }

    /// The next element; nil at the end and at a fault.
    mutating func next(_ bytes: Span<UInt8>) -> ForwardedHop? {
        guard !isOver else { return nil }
        var hop: Range<Int>?
        var count = 0
        while true {
            skipBlanks(bytes)
            if index < end, bytes[index] != Octet.comma, bytes[index] != Octet.semicolon {
                guard let (isFor, value) = pair(bytes) else {
                    (isOver, isMalformed) = (true, true)
                    return nil
                }
                if isFor { (hop, count) = (value, count + 1) }
                skipBlanks(bytes)
            }
            guard index < end else {
                isOver = true
                break
            }
            index += 1
            if bytes[index - 1] == Octet.comma { break }
            guard bytes[index - 1] == Octet.semicolon else {
                (isOver, isMalformed) = (true, true)
                return nil
            }
        }
        return ForwardedHop(text: count == 1 ? hop : nil)
    }

    private mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while index < end, Octet.isBlank(bytes[index]) { index += 1 }
    }

    /// `name=token` or `name="..."`, and whether the name is `for`.
    private mutating func pair(_ bytes: Span<UInt8>) -> (isFor: Bool, value: Range<Int>)? {
        let start = index
        while index < end, Octet.isToken(bytes[index]) { index += 1 }
        let name = start..<index
        guard !name.isEmpty, index < end, bytes[index] == Octet.equals else { return nil }
        index += 1
        let isFor =
            name.count == 3 && bytes[start] | 0x20 == 0x66 && bytes[start + 1] | 0x20 == 0x6F
            && bytes[start + 2] | 0x20 == 0x72
        guard index < end, bytes[index] == Octet.quote else {
            let first = index
            while index < end, Octet.isToken(bytes[index]) { index += 1 }
            return first < index ? (isFor, first..<index) : nil
        }
        index += 1
        let first = index
        while index < end, bytes[index] != Octet.quote {
            // Nothing in an address needs an escape; one that is there makes it no address.
            index += bytes[index] == Octet.backslash ? 2 : 1
        }
        guard index < end else { return nil }
        index += 1
        return (isFor, first..<(index - 1))
    }
}

private enum Octet {
    static let quote: UInt8 = 0x22
    static let comma: UInt8 = 0x2C
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let leftBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let rightBracket: UInt8 = 0x5D

    static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }

    /// `tchar` of RFC 9110 section 5.6.2, and the colon of a port, which some send without quotes.
    static func isToken(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E,
            colon:
            true
        default: false
        }
    }
}
