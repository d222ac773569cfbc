// SPDX-License-Identifier: Apache-2.0

/// A client that sends what it is told, octet for octet.
package final class RawClient {
    package let wire: Wire
    private let reader: MessageReader

    /// Dials.
    package init(_ address: WireAddress, receiveBuffer: Int32? = nil) throws {
        wire = try Wire.connect(to: address, receiveBuffer: receiveBuffer)
        reader = MessageReader(wire)
    }

    package func send(_ text: String) throws { try wire.send(text) }
    package func send(_ bytes: [UInt8]) throws { try wire.send(bytes) }

    /// The next answer; nil when the connection ended instead.
    package func response(isHead: Bool = false, within time: Duration = .seconds(20)) throws -> HTTPMessage? {
        try reader.response(isHead: isHead, Deadline(in: time))
    }

    /// The next head of an answer, interim ones included.
    package func responseHead(within time: Duration = .seconds(20)) throws -> HTTPMessage? {
        try reader.responseHead(Deadline(in: time))
    }

    /// What came behind the last answer, or comes next; empty at the end of the stream.
    package func octets(within time: Duration = .seconds(20)) throws -> [UInt8] {
        try reader.octets(Deadline(in: time))
    }

    /// Sends and reads one answer.
    package func exchange(_ bytes: [UInt8], isHead: Bool = false) throws -> HTTPMessage? {
        try send(bytes)
        return try response(isHead: isHead)
    }

    package func exchange(_ text: String, isHead: Bool = false) throws -> HTTPMessage? {
        try exchange(Array(text.utf8), isHead: isHead)
    }

    /// Whether the server ended the connection without another octet.
    package func isClosed(within time: Duration = .seconds(20)) -> Bool {
        guard reader.buffer.isEmpty else { return false }
        do {
            return try wire.receive(Deadline(in: time)).isEmpty
        } catch WireError.reset {
            return true
        } catch {
            return false
        }
    }
}
