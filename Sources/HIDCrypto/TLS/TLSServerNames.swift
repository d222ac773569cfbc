// SPDX-License-Identifier: Apache-2.0

/// Server names (RFC 6066 section 3) as they are compared: lower case, no dot at the end.
package enum TLSServerName {
    /// A name of a client; nil when it is no host name of RFC 1123 letters, or is too long.
    static func normalised(_ bytes: Span<UInt8>) -> String? {
        var count = bytes.count
        if count > 0, bytes[count - 1] == UInt8(ascii: ".") { count -= 1 }
        guard count > 0, count <= 253 else { return nil }
        var name: [UInt8] = []
        name.reserveCapacity(count)
        var label = 0
        for index in 0..<count {
            var octet = bytes[index]
            switch octet {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): octet += 32
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
            case UInt8(ascii: "-"), UInt8(ascii: "_"): break
            case UInt8(ascii: "."): guard label > 0 else { return nil }
            default: return nil
            }
            label = octet == UInt8(ascii: ".") ? 0 : label + 1
            guard label <= 63 else { return nil }
            name.append(octet)
        }
        return label > 0 ? String(decoding: name, as: UTF8.self) : nil
    }

    /// A name of the configuration, which may start with `*.`; nil when it is none.
    package static func normalisedPattern(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.starts(with: "*.".utf8) else { return normalised(bytes.span) }
        let rest = Array(bytes.dropFirst(2))
        return normalised(rest.span).map { "*." + $0 }
    }

    /// The host name in the octets of a server_name extension; nil when there is none that we can read.
    static func hostName(inExtension bytes: Span<UInt8>) -> String? {
        // ServerNameList length, NameType host_name, HostName length, HostName.
        guard bytes.count > 5, bytes[2] == 0 else { return nil }
        let list = Int(bytes[0]) << 8 | Int(bytes[1])
        let length = Int(bytes[3]) << 8 | Int(bytes[4])
        guard list == bytes.count - 2, length > 0, length <= bytes.count - 5 else { return nil }
        return normalised(bytes.extracting(5..<5 + length))
    }
}

/// Which identity is for which name.
struct TLSServerNames: Sendable {
    private(set) var indexes: [String: Int] = [:]

    /// Adds an exact or wildcard name; false when it is there already.
    mutating func add(_ pattern: String, index: Int) -> Bool {
        guard indexes[pattern] == nil else { return false }
        indexes[pattern] = index
        return true
    }

    /// The exact name first, then the wildcard in place of the first label.
    func index(of name: String) -> Int? {
        guard !indexes.isEmpty else { return nil }
        if let exact = indexes[name] { return exact }
        guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        return indexes["*" + name[dot...]]
    }
}
