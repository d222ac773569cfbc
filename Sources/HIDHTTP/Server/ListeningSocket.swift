// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// Why an address cannot be listened on.
package enum ListenError: Error, CustomStringConvertible {
    case unknownHost(String)
    case system(SystemCallError)
    case pathTooLong(String)

    package var description: String {
        switch self {
        case .unknownHost(let host):
            "'\(host)' is no address of this machine; use an IP address or a name that resolves"
        case .system(let error): "\(error)"
        case .pathTooLong(let path): "'\(path)' is longer than a unix socket path may be (107 octets)"
        }
    }
}

/// A bound, listening, non-blocking socket.
///
/// The one who takes `descriptor` closes it.
package struct ListeningSocket: Sendable {
    package let descriptor: Int32

    private static let backlog: Int32 = 4096
    /// Octets that the kernel takes for a client beyond what is on its way to it.
    private static let notSentLimit: Int32 = 128 << 10

    /// Adopts a socket that the service manager bound.
    package init(adopting descriptor: Int32) throws(SystemCallError) {
        self.descriptor = descriptor
        let flags = try SystemCall.require("fcntl") { fcntl(descriptor, F_GETFL) }
        _ = try SystemCall.require("fcntl") { fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
    }

    /// Another descriptor of the same socket, for the next loop.
    package func duplicate() throws(SystemCallError) -> ListeningSocket {
        let descriptor = descriptor
        let copy = try SystemCall.require("fcntl") { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
        return try ListeningSocket(adopting: copy)
    }

    /// The port a TCP socket is bound to; 0 for others.
    package var port: UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let descriptor = descriptor
        let (result, _) = SystemCall.retrying {
            unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe getsockname(descriptor, address, &length)
                }
            }
        }
        guard result == 0 else { return 0 }
        return unsafe withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET: unsafe UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: unsafe UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: 0
            }
        }
    }

    /// Binds a TCP address.
    ///
    /// With `shared`, several sockets may bind it: one a loop (SO_REUSEPORT).
    package static func tcp(host: String, port: UInt16, shared: Bool) throws(ListenError) -> ListeningSocket {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
        guard status == 0, let first = unsafe list else { throw .unknownHost(host) }
        defer { unsafe freeaddrinfo(list) }
        do throws(SystemCallError) {
            return try unsafe bind(first.pointee, shared: shared)
        } catch {
            throw .system(error)
        }
    }

    private static func bind(_ info: addrinfo, shared: Bool) throws(SystemCallError) -> ListeningSocket {
        let family = unsafe info.ai_family
        let descriptor = try SystemCall.require("socket") {
            socket(family, Int32(SOCK_STREAM.rawValue) | hid_accept_flags, 0)
        }
        do throws(SystemCallError) {
            var one: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            _ = try SystemCall.require("setsockopt") {
                unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size)
            }
            if shared {
                _ = try SystemCall.require("setsockopt") {
                    unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, size)
                }
            }
            if family == AF_INET6 {
                _ = try SystemCall.require("setsockopt") {
                    unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, size)
                }
            }
            // Accepted sockets inherit it: without it the kernel keeps megabytes for a client that reads nothing.
            var unsent = notSentLimit
            unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsent, size)
            _ = try SystemCall.require("bind") { unsafe Glibc.bind(descriptor, info.ai_addr, info.ai_addrlen) }
            _ = try SystemCall.require("listen") { Glibc.listen(descriptor, backlog) }
        } catch {
            close(descriptor)
            throw error
        }
        return try ListeningSocket(adopting: descriptor)
    }

    /// Binds a unix socket.
    ///
    /// A stale socket file of an earlier run is replaced, one that answers is not.
    package static func unix(path: String) throws(ListenError) -> ListeningSocket {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .pathTooLong(path) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        do throws(SystemCallError) {
            return try bindUnix(address, path: path)
        } catch {
            throw .system(error)
        }
    }

    private static func bindUnix(_ address: sockaddr_un, path: String) throws(SystemCallError) -> ListeningSocket {
        let probe = try SystemCall.require("socket") {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | hid_accept_flags, 0)
        }
        if unsafe call(Glibc.connect, probe, address) == -1, errno == ECONNREFUSED { unsafe unlink(path) }
        close(probe)
        let fresh = try SystemCall.require("socket") {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | hid_accept_flags, 0)
        }
        do throws(SystemCallError) {
            let mask = umask(0o077)
            defer { umask(mask) }
            _ = try SystemCall.require("bind") { unsafe call(Glibc.bind, fresh, address) }
            _ = try SystemCall.require("listen") { Glibc.listen(fresh, backlog) }
        } catch {
            close(fresh)
            throw error
        }
        return try ListeningSocket(adopting: fresh)
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32, _ address: sockaddr_un
    ) -> Int32 {
        var address = address
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, UnsafePointer($0), socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
