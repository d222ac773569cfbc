// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A failed system call: its name and errno.
package struct SystemCallError: Error, CustomStringConvertible, Equatable {
    package let call: StaticString
    package let number: Int32

    package init(_ call: StaticString, _ number: Int32) {
        self.call = call
        self.number = number
    }

    package var description: String {
        unsafe "\(call): \(String(cString: strerror(number)))"
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.call.description == right.call.description
    }
}

/// What a read or write on a non-blocking descriptor came to.
package enum IOResult: Equatable {
    case bytes(Int)
    /// Nothing now: an edge will tell.
    case again
    case endOfStream
    case failed(Int32)
}

/// The system calls of the data plane: errno is read at once and EINTR is tried again.
enum SystemCall {
    /// Runs `body` until it is not interrupted; the result is a count, or -1 with errno.
    @inline(__always)
    static func retrying<Result: FixedWidthInteger>(_ body: () -> Result) -> (result: Result, error: Int32) {
        while true {
            let result = body()
            guard result == -1 else { return (result, 0) }
            let error = errno
            if error != EINTR { return (result, error) }
        }
    }

    /// Like `retrying`, for calls that can only fail by our own fault or by exhaustion.
    static func require<Result: FixedWidthInteger>(
        _ call: StaticString, _ body: () -> Result
    ) throws(SystemCallError) -> Result {
        let (result, error) = retrying(body)
        guard result != -1 else { throw SystemCallError(call, error) }
        return result
    }

    /// Receives into `buffer`, from its start.
    static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> IOResult {
        let (count, error) = unsafe buffer.withUnsafeMutableBytes { bytes in
            retrying { unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .endOfStream }
        return error == EAGAIN ? .again : .failed(error)
    }

    /// Looks at what a read would bring and leaves it there.
    static func peek(_ descriptor: Int32, into buffer: inout [UInt8]) -> IOResult {
        let (count, error) = unsafe buffer.withUnsafeMutableBytes { bytes in
            retrying { unsafe recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_PEEK)) }
        }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .endOfStream }
        return error == EAGAIN ? .again : .failed(error)
    }

    /// Takes octets that `peek` has shown, and forgets them.
    static func discard(_ descriptor: Int32, _ count: Int) -> Bool {
        var octets = [UInt8](repeating: 0, count: count)
        let (taken, _) = unsafe octets.withUnsafeMutableBytes { bytes in
            retrying { unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
        return taken == count
    }

    /// Whether a read would wait: no octet is there, and the peer has not closed.
    static func hasNothingToRead(_ descriptor: Int32) -> Bool {
        var octet: UInt8 = 0
        let (count, error) = retrying { unsafe recv(descriptor, &octet, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) }
        return count < 0 && error == EAGAIN
    }

    /// Whether the kernel knows a way to an address; asks without sending anything.
    static func hasRoute(to address: PeerAddress) -> Bool {
        let descriptor = socket(
            address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let (result, _) = unsafe address.withSocketAddress(port: 9) { pointer, length in
            retrying { unsafe connect(descriptor, pointer, length) }
        }
        return result == 0
    }

    /// Sends `bytes` from `offset` on.
    ///
    /// Never raises SIGPIPE.
    static func send(_ descriptor: Int32, _ bytes: [UInt8], from offset: Int) -> IOResult {
        let (count, error) = unsafe bytes.withUnsafeBytes { source in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: source[offset...])
            return retrying { unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)) }
        }
        if count >= 0 { return .bytes(count) }
        return error == EAGAIN ? .again : .failed(error)
    }
}
