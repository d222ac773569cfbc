// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How octets reach an accepted socket.
struct ServerTransport {
    let descriptor: Int32

    /// Whether a read that brings less than the whole buffer has emptied the socket.
    var shortReadIsLast: Bool { true }

    func receive(into buffer: inout [UInt8]) -> IOResult {
        SystemCall.receive(descriptor, into: &buffer)
    }

    func send(_ bytes: [UInt8], from offset: Int) -> IOResult {
        SystemCall.send(descriptor, bytes, from: offset)
    }

    /// Tells the peer that nothing more comes; it may still send.
    func closeWrite() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        Glibc.close(descriptor)
    }
}
