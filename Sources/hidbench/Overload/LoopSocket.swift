// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDHTTP
import HIDService

/// The bits of epoll_ctl(2) that the load uses.
enum PollBits {
    static let input: UInt32 = 0x001
    static let output: UInt32 = 0x004
    static let readHangup: UInt32 = 0x2000
    static let all = input | output | readHangup
}

/// A port of this machine: a load is never sent elsewhere.
struct LoopbackPort {
    let port: UInt16

    init(_ text: String) throws(BenchError) {
        let prefix = "127.0.0.1:"
        guard text.hasPrefix(prefix), let port = UInt16(text.dropFirst(prefix.utf8.count)), port > 0 else {
            throw .usage("the load goes to 127.0.0.1:PORT, not \(text.quoted)")
        }
        self.port = port
    }
}

/// A client's socket that never blocks.
///
/// Confined to a loop; closed with its owner.
final class LoopSocket {
    enum Received: Equatable {
        case octets(Int)
        case nothing
        case ended
    }

    let descriptor: Int32
    private var isOpen = true

    /// Begins to connect; nil when descriptors or ports have run out.
    ///
    /// `receiveBuffer` makes a small window: the peer notices early that nothing is read.
    init?(to target: LoopbackPort, receiveBuffer: Int32? = nil) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { return nil }
        if var size = receiveBuffer { unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var one: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = target.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = descriptor
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0, errno != EINPROGRESS {
            close()
            return nil
        }
    }

    deinit { close() }

    func register(on loop: EventLoop, _ handler: any EventHandler) -> Registration? {
        try? loop.register(descriptor, events: PollBits.all, handler: handler)
    }

    /// Sends from `offset` on; how much that was, nil when the connection is gone.
    func send(_ bytes: [UInt8], from offset: Int = 0) -> Int? {
        let count = unsafe bytes.withUnsafeBytes { source in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: source[offset...])
            return unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        }
        if count >= 0 { return count }
        return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? 0 : nil
    }

    /// Receives into the start of `buffer`, at most `limit` octets.
    func receive(into buffer: inout [UInt8], limit: Int = .max) -> Received {
        let count = unsafe buffer.withUnsafeMutableBytes { target in
            unsafe recv(descriptor, target.baseAddress, min(limit, target.count), 0)
        }
        if count > 0 { return .octets(count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        return .ended
    }

    /// Sends the end of our stream; the other direction stays open.
    func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset instead of an orderly end.
    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        if descriptor >= 0 { Glibc.close(descriptor) }
    }
}
