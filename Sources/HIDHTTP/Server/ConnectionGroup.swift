// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
package import Synchronization

/// Makes the application side of each new stream.
///
/// Called on the connection's loop.
package protocol ServerHandlerFactory: AnyObject {
    func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler
}

/// How many connections all loops of a server hold, and how many they may.
package final class ConnectionBudget: Sendable {
    private let open = Atomic<Int>(0)
    private let perClient = Mutex<[PeerAddress: Int]>([:])
    private let limit: Int
    private let limitPerClient: Int

    package init(limit: Int, limitPerClient: Int) {
        self.limit = limit
        self.limitPerClient = limitPerClient
    }

    /// Connections open now.
    ///
    /// Any thread.
    package var count: Int { open.load(ordering: .relaxed) }

    /// Takes a place for a client; false when all, or all of that client's, are taken.
    func take(_ peer: PeerAddress) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= limit else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        let fits =
            peer.isLocal
            || perClient.withLock { counts in
                let count = counts[peer, default: 0]
                guard count < limitPerClient else { return false }
                counts[peer] = count + 1
                return true
            }
        if !fits { open.subtract(1, ordering: .relaxed) }
        return fits
    }

    func giveBack(_ peer: PeerAddress) {
        open.subtract(1, ordering: .relaxed)
        guard !peer.isLocal else { return }
        perClient.withLock { counts in
            guard let count = counts[peer] else { return }
            counts[peer] = count > 1 ? count - 1 : nil
        }
    }
}

/// A connection of whatever kind, as its group knows it.
protocol ConnectionMember: AnyObject {
    /// The client its place is counted for.
    var peer: PeerAddress { get }
    /// Ends the connection if nothing is under way, or as soon as nothing is: the server drains.
    func closeIfIdle()
    /// Ends the connection now.
    func cut()
}

/// The listeners and connections of one loop.
///
/// Confined to it.
package final class ConnectionGroup {
    package let loop: EventLoop
    /// Set when the server drains: answers announce the close, idle connections end.
    package private(set) var isDraining = false
    /// Connections refused because a limit was reached.
    package let refused = Atomic<Int>(0)
    /// Told of each cut of an HTTP/2 stream or connection: its name, whose it was, and the position of the listener.
    package var onHTTP2Fault: ((HTTP2Fault, PeerEndpoint, Int) -> Void)?

    let settings: ServerSettings
    private let budget: ConnectionBudget
    let factory: any ServerHandlerFactory
    private var connections: [ObjectIdentifier: any ConnectionMember] = [:]
    private var acceptors: [Acceptor] = []
    private var onEmpty: (() -> Void)?

    package init(
        loop: EventLoop, settings: ServerSettings, budget: ConnectionBudget, factory: any ServerHandlerFactory
    ) {
        self.loop = loop
        self.settings = settings
        self.budget = budget
        self.factory = factory
    }

    /// Connections of this loop.
    package var count: Int { connections.count }

    /// Starts accepting from a bound socket; the group owns the descriptor from now on.
    package func listen(on socket: ListeningSocket, listener: Int) throws(SystemCallError) {
        let acceptor = Acceptor(descriptor: socket.descriptor, group: self, listener: listener)
        try acceptor.start()
        acceptors.append(acceptor)
    }

    /// Stops accepting, closes what is idle and calls `whenEmpty` once nothing is left.
    package func drain(whenEmpty: @escaping () -> Void) {
        isDraining = true
        onEmpty = whenEmpty
        for acceptor in acceptors { acceptor.stop() }
        acceptors = []
        for connection in connections.values { connection.closeIfIdle() }
        if connections.isEmpty { finishDrain() }
    }

    /// Cuts what is left.
    ///
    /// Returns how many connections that were.
    package func cut() -> Int {
        let rest = Array(connections.values)
        for connection in rest { connection.cut() }
        return rest.count
    }

    private func finishDrain() {
        let done = onEmpty
        onEmpty = nil
        done?()
    }

    /// Gives back the place of a connection that never began.
    func giveBack(_ peer: PeerAddress) {
        budget.giveBack(peer)
    }

    /// Keeps a connection whose place in the budget is taken.
    func add(_ connection: any ConnectionMember) {
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: any ConnectionMember) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        budget.giveBack(connection.peer)
        if isDraining, connections.isEmpty { loop.afterEvents { [weak self] in self?.finishDrain() } }
    }

    func accepted(_ descriptor: Int32, from peer: PeerEndpoint, listener: Int) {
        guard budget.take(peer.address) else {
            refused.add(1, ordering: .relaxed)
            sendBusy(descriptor)
            close(descriptor)
            return
        }
        let stream = ServerStream(loop: loop, peer: peer, listener: listener, isHTTP2: false)
        let handler = factory.makeHandler(loop: loop, listener: listener)
        let connection = HTTP1Connection(
            transport: ServerTransport(descriptor: descriptor), stream: stream, owner: self, handler: handler)
        connections[ObjectIdentifier(connection)] = connection
        do throws(SystemCallError) {
            try connection.start()
        } catch {
            connection.cut()
        }
    }

    /// Best effort: one write that fits any fresh socket buffer.
    private func sendBusy(_ descriptor: Int32) {
        let answer = Array(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        _ = SystemCall.send(descriptor, answer, from: 0)
    }
}

/// Accepts the connections of one listening socket on one loop.
final class Acceptor: EventHandler {
    private let descriptor: Int32
    private unowned let group: ConnectionGroup
    private let listener: Int
    private var registration: Registration?
    private var pause: LoopTimer?

    /// Accepts in one turn before other events get theirs.
    private static let batch = 64
    /// How long accepting pauses when descriptors run out: long enough not to spin, short enough not to be noticed.
    private static let pauseTime = Delay(.milliseconds(100))

    init(descriptor: Int32, group: ConnectionGroup, listener: Int) {
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
                if error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM { suspend() }
                return
            }
            if storage.ss_family != sa_family_t(AF_UNIX) { setNoDelay(client) }
            group.accepted(client, from: PeerEndpoint(storage), listener: listener)
        }
    }

    private func setNoDelay(_ client: Int32) {
        var one: Int32 = 1
        unsafe setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    private func suspend() {
        guard let registration, let pause else { return }
        group.loop.modify(registration, descriptor, events: 0)
        group.loop.set(pause, after: Self.pauseTime)
    }

    private func resume() {
        guard let registration else { return }
        group.loop.modify(registration, descriptor, events: hid_epoll_in)
    }
}
