// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HIDCrypto

/// How octets reach an accepted socket: as they are, or through TLS.
struct ServerTransport {
    let descriptor: Int32
    let tls: TLSServerSession?

    init(descriptor: Int32, tls: TLSServerSession? = nil) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// Whether a read that brings less than the whole buffer has emptied the socket; TLS gives a record at a time.
    var shortReadIsLast: Bool { tls == nil }

    /// Whether a read may go on with an edge of the other direction: TLS writes to read, and reads to write.
    var mixesDirections: Bool { tls.map { $0.receiveWaitsForWriting || $0.sendWaitsForReading } ?? false }

    func receive(into buffer: inout [UInt8]) -> IOResult {
        guard let tls else { return SystemCall.receive(descriptor, into: &buffer) }
        switch tls.receive(into: &buffer) {
        case .bytes(let count): return .bytes(count)
        case .again: return .again
        case .endOfStream: return .endOfStream
        case .failed: return .failed(EPROTO)
        }
    }

    func send(_ bytes: [UInt8], from offset: Int) -> IOResult {
        guard let tls else { return SystemCall.send(descriptor, bytes, from: offset) }
        switch tls.send(bytes, from: offset) {
        case .bytes(let count): return .bytes(count)
        case .again: return .again
        case .endOfStream, .failed: return .failed(EPROTO)
        }
    }

    /// Tells the peer that nothing more comes; it may still send.
    func closeWrite() {
        _ = tls?.closeWrite()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Ends the connection; one that is `cut` without the close_notify that would make a part look like a whole
    /// (RFC 8446 section 6.1).
    func close(cut: Bool = false) {
        if !cut { _ = tls?.closeWrite() }
        Glibc.close(descriptor)
    }
}
