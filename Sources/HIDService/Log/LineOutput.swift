// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The descriptor of a `LineSink` and the batch that is being written.
///
/// Confined to the queue of its sink.
final class LineOutput: @unchecked Sendable {
    struct Loss {
        var lines = 0
        var isFailure = false
    }

    private let path: String?
    private var descriptor: Int32
    private var isRegularFile: Bool
    private var batch: [UInt8] = []
    private var position = 0
    /// The last octet that went out was not the end of its line.
    private var isTorn = false

    init(_ destination: LineSink.Destination) throws(SystemFault) {
        switch destination {
        case .descriptor(let borrowed):
            path = nil
            descriptor = borrowed
        case .file(let path):
            self.path = path
            descriptor = try Self.opened(path)
        }
        isRegularFile = Self.isRegular(descriptor)
    }

    deinit {
        if path != nil { close(descriptor) }
    }

    var hasPending: Bool { position < batch.count }
    var pendingCount: Int { batch.count - position }

    /// Starts a batch of whole lines; only without one pending.
    func take(_ lines: [UInt8]) {
        batch = isTorn && !lines.isEmpty ? [0x0A] + lines : lines
        position = 0
    }

    /// Writes until the batch is out, the reader is slower than `waitMilliseconds`, or the medium fails.
    func write(waitMilliseconds: Int32) -> Loss {
        while hasPending {
            guard isRegularFile || isReady(waitMilliseconds) else { return Loss() }
            let length = nextLength
            let count = unsafe batch.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress?.advanced(by: position), length)
            }
            if count > 0 {
                position += count
                isTorn = batch[position - 1] != 0x0A
            } else if errno != EINTR && errno != EAGAIN {
                var loss = discard()
                loss.isFailure = true
                return loss
            }
        }
        return Loss()
    }

    /// Gives up what is pending.
    func discard() -> Loss {
        defer { position = batch.count }
        // The line feed that ends a torn line is not a line of its own.
        let start = position == 0 && batch.first == 0x0A ? 1 : position
        return Loss(lines: batch[start...].count { $0 == 0x0A })
    }

    /// False when the file cannot be opened.
    func reopen() -> Bool {
        guard let path else { return true }
        guard let opened = try? Self.opened(path) else { return false }
        close(descriptor)
        descriptor = opened
        isRegularFile = Self.isRegular(opened)
        isTorn = false
        return true
    }

    /// A pipe that polls as ready takes 4096 octets without blocking, and does not mix them with those of others:
    /// so go out as many whole lines as fit into that, or a piece of one that does not.
    private var nextLength: Int {
        guard !isRegularFile, pendingCount > 4096 else { return pendingCount }
        let window = batch[position..<(position + 4096)]
        return window.lastIndex(of: 0x0A).map { $0 + 1 - position } ?? 4096
    }

    private func isReady(_ waitMilliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, waitMilliseconds) > 0
    }

    private static func opened(_ path: String) throws(SystemFault) -> Int32 {
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw SystemFault(code: errno) }
        return descriptor
    }

    private static func isRegular(_ descriptor: Int32) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
