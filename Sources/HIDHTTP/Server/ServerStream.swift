// SPDX-License-Identifier: Apache-2.0

/// The version of HTTP that carried a request.
package enum HTTPVersion: Sendable, Equatable {
    case http10
    case http11
    case http2
}

/// One request and its answer as the application sees them, whatever version of HTTP carries them.
///
/// An HTTP/1 connection has one stream and uses it again for each exchange. Confined to the loop of its connection.
package final class ServerStream {
    package let loop: EventLoop
    /// The client's end of the connection: the socket's, or what a PROXY header says.
    package let peer: PeerEndpoint
    /// Position of the listener in the configuration.
    package let listener: Int
    /// nil for a connection without TLS.
    package let security: ConnectionSecurity?
    /// Whether the connection came by HTTP/2.
    package let isHTTP2: Bool
    /// The head of the request under way.
    package internal(set) var request = RequestHead()
    /// The trailer section of a complete request: field lines as octets, each with its CRLF.
    package internal(set) var trailers: [UInt8] = []
    /// Octets received and sent for the exchange under way, heads and framing included.
    package internal(set) var bytesIn = 0
    package internal(set) var bytesOut = 0
    /// When the first octet of the request under way came, on the loop's monotonic clock.
    package internal(set) var requestStart: UInt64 = 0
    /// Whether content is held back; the client notices by its window.
    package private(set) var isPaused = false
    /// Whether the client takes the answer more slowly than it comes.
    package internal(set) var isBackedUp = false

    /// nil once the connection is gone: from then on every call here does nothing.
    var carrier: (any StreamCarrier)?

    init(
        loop: EventLoop, peer: PeerEndpoint, listener: Int, isHTTP2: Bool, security: ConnectionSecurity? = nil
    ) {
        self.security = security
        self.loop = loop
        self.peer = peer
        self.listener = listener
        self.isHTTP2 = isHTTP2
    }

    /// The version of HTTP the request came by.
    package var version: HTTPVersion { isHTTP2 ? .http2 : request.minorVersion == 0 ? .http10 : .http11 }

    /// Where the connection was accepted; a local address once it is gone.
    package var localEndpoint: PeerEndpoint {
        carrier.map { SystemCall.localEndpoint(of: $0.transport.descriptor) } ?? PeerEndpoint(address: .local, port: 0)
    }

    /// Stops delivering content until `resumeContent`; used while the upstream is slow.
    package func pauseContent() {
        isPaused = true
    }

    /// Goes on delivering content after the events at hand.
    package func resumeContent() {
        guard isPaused else { return }
        isPaused = false
        carrier?.contentResumed(self)
    }

    /// Sends an interim answer, 100 or 103.
    ///
    /// Nothing is sent once the answer proper has begun.
    package func sendInterim(status: Int, fields: (inout [UInt8]) -> Void = { _ in }) {
        carrier?.sendInterim(self, status: status, fields: fields)
    }

    /// Begins the answer.
    ///
    /// `fields` appends every field line but the framing and Connection ones.
    package func startResponse(
        status: Int, framing: ResponseFraming, closing: Bool = false, fields: (inout [UInt8]) -> Void
    ) {
        carrier?.startResponse(self, status: status, framing: framing, closing: closing, fields: fields)
    }

    /// Writes content octets of the answer, or octets of a tunnel.
    package func writeContent(_ content: Span<UInt8>) {
        carrier?.writeContent(self, content)
    }

    /// Completes the answer.
    ///
    /// `trailers` are field lines as octets; where the framing has no place for them they are left out.
    package func endResponse(trailers: [UInt8] = []) {
        carrier?.endResponse(self, trailers: trailers)
    }

    /// Answers 101: what the client sends from now on comes as content, and `writeContent` sends octets as they are.
    ///
    /// HTTP/1.1 only (RFC 9110 section 7.8). `idle` ends the tunnel when nothing has passed for so long.
    package func switchProtocols(idle: Delay, fields: (inout [UInt8]) -> Void) {
        carrier?.switchProtocols(self, idle: idle, fields: fields)
    }

    /// Cuts the answer: the client must see that it is incomplete.
    package func abort() {
        carrier?.abort(self)
    }

    /// Makes the stream ready for the next request of its connection.
    func recycle() {
        request.reset()
        request.trim()
        if !trailers.isEmpty { trailers = [] }
        bytesOut = 0
        isPaused = false
    }

    /// Lets content flow again without telling the carrier, which is about to read anyway.
    func clearPause() {
        isPaused = false
    }
}

/// What carries streams: an HTTP/1 connection, or one of HTTP/2.
protocol StreamCarrier: AnyObject {
    var transport: ServerTransport { get }
    func sendInterim(_ stream: ServerStream, status: Int, fields: (inout [UInt8]) -> Void)
    func startResponse(
        _ stream: ServerStream, status: Int, framing: ResponseFraming, closing: Bool, fields: (inout [UInt8]) -> Void)
    func writeContent(_ stream: ServerStream, _ content: Span<UInt8>)
    func endResponse(_ stream: ServerStream, trailers: [UInt8])
    func switchProtocols(_ stream: ServerStream, idle: Delay, fields: (inout [UInt8]) -> Void)
    func abort(_ stream: ServerStream)
    func contentResumed(_ stream: ServerStream)
}
