// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HIDService
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct ServiceManagerTests {
    private func notifier(_ variables: [String: String]) -> ServiceNotifier {
        ServiceNotifier(environment: { variables[$0] }, processID: 42)
    }

    @Test func `states go out as one datagram to a socket in the file system`() throws {
        let folder = try TemporaryFolder()
        let receiver = try DatagramReceiver(path: folder.path + "/notify")
        let notifier = notifier(["NOTIFY_SOCKET": folder.path + "/notify"])
        #expect(notifier.notify(.ready, .status("serving\nREADY=0")))
        #expect(receiver.next() == "READY=1\nSTATUS=serving_READY=0")
        #expect(notifier.notify(.stopping))
        #expect(receiver.next() == "STOPPING=1")
        #expect(notifier.notify(.watchdog))
        #expect(receiver.next() == "WATCHDOG=1")
    }

    @Test func `reloading brings the monotonic time`() throws {
        let folder = try TemporaryFolder()
        let receiver = try DatagramReceiver(path: folder.path + "/notify")
        let before = SystemClock.monotonicMicroseconds
        #expect(notifier(["NOTIFY_SOCKET": folder.path + "/notify"]).notify(.reloading))
        let text = receiver.next()
        let prefix = "RELOADING=1\nMONOTONIC_USEC="
        try #require(text.hasPrefix(prefix))
        let time = try #require(Int64(text.dropFirst(prefix.count)))
        #expect((before...SystemClock.monotonicMicroseconds).contains(time))
    }

    @Test func `an abstract socket starts with an at sign`() throws {
        let name = "@hid-notify-test-\(getpid())"
        let receiver = try DatagramReceiver(path: name)
        #expect(notifier(["NOTIFY_SOCKET": name]).notify(.ready))
        #expect(receiver.next() == "READY=1")
    }

    @Test func `without a service manager nothing is sent and nothing fails`() {
        #expect(!notifier([:]).notify(.ready))
        #expect(!notifier(["NOTIFY_SOCKET": ""]).notify(.ready))
        #expect(!notifier(["NOTIFY_SOCKET": "relative"]).notify(.ready))
        #expect(!notifier(["NOTIFY_SOCKET": "/no/such/socket"]).notify(.ready))
        #expect(!notifier(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]).notify(.ready))
    }

    @Test func `the watchdog counts only for its own process`() {
        #expect(notifier(["WATCHDOG_USEC": "30000000"]).watchdogInterval == .seconds(30))
        #expect(notifier(["WATCHDOG_USEC": "1", "WATCHDOG_PID": "42"]).watchdogInterval == .microseconds(1))
        #expect(notifier(["WATCHDOG_USEC": "1", "WATCHDOG_PID": "43"]).watchdogInterval == nil)
        for text in ["", "0", "-1", "x", "99999999999999999999"] {
            #expect(notifier(["WATCHDOG_USEC": text]).watchdogInterval == nil)
        }
        #expect(notifier([:]).watchdogInterval == nil)
    }

    private func sockets(_ variables: [String: String], first: Int32) -> ServiceSockets {
        ServiceSockets(environment: { variables[$0] }, processID: 42, firstDescriptor: first)
    }

    @Test func `sockets come by name and are closed on exec`() throws {
        // Three neighbouring descriptors far from those of other tests.
        let source = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(source) }
        for descriptor in Int32(700)...702 { try #require(dup2(source, descriptor) == descriptor) }
        defer { for descriptor in Int32(700)...702 { close(descriptor) } }
        let variables = ["LISTEN_PID": "42", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "http:admin:http"]
        let found = sockets(variables, first: 700)
        #expect(found.byName == ["http": [700, 702], "admin": [701]])
        #expect(found["none"] == [])
        #expect((Int32(700)...702).allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        let unnamed = sockets(["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": ""], first: 700)
        #expect(unnamed.byName == ["unknown": [700, 701]])
    }

    @Test func `variables of another process, odd numbers and closed descriptors give no sockets`() {
        #expect(sockets(["LISTEN_PID": "43", "LISTEN_FDS": "1"], first: 0).byName.isEmpty)
        #expect(sockets(["LISTEN_FDS": "1"], first: 0).byName.isEmpty)
        #expect(sockets(["LISTEN_PID": "42", "LISTEN_FDS": "-1"], first: 0).byName.isEmpty)
        #expect(sockets(["LISTEN_PID": "42", "LISTEN_FDS": "9223372036854775807"], first: 100_000).byName.isEmpty)
    }

    @Test func `each signal is a call on the queue`() {
        let queue = DispatchQueue(label: "test.signals")
        let arrived = DispatchSemaphore(value: 0)
        let box = SignalRecord()
        let signals = ServiceSignals([.reload, .reopen], queue: queue) { signal in
            box.seen.withLock { $0.append(signal) }
            arrived.signal()
        }
        withExtendedLifetime(signals) {
            for signal in [SIGHUP, SIGUSR1, SIGHUP] {
                kill(getpid(), signal)
                arrived.wait()
            }
        }
        #expect(box.seen.withLock { $0 } == [.reload, .reopen, .reload])
    }
}

private final class SignalRecord: Sendable {
    let seen = Mutex<[ServiceSignal]>([])
}

/// A bound datagram socket.
private final class DatagramReceiver {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        if bytes.first == 0x40 { bytes[0] = 0 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw SystemFault(code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func next() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
