// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// One connection that the gateway made to a scripted upstream. Confined to its thread.
package final class UpstreamPeer {
    package let wire: Wire
    package let reader: MessageReader
    /// Which connection of the upstream this is, from 0 on.
    package let number: Int
    private let board: Monitor<ScriptedUpstream.Board>

    fileprivate init(_ wire: Wire, number: Int, board: Monitor<ScriptedUpstream.Board>) {
        self.wire = wire
        self.number = number
        self.board = board
        reader = MessageReader(wire)
    }

    /// Reads a request and records it; nil when the gateway closed the connection.
    package func request() throws -> HTTPMessage? {
        guard let request = try reader.request() else { return nil }
        note(request)
        return request
    }

    /// Reads a head alone and records it.
    package func requestHead() throws -> HTTPMessage? {
        guard let request = try reader.requestHead() else { return nil }
        note(request)
        return request
    }

    private func note(_ request: HTTPMessage) {
        board.withLock { $0.requests.append(request) }
    }

    package func send(_ text: String) throws { try wire.send(text) }
    package func send(_ bytes: [UInt8]) throws { try wire.send(bytes) }
}

/// An upstream on a port or unix socket. Each connection runs a script on a thread of its own; what a script throws
/// ends its connection.
package final class ScriptedUpstream: Sendable {
    package typealias Script = @Sendable (UpstreamPeer) throws -> Void

    fileprivate struct Board: Sendable {
        var requests: [HTTPMessage] = []
        var accepted = 0
        var ended = 0
        var isStopped = false
    }

    private let listener: Wire
    private let address: WireAddress
    private let board = Monitor(Board())
    private let live = Mutex<[Wire]>([])

    /// Starts listening.
    package init(
        on address: WireAddress = .port(0), receiveBuffer: Int32? = nil,
        _ script: @escaping Script = ScriptedUpstream.answering()
    ) throws {
        listener = try Wire.listen(on: address, receiveBuffer: receiveBuffer)
        switch address {
        case .port: self.address = .port(listener.port)
        case .loopback(let host, _): self.address = .loopback(host, listener.port)
        case .unix: self.address = address
        }
        Thread.detachNewThread { [listener, board, weak self] in
            var number = 0
            while !board.withLock({ $0.isStopped }) {
                guard let wire = listener.accept(Deadline(in: .milliseconds(200))) else { continue }
                guard let self else { return }
                self.serve(wire, number: number, script)
                number += 1
            }
        }
    }

    deinit { stop() }

    private func serve(_ wire: Wire, number: Int, _ script: @escaping Script) {
        live.withLock { $0.append(wire) }
        board.withLock { $0.accepted += 1 }
        Thread.detachNewThread { [board] in
            try? script(UpstreamPeer(wire, number: number, board: board))
            wire.close()
            board.withLock { $0.ended += 1 }
        }
    }

    /// Refuses further connections and ends those there are.
    package func stop() {
        board.withLock { $0.isStopped = true }
        listener.shutDown()
        for wire in live.withLock({ $0 }) { wire.shutDown() }
    }

    /// As it stands in a configuration.
    package var url: String {
        switch address {
        case .port(let port): "http://127.0.0.1:\(port)"
        case .loopback(let host, let port): "http://127.0.0.\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Of TCP; 0 on a unix socket.
    package var port: UInt16 {
        switch address {
        case .port(let port), .loopback(_, let port): port
        case .unix: 0
        }
    }

    /// Requests read so far.
    package var requests: [HTTPMessage] { board.withLock { $0.requests } }
    /// Connections accepted so far.
    package var accepted: Int { board.withLock { $0.accepted } }

    /// The requests, once there are that many; fewer when the deadline has passed.
    package func requests(_ count: Int, within time: Duration = .seconds(20)) -> [HTTPMessage] {
        _ = board.wait(Deadline(in: time)) { $0.requests.count >= count ? true : nil }
        return requests
    }

    /// Whether that many connections came and are over.
    package func hasEnded(_ count: Int, within time: Duration = .seconds(20)) -> Bool {
        board.wait(Deadline(in: time)) { $0.ended >= count ? true : nil } ?? false
    }

    // MARK: - Scripts

    /// Answers every request of a connection.
    package static func answering(
        _ answer: @escaping @Sendable (HTTPMessage) -> String = { _ in ok("ok") }
    ) -> Script {
        { peer in
            while let request = try peer.request() { try peer.send(answer(request)) }
        }
    }

    /// 200 with a body.
    package static func ok(_ body: String, fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
