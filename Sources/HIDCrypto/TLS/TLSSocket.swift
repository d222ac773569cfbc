// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
internal import Glibc

/// The socket below a TLS session: what OpenSSL reads and writes goes through here.
///
/// OpenSSL's own socket layer would write without MSG_NOSIGNAL, and would end the write side together with the read
/// side when a client closes without close_notify. Confined to the loop of its session.
final class TLSSocket {
    let descriptor: Int32
    /// The peer has ended its stream of octets.
    private(set) var isAtEnd = false
    /// errno of the call that failed; 0 for none.
    private(set) var error: Int32 = 0
    /// Octets read so far.
    private(set) var received = 0

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// A new BIO over the socket, which must outlive it; nil without memory.
    @safe func makeBIO() -> OpaquePointer? {
        guard let method = unsafe Self.method.pointer, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    private func read(_ buffer: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        while true {
            let result = unsafe recv(descriptor, buffer, count, 0)
            if result > 0 {
                received &+= result
                return result
            }
            if result == 0 {
                isAtEnd = true
                return 0
            }
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN { return -1 }
            error = code
            return 0
        }
    }

    private func write(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> Int {
        while true {
            let result = unsafe send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
            if result >= 0 { return result }
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN { return -1 }
            error = code
            return 0
        }
    }

    // MARK: - The BIO's methods

    /// One BIO_METHOD for the process, never freed.
    @safe private final class Method: @unchecked Sendable {
        let pointer: OpaquePointer?  // BIO_METHOD

        init() {
            let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
            unsafe pointer = BIO_meth_new(type, "hidgate socket")
            guard let made = unsafe pointer else { return }
            unsafe BIO_meth_set_read(made) { bio, buffer, count in
                unsafe TLSSocket.transfer(bio, BIO_FLAGS_READ) { unsafe $0.read(buffer, Int(count)) }
            }
            unsafe BIO_meth_set_write(made) { bio, bytes, count in
                unsafe TLSSocket.transfer(bio, BIO_FLAGS_WRITE) { unsafe $0.write(bytes, Int(count)) }
            }
            unsafe BIO_meth_set_ctrl(made) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        }
    }

    private static let method = Method()

    /// Runs one call and tells OpenSSL whether to come again: -1 means that the socket would block.
    private static func transfer(_ bio: OpaquePointer?, _ direction: Int32, _ body: (TLSSocket) -> Int) -> Int32 {
        guard let bio = unsafe bio, let raw = unsafe BIO_get_data(bio) else { return 0 }
        unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY)
        let result = body(unsafe Unmanaged<TLSSocket>.fromOpaque(raw).takeUnretainedValue())
        if result < 0 { unsafe BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY) }
        return Int32(clamping: result)
    }
}
