// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import HIDCrypto

/// A connection before its first request: PROXY header, then TLS handshake, then a carrier takes over.
///
/// Confined to its loop.
final class OpeningConnection: EventHandler, ConnectionMember {
    private enum Stage { case proxyHeader, handshake, done }

    private let descriptor: Int32
    private var endpoint: PeerEndpoint
    private let listener: Int
    private let settings: ListenerSettings
    private unowned let owner: ConnectionGroup
    private let loop: EventLoop
    private var stage: Stage
    private var session: TLSServerSession?
    private var registration: Registration?
    private var timer: LoopTimer?
    /// A client behind a PROXY header is counted once the header is read.
    private(set) var countedPeer: PeerAddress?

    init(
        descriptor: Int32, peer: PeerEndpoint, counted: PeerAddress?, listener: Int, settings: ListenerSettings,
        owner: ConnectionGroup
    ) {
        self.descriptor = descriptor
        endpoint = peer
        self.listener = listener
        self.settings = settings
        self.owner = owner
        loop = owner.loop
        stage = settings.expectsProxyHeader ? .proxyHeader : .handshake
        countedPeer = counted
    }

    func start() throws(SystemCallError) {
        registration = try loop.register(
            descriptor, events: hid_epoll_in | hid_epoll_out | hid_epoll_read_hangup, handler: self)
        timer = LoopTimer { [unowned self] in fail(.timeout) }
        if let timer { loop.set(timer, after: owner.settings.headerTimeout) }
    }

    /// A client that connects as the server drains gets a moment for its one request.
    func closeIfIdle() {
        if let timer { loop.set(timer, after: Delay(.seconds(1))) }
    }

    func cut() { end() }

    func handle(events: UInt32) {
        if events & (hid_epoll_error | hid_epoll_hangup) != 0 { return fail(.closed) }
        if stage == .proxyHeader {
            readProxyHeader()
            // The rest will not come.
            if stage == .proxyHeader, events & hid_epoll_read_hangup != 0 { return fail(.closed) }
        }
        if stage == .handshake { shakeHands() }
    }

    // MARK: - PROXY header

    /// Looks at what waits in the socket and takes exactly the header, so that TLS finds its own first octet.
    private func readProxyHeader() {
        switch SystemCall.peek(descriptor, into: &loop.scratch.bytes) {
        case .again: return
        case .endOfStream, .failed: return fail(.closed)
        case .bytes(let count):
            let octets = loop.scratch.bytes
            switch ProxyProtocol.parse(octets.span.extracting(0..<count)) {
            case .needMore: break
            case .bad: fail(.proxyHeader)
            case .complete(let header):
                guard SystemCall.discard(descriptor, header.count) else { return fail(.closed) }
                accept(header.connection?.source)
            }
        }
    }

    private func accept(_ source: PeerEndpoint?) {
        if let source {
            endpoint = source
            guard owner.count(source.address) else { return end() }
            countedPeer = source.address
        }
        stage = .handshake
    }

    // MARK: - TLS

    private func shakeHands() {
        guard let tls = settings.tls else { return handOver([]) }
        if session == nil {
            do throws(CryptoError) {
                session = try TLSServerSession(context: tls(), descriptor: descriptor)
            } catch {
                return fail(.handshake)
            }
        }
        guard let session else { return }
        switch session.receive(into: &loop.scratch.bytes) {
        case .again: if session.isEstablished { handOver([]) }
        case .bytes(let count): handOver(Array(loop.scratch.bytes[..<count]))
        case .endOfStream: fail(.closed)
        case .failed(let fault): fail(fault.reason == .closed ? .closed : .handshake, fault)
        }
    }

    // MARK: - Ends

    private func handOver(_ early: [UInt8]) {
        guard let registration else { return }
        stage = .done
        timer?.cancel()
        let transport = ServerTransport(descriptor: descriptor, tls: session)
        owner.opened(
            self,
            OpenedConnection(
                transport: transport, peer: endpoint, countedPeer: countedPeer, listener: listener,
                mayBeHTTP2: session == nil && settings.acceptsHTTP2, registration: registration, early: early))
    }

    private func fail(_ fault: OpeningFault, _ detail: TLSSessionFault? = nil) {
        guard stage != .done else { return }
        owner.openings.note(fault, detail)
        end()
    }

    private func end() {
        guard stage != .done else { return }
        stage = .done
        timer?.cancel()
        if let registration { loop.deregister(registration, descriptor, closing: true) }
        close(descriptor)
        owner.remove(self)
    }
}

/// What a carrier starts with.
struct OpenedConnection {
    let transport: ServerTransport
    let peer: PeerEndpoint
    /// The client its place is counted for.
    let countedPeer: PeerAddress?
    let listener: Int
    /// Whether the first octets decide between HTTP/1 and HTTP/2.
    var mayBeHTTP2 = false
    /// nil: not registered yet.
    var registration: Registration?
    /// Octets that were read already.
    var early: [UInt8] = []
}
