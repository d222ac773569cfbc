// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HIDHTTP

/// Content that is kept back until its signature is judged: in memory to 64 KiB (less while buffers are scarce), then in an unlinked temporary file.
final class HeldContent {
    /// The temporary file could not be made, written or read.
    struct SpoolError: Error {}

    static let memoryLimit = 64 << 10
    private(set) var count = 0
    private var memory: [UInt8] = []
    private var file: Int32 = -1
    private var readOffset = 0
    private let buffers: BufferAccount
    private var share = BufferShare()

    /// What is kept in memory while buffers are scarce.
    private static let scarceMemoryLimit = 4 << 10

    /// Keeps content for a connection of the loop whose account that is; one of its own without.
    init(buffers: BufferAccount = BufferAccount()) {
        self.buffers = buffers
    }

    deinit {
        share.set(0, in: buffers)
        if file >= 0 { close(file) }
    }

    func append(_ content: Span<UInt8>) throws(SpoolError) {
        count += content.count
        if file < 0, count <= (buffers.isScarce ? Self.scarceMemoryLimit : Self.memoryLimit) {
            memory.append(copying: content)
            share.set(memory.count, in: buffers)
            return
        }
        if file < 0 { try openFile() }
        try write(content)
    }

    private func openFile() throws(SpoolError) {
        let directory = unsafe getenv("TMPDIR").flatMap { unsafe String(validatingCString: $0) } ?? "/tmp"
        var template = Array("\(directory)/hidgate-XXXXXX".utf8CString)
        file = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            return unsafe mkstemp(base)
        }
        guard file >= 0 else { throw SpoolError() }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        unsafe template.withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { _ = unsafe unlink(base) }
        }
        let gathered = memory
        memory = []
        share.set(0, in: buffers)
        try write(gathered.span)
    }

    private func write(_ content: Span<UInt8>) throws(SpoolError) {
        var offset = 0
        while offset < content.count {
            let rest = content.extracting(offset..<content.count)
            let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw SpoolError() }
            offset += written
        }
    }

    /// The next piece to forward, at most 64 KiB; nil when all is out.
    func next() throws(SpoolError) -> [UInt8]? {
        guard readOffset < count else { return nil }
        guard file >= 0 else {
            readOffset = count
            return memory
        }
        var piece = [UInt8](repeating: 0, count: min(Self.memoryLimit, count - readOffset))
        while true {
            let length = unsafe piece.withUnsafeMutableBytes {
                unsafe pread(file, $0.baseAddress, $0.count, off_t(readOffset))
            }
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { throw SpoolError() }
            readOffset += length
            piece.removeLast(piece.count - length)
            return piece
        }
    }
}
