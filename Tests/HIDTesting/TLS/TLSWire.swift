// SPDX-License-Identifier: Apache-2.0

/// A TLS connection over a socket.
package final class TLSWire: ByteLink {
    package let wire: Wire
    package let client: TLSTestClient

    /// Dials and shakes hands; `before` goes out in front, in one segment with the ClientHello.
    package init(
        _ address: WireAddress, _ options: TLSTestClient.Options = .init(), before: [UInt8] = [],
        receiveBuffer: Int32? = nil, _ deadline: Deadline = Deadline()
    ) throws {
        wire = try Wire.connect(to: address, receiveBuffer: receiveBuffer)
        client = try TLSTestClient(options)
        var first = before
        while true {
            let outcome = client.shake()
            let octets = first + client.takeOutput()
            first = []
            if !octets.isEmpty { try wire.send(octets, deadline) }
            switch outcome {
            case .done: return
            case .again: try take(deadline)
            case .ended: throw WireError.malformed("TLS ended in the handshake")
            case .failed(let reason): throw WireError.malformed("TLS: \(reason)")
            }
        }
    }

    private func take(_ deadline: Deadline) throws {
        let octets = try wire.receive(deadline)
        if octets.isEmpty { throw WireError.malformed("the connection ended in the handshake") }
        client.give(octets)
    }

    package func send(_ bytes: [UInt8], _ deadline: Deadline) throws {
        guard !bytes.isEmpty else { return }
        guard case .done = client.write(bytes) else { throw WireError.malformed("TLS write") }
        while true {
            let octets = client.takeOutput()
            if octets.isEmpty { return }
            try wire.send(octets, deadline)
        }
    }

    /// Sends so many octets of the records that this text becomes, and no more.
    package func sendCut(_ bytes: [UInt8], _ count: Int) throws {
        _ = client.write(bytes)
        try wire.send(Array(client.takeOutput().prefix(count)))
    }

    /// `limit` is of what comes from the socket at a time.
    package func receive(limit: Int, _ deadline: Deadline) throws -> [UInt8] {
        while true {
            let (bytes, outcome) = client.read()
            if !bytes.isEmpty { return bytes }
            switch outcome {
            case .ended: return []
            case .failed(let reason): throw WireError.malformed("TLS: \(reason)")
            case .done, .again: break
            }
            let octets = try wire.receive(limit: limit, deadline)
            if octets.isEmpty { throw WireError.malformed("TLS was cut off") }
            client.give(octets)
            // Of TLS 1.3 a reader may have something to say.
            let own = client.takeOutput()
            if !own.isEmpty { try wire.send(own, deadline) }
        }
    }

    /// close_notify, then the end of our stream.
    package func halfClose() throws {
        client.close()
        try wire.send(client.takeOutput())
        wire.halfClose()
    }
}

/// A client of HTTP/1 over any connection.
package final class LinkClient {
    package let link: any ByteLink
    private let reader: MessageReader

    package init(_ link: any ByteLink) {
        self.link = link
        reader = MessageReader(link)
    }

    /// The next answer; nil when the connection ended instead.
    package func response(isHead: Bool = false, within time: Duration = .seconds(20)) throws -> HTTPMessage? {
        try reader.response(isHead: isHead, Deadline(in: time))
    }

    package func send(_ bytes: [UInt8]) throws { try link.send(bytes) }

    /// Sends and reads one answer.
    package func exchange(_ bytes: [UInt8], isHead: Bool = false) throws -> HTTPMessage? {
        try link.send(bytes)
        return try response(isHead: isHead)
    }

    package func exchange(_ text: String) throws -> HTTPMessage? { try exchange(Array(text.utf8)) }
}
