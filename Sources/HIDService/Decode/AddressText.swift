// SPDX-License-Identifier: Apache-2.0
import Glibc

/// `host:port`, `[v6]:port`, `unix:/path` or `fd:NAME`.
package enum AddressText: Sendable, Hashable {
    case tcp(host: String, port: UInt16)
    case unix(path: String)
    case descriptor(name: String)

    /// Why a text is no address; a clause for a message.
    package struct Fault: Error, Sendable, Equatable {
        package var message: String

        package init(message: String) {
            self.message = message
        }
    }

    package init(parsing text: String) throws(Fault) {
        if text.hasPrefix("unix:") {
            self = .unix(path: try Self.unixPath(String(text.dropFirst(5))))
        } else if text.hasPrefix("fd:") {
            let name = String(text.dropFirst(3))
            guard !name.isEmpty, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x3A }) else {
                throw Fault(message: "must name a socket, as in fd:NAME")
            }
            self = .descriptor(name: name)
        } else {
            let (host, port) = try Self.hostAndPort(text, defaultPort: nil)
            self = .tcp(host: host, port: port)
        }
    }

    /// An absolute path that fits into a socket address.
    package static func unixPath(_ path: String) throws(Fault) -> String {
        guard path.utf8.first == 0x2F else { throw Fault(message: "must be an absolute path, as in unix:/path") }
        guard path.utf8.count <= 107 else { throw Fault(message: "is longer than the 107 octets of a socket path") }
        return path
    }

    /// A host without brackets and a port; port 0 is accepted.
    package static func hostAndPort(_ text: String, defaultPort: UInt16?) throws(Fault) -> (String, UInt16) {
        let bytes = Array(text.utf8)
        let hostEnd: Int
        if bytes.first == 0x5B {
            guard let close = bytes.firstIndex(of: 0x5D) else { throw Fault(message: "lacks ']'") }
            hostEnd = close + 1
        } else {
            hostEnd = bytes.firstIndex(of: 0x3A) ?? bytes.count
        }
        let host = try checkedHost(bytes[..<hostEnd])
        guard hostEnd < bytes.count else {
            guard let defaultPort else { throw Fault(message: "lacks a port, as in 127.0.0.1:8080") }
            return (host, defaultPort)
        }
        let digits = bytes[(hostEnd + 1)...]
        guard bytes[hostEnd] == 0x3A, !digits.contains(0x3A) else {
            throw Fault(message: "must be host:port, with an IPv6 address in brackets")
        }
        guard let port = ScalarText.integer(digits).flatMap(UInt16.init(exactly:)) else {
            throw Fault(message: "needs a port from 0 to 65535")
        }
        return (host, port)
    }

    private static func checkedHost(_ bytes: ArraySlice<UInt8>) throws(Fault) -> String {
        if bytes.first == 0x5B {
            let host = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
            guard IPAddressText.octets(host)?.isIPv4 == false else {
                throw Fault(message: "must have an IPv6 address in its brackets")
            }
            return host
        }
        let host = String(decoding: bytes, as: UTF8.self)
        guard HostName.isValid(host) else {
            throw Fault(message: "needs a host name or an address before the port")
        }
        return host
    }
}

/// Names and IPv4 addresses as they stand in URLs and rules.
package enum HostName {
    /// Letters, digits, `-`, `_` and dots between labels; what looks like an IPv4 address must be one.
    package static func isValid(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard text.utf8.count <= 253, labels.allSatisfy(isLabel) else { return false }
        let looksLikeAddress = labels.last?.allSatisfy { (0x30...0x39).contains($0) } ?? false
        return !looksLikeAddress || IPAddressText.octets(text) != nil
    }

    /// `localhost`, 127.0.0.0/8 or ::1.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let address = IPAddressText.octets(host) else { return false }
        if address.isIPv4 { return address.octets[12] == 127 }
        return address.octets.dropLast().allSatisfy { $0 == 0 } && address.octets.last == 1
    }

    private static func isLabel(_ label: some Collection<UInt8>) -> Bool {
        guard (1...63).contains(label.count), label.first != 0x2D else { return false }
        return label.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
            default: false
            }
        }
    }
}

/// IP addresses in text.
package enum IPAddressText {
    /// 16 octets, IPv4 as IPv4-mapped IPv6; nil for anything but dotted decimals or RFC 4291 text.
    ///
    /// Leading zeros, short forms (`127.1`) and zones are not accepted.
    package static func octets(_ text: String) -> (octets: [UInt8], isIPv4: Bool)? {
        var four = in_addr()
        guard !text.utf8.contains(0) else { return nil }
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            let number = UInt32(bigEndian: four.s_addr)
            let low = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
            return ([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + low, true)
        }
        var six = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        return (unsafe withUnsafeBytes(of: &six) { unsafe [UInt8]($0) }, false)
    }
}

extension ConfigurationValue {
    /// An address to listen on or to reach.
    package func address() -> AddressText? {
        guard let text = scalar("an address like 127.0.0.1:8080 or unix:/path") else { return nil }
        do throws(AddressText.Fault) {
            return try AddressText(parsing: text)
        } catch {
            self.error("address \(text.quoted) \(error.message)")
            return nil
        }
    }
}
