// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HIDCrypto

/// Makes the application side of each new stream.
///
/// Called on the connection's loop.
package protocol ServerHandlerFactory: AnyObject {
    func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler
}

/// A connection of whatever kind, as its group knows it.
protocol ConnectionMember: AnyObject {
    /// The client its place is counted for; nil for one that is not capped.
    var countedPeer: PeerAddress? { get }
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
    /// Connections refused because a limit was reached, by cause.
    package let refused = RefusalCounts()

    /// How often HTTP/2 streams and connections were cut, by cause.
    package let http2Faults = HTTP2FaultCounts()
    /// Told of each cut of an HTTP/2 stream or connection: its name, whose it was, and the position of the listener.
    package var onHTTP2Fault: ((HTTP2Fault, PeerEndpoint, Int) -> Void)?

    /// What new connections obey; the delay in the queue holds for all.
    private(set) var settings: ServerSettings
    private let budget: ConnectionBudget
    let factory: any ServerHandlerFactory
    /// Connections that ended before their first request could, by cause.
    package let openings = OpeningCounts()
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

    /// Obeys other settings from now on: the queue at once, connections that are open as they began.
    package func adopt(_ settings: ServerSettings) {
        self.settings = settings
    }

    /// Connections of this loop.
    package var count: Int { connections.count }

    /// Starts accepting from a bound socket; the group owns the descriptor from now on.
    package func listen(
        on socket: ListeningSocket, listener: Int, settings: ListenerSettings = ListenerSettings()
    ) throws(SystemCallError) {
        let acceptor = Acceptor(
            descriptor: socket.descriptor, group: self, listener: listener, settings: settings)
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

    func remove(_ connection: any ConnectionMember) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        budget.giveBack(connection.countedPeer)
        if isDraining, connections.isEmpty { loop.afterEvents { [weak self] in self?.finishDrain() } }
    }

    /// Takes a fresh socket in, or refuses it.
    func accepted(_ descriptor: Int32, from peer: PeerEndpoint, listener: Int, settings: ListenerSettings) {
        guard descriptor < self.settings.descriptorCeiling else { return refuse(descriptor, .descriptors, settings) }
        guard !loop.buffers.isExhausted else { return refuse(descriptor, .buffered, settings) }
        guard budget.take() else { return refuse(descriptor, .connections, settings) }
        if settings.expectsProxyHeader, !settings.maySendProxyHeader(peer.address) {
            openings.note(.proxyUntrusted)
            budget.giveBack(nil)
            close(descriptor)
            return
        }
        let isCapped = !settings.expectsProxyHeader && !peer.address.isLocal && !settings.isTrusted(peer.address)
        if isCapped, !budget.count(peer.address) {
            budget.giveBack(nil)
            return refuse(descriptor, .perClient, settings)
        }
        let counted = isCapped ? peer.address : nil
        if settings.tls != nil || settings.expectsProxyHeader {
            open(descriptor, peer, counted, listener, settings)
        } else {
            let transport = ServerTransport(descriptor: descriptor)
            carry(
                OpenedConnection(
                    transport: transport, peer: peer, countedPeer: counted, listener: listener,
                    mayBeHTTP2: settings.acceptsHTTP2))
        }
    }

    private func open(
        _ descriptor: Int32, _ peer: PeerEndpoint, _ counted: PeerAddress?, _ listener: Int,
        _ settings: ListenerSettings
    ) {
        let opening = OpeningConnection(
            descriptor: descriptor, peer: peer, counted: counted, listener: listener, settings: settings, owner: self)
        connections[ObjectIdentifier(opening)] = opening
        do throws(SystemCallError) { try opening.start() } catch { opening.cut() }
    }

    /// Counts the client that a PROXY header names; false when it has all the connections it may have.
    func count(_ peer: PeerAddress) -> Bool {
        guard budget.count(peer) else {
            refused.note(.perClient)
            return false
        }
        return true
    }

    /// Replaces a connection that has opened by what carries its requests.
    func opened(_ opening: OpeningConnection, _ connection: OpenedConnection) {
        connections[ObjectIdentifier(opening)] = nil
        if connection.transport.tls?.applicationProtocol == .http2 { carryHTTP2(connection) } else { carry(connection) }
    }

    /// Goes on with a connection whose first octets were those of HTTP/2.
    func becameHTTP2(_ first: HTTP1Connection, _ connection: OpenedConnection) {
        connections[ObjectIdentifier(first)] = nil
        carryHTTP2(connection)
    }

    func carryHTTP2(_ opened: OpenedConnection) {
        let connection: HTTP2Connection
        do throws(HTTP2Fault) {
            connection = try HTTP2Connection(opened, owner: self)
        } catch {
            if let registration = opened.registration {
                loop.deregister(registration, opened.transport.descriptor, closing: true)
            }
            opened.transport.close()
            return budget.giveBack(opened.countedPeer)
        }
        connections[ObjectIdentifier(connection)] = connection
        do throws(SystemCallError) {
            try connection.start()
        } catch {
            return connection.cut()
        }
        if isDraining { connection.closeIfIdle() }
    }

    private func carry(_ opened: OpenedConnection) {
        let stream = ServerStream(
            loop: loop, peer: opened.peer, listener: opened.listener, isHTTP2: false,
            security: opened.transport.tls.flatMap { ConnectionSecurity($0) })
        let handler = factory.makeHandler(loop: loop, listener: opened.listener)
        let connection = HTTP1Connection(opened, stream: stream, owner: self, handler: handler)
        connections[ObjectIdentifier(connection)] = connection
        do throws(SystemCallError) {
            try connection.start(opened)
        } catch {
            connection.cut()
        }
    }

    private func refuse(_ descriptor: Int32, _ cause: RefusalCause, _ settings: ListenerSettings) {
        refused.note(cause)
        // A client of TLS could not read it.
        if settings.tls == nil { sendBusy(descriptor) }
        close(descriptor)
    }

    /// Best effort: one write that fits any fresh socket buffer.
    private func sendBusy(_ descriptor: Int32) {
        let answer = Array(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        _ = SystemCall.send(descriptor, answer, from: 0)
    }
}
