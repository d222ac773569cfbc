// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import Synchronization

/// What went wrong on a socket of a test.
package enum WireError: Error, Equatable, CustomStringConvertible {
    case timedOut(String)
    /// The peer reset the connection.
    case reset
    case system(String, Int32)
    case malformed(String)

    package var description: String {
        switch self {
        case .timedOut(let what): "the deadline passed while waiting to \(what)"
        case .reset: "the peer reset the connection"
        case .system(let call, let code): "\(call) failed with errno \(code)"
        case .malformed(let what): "malformed message: \(what)"
        }
    }
}

/// Where a socket listens or dials.
package enum WireAddress: Sendable, Equatable {
    /// On 127.0.0.1; port 0 lets the kernel choose.
    case port(UInt16)
    /// On 127.0.0.x.
    case loopback(UInt8, UInt16)
    case unix(String)

    /// `127.0.0.1:80`, `unix:/path`.
    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            self = .unix(String(text.dropFirst(5)))
        } else {
            guard let port = text.split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
            self = .port(port)
        }
    }
}

/// A connection that carries octets.
package protocol ByteLink: AnyObject {
    /// Sends everything.
    func send(_ bytes: [UInt8], _ deadline: Deadline) throws
    /// Receives what is there; empty at the end of the stream.
    func receive(limit: Int, _ deadline: Deadline) throws -> [UInt8]
}

extension ByteLink {
    package func send(_ bytes: [UInt8]) throws { try send(bytes, Deadline()) }
    package func receive(_ deadline: Deadline) throws -> [UInt8] { try receive(limit: 65_536, deadline) }

    /// Receives what must still come: a loop that waits for it ends with the stream.
    package func more(limit: Int = 65_536, _ deadline: Deadline = Deadline()) throws -> [UInt8] {
        let octets = try receive(limit: limit, deadline)
        guard !octets.isEmpty else { throw WireError.malformed("the stream ended too early") }
        return octets
    }
}

/// One stream socket with a deadline on everything, closed with its owner. Not inherited by children.
package final class Wire: ByteLink, Sendable {
    let descriptor: Int32
    private let isOpen = Mutex(true)

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close() }

    // MARK: - Making

    private static func socket(_ address: WireAddress) throws -> Wire {
        let family = if case .unix = address { AF_UNIX } else { AF_INET }
        let descriptor = Glibc.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw WireError.system("socket", errno) }
        return Wire(adopting: descriptor)
    }

    private static func with<Result>(
        _ address: WireAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        switch address {
        case .port(let port): return unsafe with(.loopback(1, port), body)
        case .loopback(let host, let port):
            var value = sockaddr_in()
            value.sin_family = sa_family_t(AF_INET)
            value.sin_port = port.bigEndian
            value.sin_addr.s_addr = (0x7F00_0000 | UInt32(host)).bigEndian
            return unsafe withUnsafePointer(to: &value) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .unix(let path):
            var value = sockaddr_un()
            value.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &value.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
            return unsafe withUnsafePointer(to: &value) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
    }

    /// Dials.
    package static func connect(to address: WireAddress, receiveBuffer: Int32? = nil) throws -> Wire {
        let wire = try socket(address)
        if let receiveBuffer { wire.set(SO_RCVBUF, receiveBuffer) }
        let result = unsafe with(address) { unsafe Glibc.connect(wire.descriptor, $0, $1) }
        guard result == 0 else { throw WireError.system("connect", errno) }
        if case .port = address {
            var one: Int32 = 1
            unsafe setsockopt(wire.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        }
        return wire
    }

    /// Listens.
    package static func listen(on address: WireAddress, receiveBuffer: Int32? = nil) throws -> Wire {
        let wire = try socket(address)
        wire.set(SO_REUSEADDR, 1)
        if let receiveBuffer { wire.set(SO_RCVBUF, receiveBuffer) }
        let result = unsafe with(address) { unsafe Glibc.bind(wire.descriptor, $0, $1) }
        guard result == 0 else { throw WireError.system("bind", errno) }
        guard Glibc.listen(wire.descriptor, 512) == 0 else { throw WireError.system("listen", errno) }
        return wire
    }

    /// A connected pair; the second end is a bare descriptor for a child.
    static func pair() throws -> (Wire, Wire) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw WireError.system("socketpair", errno) }
        return (Wire(adopting: ends[0]), Wire(adopting: ends[1]))
    }

    /// The port of a listening TCP socket.
    package var port: UInt16 {
        var value = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &value) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = unsafe getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: value.sin_port)
    }

    private func set(_ option: Int32, _ value: Int32) {
        var value = value
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &value, 4)
    }

    /// The next connection; nil once the listener is closed or the deadline has passed.
    func accept(_ deadline: Deadline) -> Wire? {
        guard (try? wait(POLLIN, "accept", deadline)) != nil else { return nil }
        let client = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
        guard client >= 0 else { return nil }
        // Without it a second small send waits for the first one's acknowledgement. Fails on unix sockets, harmlessly.
        var one: Int32 = 1
        unsafe setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        return Wire(adopting: client)
    }

    // MARK: - Talking

    private func wait(_ events: Int32, _ what: String, _ deadline: Deadline) throws {
        while true {
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = unsafe poll(&entry, 1, deadline.milliseconds)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw WireError.system("poll", errno) }
            if count == 0, deadline.milliseconds == 0 { throw WireError.timedOut(what) }
        }
    }

    /// Sends everything.
    package func send(_ bytes: [UInt8], _ deadline: Deadline = Deadline()) throws {
        let sent = try sendSome(bytes, deadline)
        guard sent == bytes.count else { throw WireError.timedOut("send") }
    }

    package func send(_ text: String, _ deadline: Deadline = Deadline()) throws {
        try send(Array(text.utf8), deadline)
    }

    /// Sends as much as the peer takes before the deadline, and returns how much that was.
    package func sendSome(_ bytes: [UInt8], _ deadline: Deadline) throws -> Int {
        var offset = 0
        while offset < bytes.count {
            do { try wait(POLLOUT, "send", deadline) } catch WireError.timedOut { return offset }
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                offset += count
            } else if errno == ECONNRESET || errno == EPIPE {
                throw WireError.reset
            } else if errno != EAGAIN, errno != EINTR {
                throw WireError.system("send", errno)
            }
        }
        return offset
    }

    /// Receives what is there; empty at the end of the stream.
    package func receive(limit: Int = 65_536, _ deadline: Deadline = Deadline()) throws -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: limit)
        while true {
            try wait(POLLIN, "receive", deadline)
            let count = unsafe recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
            if count >= 0 {
                chunk.removeLast(chunk.count - count)
                return chunk
            }
            if errno == ECONNRESET { throw WireError.reset }
            guard errno == EAGAIN || errno == EINTR else { throw WireError.system("recv", errno) }
        }
    }

    /// Whether the peer ended the connection, in order or by a reset, before the deadline. What comes first is dropped.
    package func isEnded(_ deadline: Deadline = Deadline()) -> Bool {
        while true {
            do {
                if try receive(deadline).isEmpty { return true }
            } catch WireError.timedOut {
                return false
            } catch {
                return true
            }
        }
    }

    /// Sends the end of our stream; the other direction stays open.
    package func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset instead of an orderly end.
    package func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Ends both directions; who waits on the socket wakes up. The descriptor stays until `close`.
    package func shutDown() {
        isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    package func close() {
        let mayClose = isOpen.withLock { open in
            defer { open = false }
            return open
        }
        if mayClose { Glibc.close(descriptor) }
    }
}
