// SPDX-License-Identifier: Apache-2.0

/// The base URL of a server, read strictly so that no other parser can read another host out of it.
struct ServerURL: Sendable, Equatable {
    /// Scheme, authority and path as written, without a slash at the end.
    let base: String
    /// Whether the scheme is https.
    let isTLS: Bool
    /// The host as written; an IPv6 address with its brackets.
    let host: String

    /// Whether the host is `localhost`, in 127.0.0.0/8, or `[::1]`.
    var isLoopback: Bool {
        let name = host.utf8.map(ASCIIText.lower)
        if name == Array("localhost".utf8) || name == Array("[::1]".utf8) { return true }
        let parts = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0].elementsEqual("127".utf8) && parts.allSatisfy(Self.isOctet)
    }

    /// Reads `scheme://host[:port][/path]`.
    ///
    /// - Throws: `malformedServerURL` with what is wrong.
    init(parsing text: String) throws(HumanIDConfigError) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .malformedServerURL("is empty") }
        guard bytes.count <= 1024 else { throw .malformedServerURL("is longer than 1024 octets") }
        let schemes = [("https://", true), ("http://", false)]
        guard let (scheme, isTLS) = schemes.first(where: { bytes.starts(with: Array($0.0.utf8)) }) else {
            throw .malformedServerURL("must start with https://")
        }
        let rest = bytes[scheme.utf8.count...]
        let authorityEnd = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        host = try Self.host(of: rest[..<authorityEnd])
        var path = rest[authorityEnd...]
        guard path.allSatisfy(Self.isPathOctet), !Self.hasDots(path) else {
            throw .malformedServerURL("must have a plain path without query and fragment")
        }
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        base = String(decoding: bytes[..<authorityEnd] + path, as: UTF8.self)
        self.isTLS = isTLS
    }

    /// The URL of an endpoint below the base.
    func endpoint(_ path: StaticString) -> String { base + path.description }

    private static func host(of authority: ArraySlice<UInt8>) throws(HumanIDConfigError) -> String {
        let bracket = authority.first == UInt8(ascii: "[") ? authority.firstIndex(of: UInt8(ascii: "]")) : nil
        let colon = authority[(bracket ?? authority.startIndex)...].firstIndex(of: UInt8(ascii: ":"))
        let host = authority[..<(colon ?? authority.endIndex)]
        if let colon {
            let digits = authority[(colon + 1)...]
            let port =
                digits.count <= 5 && digits.allSatisfy(ASCIIText.isDigit)
                ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
            guard (1...65535).contains(port) else { throw .malformedServerURL("needs a port from 1 to 65535") }
        }
        let isName = host.allSatisfy {
            ASCIIText.isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        }
        guard !host.isEmpty, bracket == nil ? isName : isAddress(host) else {
            throw .malformedServerURL("needs a host name or address, without a user name")
        }
        return String(decoding: host, as: UTF8.self)
    }

    /// Whether a text is `[...]` of the octets of an IPv6 address.
    private static func isAddress(_ host: ArraySlice<UInt8>) -> Bool {
        guard host.count >= 4, host.last == UInt8(ascii: "]") else { return false }
        return host.dropFirst().dropLast().allSatisfy {
            ASCIIText.isDigit($0) || (ASCIIText.lower($0) &- UInt8(ascii: "a")) < 6 || $0 == UInt8(ascii: ":")
                || $0 == UInt8(ascii: ".")
        }
    }

    private static func isPathOctet(_ byte: UInt8) -> Bool {
        ASCIIText.isAlphanumeric(byte) || Array("/-._~".utf8).contains(byte)
    }

    /// Whether a segment is `.` or `..`, which URL libraries take away.
    private static func hasDots(_ path: ArraySlice<UInt8>) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { $0.count <= 2 && $0.allSatisfy { $0 == UInt8(ascii: ".") } }
    }

    private static func isOctet(_ digits: ArraySlice<UInt8>) -> Bool {
        guard (1...3).contains(digits.count), digits.allSatisfy(ASCIIText.isDigit) else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
    }
}
