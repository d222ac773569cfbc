// SPDX-License-Identifier: Apache-2.0
import Glibc
import HIDCrypto
import HIDTesting
import Synchronization
import Testing

/// A client and a server session over a pair of sockets, moved step by step.
final class TLSLink {
    let client: TLSTestClient
    let server: TLSServerSession
    /// The client's end; the server's is `descriptor`.
    private(set) var clientEnd: Int32
    let descriptor: Int32
    var buffer = [UInt8](repeating: 0, count: 16_384)
    /// What the server has received.
    var received: [UInt8] = []
    /// What the client has decrypted.
    var answered: [UInt8] = []
    /// The last result of the server that was not octets.
    var last = TLSResult.again

    init(_ context: TLSServerContext, _ options: TLSTestClient.Options = .init(), socketBuffer: Int32? = nil) throws {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        try #require(unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0)
        (clientEnd, descriptor) = (ends[0], ends[1])
        if var size = socketBuffer {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
        }
        client = try TLSTestClient(options)
        server = try TLSServerSession(context: context, descriptor: descriptor)
    }

    deinit {
        closeClient()
        close(descriptor)
    }

    func closeClient() {
        if clientEnd >= 0 { close(clientEnd) }
        clientEnd = -1
    }

    /// Ends the client's stream without close_notify; the other direction stays.
    func halfClose() { shutdown(clientEnd, Int32(SHUT_WR)) }

    /// Puts octets on the wire to the server.
    func wire(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe send(
                    clientEnd, $0.baseAddress.map { unsafe $0 + offset }, $0.count - offset, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                // The server has to take some first.
                guard errno == EAGAIN, serve() else { return }
                continue
            }
            offset += count
        }
    }

    /// Gives the server's octets to the client; false when there were none.
    @discardableResult
    func carry(limit: Int = 65_536) -> Bool {
        var chunk = [UInt8](repeating: 0, count: limit)
        var isMoved = false
        while true {
            let count = unsafe recv(clientEnd, &chunk, limit, 0)
            guard count > 0 else { return isMoved }
            client.give(Array(chunk.prefix(count)))
            isMoved = true
        }
    }

    /// Lets the server read until it must wait; false when it got nothing.
    @discardableResult
    func serve() -> Bool {
        var isMoved = false
        while true {
            last = server.receive(into: &buffer)
            guard case .bytes(let count) = last else { return isMoved }
            received += buffer[..<count]
            isMoved = true
        }
    }

    /// Runs the handshake to its end or its failure.
    ///
    /// - Parameter piece: Octets that go over the wire at a time.
    @discardableResult
    func shake(piece: Int = .max) -> TLSTestClient.Outcome {
        var outcome = TLSTestClient.Outcome.again
        for _ in 0..<40 {
            outcome = client.shake()
            let bytes = client.takeOutput()
            for start in stride(from: 0, to: bytes.count, by: piece) {
                wire(Array(bytes[start..<min(bytes.count, piece == .max ? bytes.count : start + piece)]))
                serve()
            }
            serve()
            let isMoved = carry()
            if case .failed = outcome { break }
            if outcome == .done, server.isEstablished { break }
            if case .failed = last, !isMoved { break }
        }
        // Tickets of TLS 1.3 and late alerts come after the handshake.
        let (bytes, rest) = client.read()
        answered += bytes
        if outcome == .done, case .failed = rest { outcome = rest }
        return outcome
    }

    /// Sends all from the server to the client.
    func answer(_ bytes: [UInt8]) -> TLSResult {
        var offset = 0
        while offset < bytes.count {
            switch server.send(bytes, from: offset) {
            case .bytes(let count): offset += count
            case .again:
                guard carry() else { return .again }
                answered += client.read().bytes
            case let other: return other
            }
        }
        carry()
        answered += client.read().bytes
        return .bytes(offset)
    }

    /// Sends from the client to the server.
    func ask(_ bytes: [UInt8]) {
        _ = client.write(bytes)
        wire(client.takeOutput())
        serve()
    }
}

/// What TLS tests share: making keys for each would be slow.
enum TLSFixture {
    static let root = Result { try TLSTestAuthority("Server Root") }
    static let clientRoot = Result { try TLSTestAuthority("Client Root") }
    static let otherClientRoot = Result { try TLSTestAuthority("Other Client Root") }
    static let main = Result { try root.get().server(["main.example"]) }
    static let api = Result { try root.get().server(["api.example.com"]) }
    static let wildcard = Result { try root.get().server(["*.example.com"]) }
    static let phone = Result { try clientRoot.get().client("phone") }

    static let now: Int64 = 1_800_000_000

    static func tickets() throws -> TLSTicketKeys { try TLSTicketKeys { 0 } }

    /// Default identity, an exact name, a wildcard.
    static func settings() throws -> TLSServerSettings {
        var settings = TLSServerSettings(identity: try main.get().identity)
        settings.named = [
            TLSNamedIdentity(names: ["api.example.com"], identity: try api.get().identity),
            TLSNamedIdentity(names: ["*.example.com"], identity: try wildcard.get().identity),
        ]
        settings.protocols = [.http2, .http1]
        return settings
    }

    static func context(
        _ tickets: TLSTicketKeys? = nil, now: Int64 = now, _ change: (inout TLSServerSettings) throws -> Void = { _ in }
    ) throws -> TLSServerContext {
        var settings = try settings()
        try change(&settings)
        return try TLSServerContext(settings, tickets: tickets ?? Self.tickets()) { now }
    }

    static func options(_ change: (inout TLSTestClient.Options) throws -> Void) rethrows -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        try change(&options)
        return options
    }
}

/// A clock that a test moves.
final class SecondsClock: Sendable {
    private let seconds: Mutex<Int64>

    init(_ start: Int64) { seconds = Mutex(start) }

    var now: Int64 { seconds.withLock { $0 } }

    func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}
