// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

extension ServerConnection {
    /// The peer's port; 0 on a unix socket.
    package var peerPort: UInt16 { SystemCall.address(of: descriptor, peer: true).port }

    /// Where the connection was accepted.
    package var localAddress: (address: PeerAddress, port: UInt16) {
        SystemCall.address(of: descriptor, peer: false)
    }
}

extension SystemCall {
    /// The address of one end of a socket.
    static func address(of descriptor: Int32, peer: Bool) -> (address: PeerAddress, port: UInt16) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe peer ? getpeername(descriptor, $0, &length) : getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { return (.local, 0) }
        let address = PeerAddress(storage)
        guard !address.isLocal else { return (.local, 0) }
        // The port stands at the same place for both families.
        let port = unsafe withUnsafeBytes(of: storage) { unsafe $0.load(fromByteOffset: 2, as: UInt16.self) }
        return (address, UInt16(bigEndian: port))
    }
}
