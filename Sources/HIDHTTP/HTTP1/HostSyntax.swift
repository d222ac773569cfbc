// SPDX-License-Identifier: Apache-2.0

/// The `uri-host [ ":" port ]` rule of RFC 9110 section 7.2, narrowed to names that can be served.
///
/// Percent-encoding and sub-delims are legal in a registered name of RFC 3986 and are refused here: no name an operator
/// can configure needs them, and upstreams read them in different ways. Zone identifiers and IPvFuture are refused too.
package enum HostSyntax {
    /// Whether the bytes name a host, with or without a port of at most 65535.
    package static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty, bytes.count <= 262 else { return false }
        let hostEnd: Int
        if bytes[0] == 0x5B {
            var close = 1
            while close < bytes.count, bytes[close] != 0x5D { close += 1 }
            guard close < bytes.count, isIPv6(bytes, 1, close) else { return false }
            hostEnd = close + 1
        } else {
            hostEnd = ByteClass.skip(ByteClass.hostName, in: bytes, from: 0, to: bytes.count)
            guard hostEnd > 0 else { return false }
        }
        if hostEnd == bytes.count { return true }
        return bytes[hostEnd] == 0x3A && isPort(bytes.extracting((hostEnd + 1)..<bytes.count))
    }

    /// An empty port is legal (RFC 3986 section 3.2.3) and means the default.
    private static func isPort(_ digits: Span<UInt8>) -> Bool {
        guard digits.count <= 5 else { return false }
        var port = 0
        for index in digits.indices {
            let digit = digits[index] &- 0x30
            guard digit < 10 else { return false }
            port = port * 10 + Int(digit)
        }
        return port <= 65_535
    }

    private static func isIPv6(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var index = start
        var groups = 0
        var isCompressed = false
        if end - start >= 2, bytes[start] == 0x3A, bytes[start + 1] == 0x3A {
            isCompressed = true
            index += 2
        }
        while index < end {
            let digitsEnd = ByteClass.skip(ByteClass.hexDigit, in: bytes, from: index, to: min(end, index + 4))
            if digitsEnd < end, bytes[digitsEnd] == 0x2E {
                guard isIPv4(bytes, index, end) else { return false }
                groups += 2
                break
            }
            guard digitsEnd > index else { return false }
            groups += 1
            index = digitsEnd
            if index == end { break }
            guard bytes[index] == 0x3A, index + 1 < end else { return false }
            index += 1
            if bytes[index] == 0x3A {
                guard !isCompressed else { return false }
                isCompressed = true
                index += 1
            }
        }
        return isCompressed ? groups <= 7 : groups == 8
    }

    private static func isIPv4(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var parts = 1
        var value = 0
        var digits = 0
        for index in start..<end {
            let byte = bytes[index]
            if byte == 0x2E {
                guard digits > 0 else { return false }
                parts += 1
                value = 0
                digits = 0
                continue
            }
            guard byte &- 0x30 < 10, digits < 3, !(digits > 0 && value == 0) else { return false }
            value = value * 10 + Int(byte &- 0x30)
            digits += 1
            guard value <= 255 else { return false }
        }
        return parts == 4 && digits > 0
    }
}
