// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// One end of a connection.
package struct PeerEndpoint: Sendable, Hashable {
    package let address: PeerAddress
    /// 0 for local sockets.
    package let port: UInt16

    package init(address: PeerAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    init(_ storage: sockaddr_storage) {
        address = PeerAddress(storage)
        port = unsafe withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET: unsafe UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: unsafe UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: 0
            }
        }
    }
}

extension SystemCall {
    /// Where a socket was bound or accepted.
    static func localEndpoint(of descriptor: Int32) -> PeerEndpoint {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return result == 0 ? PeerEndpoint(storage) : PeerEndpoint(address: .local, port: 0)
    }
}

/// An IP address as 16 octets, IPv4 mapped into IPv6, or the mark of a local socket.
package struct PeerAddress: Sendable, Hashable {
    package let high: UInt64
    package let low: UInt64
    package let isLocal: Bool

    /// A peer on a unix socket.
    package static let local = PeerAddress(high: 0, low: 0, isLocal: true)

    package init(high: UInt64, low: UInt64, isLocal: Bool = false) {
        self.high = high
        self.low = low
        self.isLocal = isLocal
    }

    init(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in.self) }
            self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: address.sin_addr.s_addr)))
        case AF_INET6:
            let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in6.self) }
            let (high, low) = unsafe withUnsafeBytes(of: address.sin6_addr) {
                unsafe ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        default:
            self = .local
        }
    }

    /// Whether it is an IPv4 address.
    package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// Appends the usual text form: dotted quad, RFC 5952, or `unix`.
    package func append(to bytes: inout [UInt8]) {
        if isLocal { return bytes.append(contentsOf: Array("unix".utf8)) }
        if isIPv4 { return appendIPv4(to: &bytes) }
        bytes.append(contentsOf: Array(text6.utf8))
    }

    /// The text form as a string.
    package var description: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func appendIPv4(to bytes: inout [UInt8]) {
        for shift in [24, 16, 8, 0] {
            let octet = UInt8(truncatingIfNeeded: low >> UInt64(shift))
            if octet >= 100 { bytes.append(0x30 + octet / 100) }
            if octet >= 10 { bytes.append(0x30 + octet / 10 % 10) }
            bytes.append(0x30 + octet % 10)
            if shift != 0 { bytes.append(0x2E) }
        }
    }

    private var text6: String {
        var address = in6_addr()
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = unsafe text.withUnsafeMutableBufferPointer { buffer in
            unsafe inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Reads the text form of an address, strictly; nil for anything else.
    package init?(text: [UInt8]) {
        guard text.count <= 45, !text.contains(0) else { return nil }
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, terminated, &four) == 1 {
            self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: four.s_addr)))
        } else if unsafe inet_pton(AF_INET6, terminated, &six) == 1 {
            let (high, low) = unsafe withUnsafeBytes(of: six) {
                unsafe ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        } else {
            return nil
        }
    }
}
