// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// Accepts the connections of one listening socket on one loop.
final class Acceptor: EventHandler {
    private let descriptor: Int32
    private unowned let group: ConnectionGroup
    private let listener: Int
    private let settings: ListenerSettings
    private var registration: Registration?
    private var pause: LoopTimer?

    /// Accepts in one turn before other events get theirs.
    private static let batch = 16
    /// How long accepting pauses when descriptors run out: long enough not to spin, short enough not to be noticed.
    private static let pauseTime = Delay(.milliseconds(100))
    /// How long it pauses while the loop is behind: whoever waits in the kernel costs nothing.
    private static let backlogPause = Delay(.milliseconds(20))

    init(descriptor: Int32, group: ConnectionGroup, listener: Int, settings: ListenerSettings) {
        self.settings = settings
        self.descriptor = descriptor
        self.group = group
        self.listener = listener
    }

    func start() throws(SystemCallError) {
        registration = try group.loop.register(descriptor, events: hid_epoll_in, level: true, handler: self)
        pause = LoopTimer { [unowned self] in resume() }
    }

    func stop() {
        pause?.cancel()
        if let registration { group.loop.deregister(registration, descriptor) }
        registration = nil
        close(descriptor)
    }

    func handle(events: UInt32) {
        // Half of it: whoever is let in waits as long again as those before.
        guard group.loop.backlog.delay <= group.settings.queueDelay.nanoseconds / 2 else {
            return suspend(Self.backlogPause)
        }
        for _ in 0..<Self.batch {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let (client, error) = SystemCall.retrying {
                unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                        unsafe accept4(descriptor, address, &length, hid_accept_flags)
                    }
                }
            }
            guard client >= 0 else {
                // A client that is gone before it was accepted is no reason to stop; exhaustion is.
                if error == ECONNABORTED || error == EPROTO { continue }
                if error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM {
                    suspend(Self.pauseTime)
                }
                return
            }
            if group.loop.isCrowded, hasLeft(client) {
                close(client)
                continue
            }
            if storage.ss_family != sa_family_t(AF_UNIX) { setNoDelay(client) }
            group.accepted(client, from: PeerEndpoint(storage), listener: listener, settings: settings)
        }
    }

    /// Whether a client that waited in the kernel has given up: nothing of it is worth the time of those who have not.
    private func hasLeft(_ client: Int32) -> Bool {
        var entry = pollfd(fd: client, events: Int16(bitPattern: UInt16(hid_epoll_read_hangup)), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    private func setNoDelay(_ client: Int32) {
        var one: Int32 = 1
        unsafe setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    private func suspend(_ time: Delay) {
        guard let registration, let pause else { return }
        group.loop.modify(registration, descriptor, events: 0)
        group.loop.set(pause, after: time)
    }

    private func resume() {
        guard let registration else { return }
        group.loop.modify(registration, descriptor, events: hid_epoll_in)
    }
}
