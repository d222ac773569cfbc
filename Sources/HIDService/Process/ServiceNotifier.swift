// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Tells the service manager how the service does (sd_notify(3)); does nothing without one.
package struct ServiceNotifier: Sendable {
    package enum State: Sendable, Equatable {
        case ready
        case stopping
        /// With the time that systemd wants beside it.
        case reloading
        case status(String)
        case watchdog
    }

    private let address: String?
    /// How often at least `watchdog` is expected, so notify at half of it; nil without a watchdog.
    package let watchdogInterval: Duration?

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    package init(
        environment: (String) -> String? = ServiceEnvironment.value, processID: Int32 = getpid()
    ) {
        let socket = environment("NOTIFY_SOCKET")
        address = socket.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isForUs = environment("WATCHDOG_PID").map { $0 == String(processID) } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { ScalarText.integer($0.utf8) } ?? 0
        watchdogInterval = isForUs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends all states in one datagram; false when it did not go out, which is no reason to fail.
    @discardableResult
    package func notify(_ states: State...) -> Bool {
        guard let address else { return false }
        let text = states.map(Self.text).joined(separator: "\n")
        return UnixDatagram.send(Array(text.utf8), to: address)
    }

    private static func text(_ state: State) -> String {
        switch state {
        case .ready: "READY=1"
        case .stopping: "STOPPING=1"
        case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicMicroseconds)"
        case .status(let text): "STATUS=" + text.replacing(0x0A)
        case .watchdog: "WATCHDOG=1"
        }
    }
}

/// Datagrams to a socket in the file system or, with `@`, in the abstract name space.
enum UnixDatagram {
    static func send(_ bytes: [UInt8], to path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard let (made, length) = socketAddress(path) else { return false }
        var address = made
        let sent = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), generic, length)
            }
        }
        return sent == bytes.count
    }

    /// Nil when the path does not fit.
    static func socketAddress(_ path: String) -> (sockaddr_un, socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        let isAbstract = bytes.first == 0x40
        if isAbstract { bytes[0] = 0 }
        guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        // An abstract name ends with its length, a path with a NUL.
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
        return (address, socklen_t(length))
    }
}
