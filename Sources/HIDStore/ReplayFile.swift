// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Why the replay table could not be written or read.
package enum ReplayFileError: Error, Equatable, CustomStringConvertible {
    case system(call: String, message: String)
    case damaged

    package var description: String {
        switch self {
        case .system(let call, let message): "\(call): \(message)"
        case .damaged: "the saved replay table is damaged; tokens issued before this start are refused"
        }
    }
}

/// The replay table between a clean stop and the next start.
///
/// Layout: `HIDRPL1\n`, count, then key, fingerprint and life of each mark, then an FNV-1a checksum; all numbers are 64
/// bits, little endian. The file is taken away when it is read: it is good for one start only.
package enum ReplayFile {
    private static let magic = Array("HIDRPL1\n".utf8)
    private static let recordSize = 32

    /// Writes the marks durably under `path`: new file, sync, rename.
    package static func write(_ marks: [MemoryReplayStore.SavedMark], to path: String) throws(ReplayFileError) {
        var bytes = magic
        append(UInt64(marks.count), &bytes)
        for mark in marks {
            append(mark.key.high, &bytes)
            append(mark.key.low, &bytes)
            append(mark.fingerprint, &bytes)
            append(mark.life, &bytes)
        }
        append(checksum(bytes[...]), &bytes)
        let temporary = path + ".new"
        let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("open \(temporary)") }
        defer { close(file) }
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(file, $0.baseAddress.map { unsafe $0 + offset }, $0.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write \(temporary)") }
            offset += count
        }
        guard fsync(file) == 0 else { throw failure("fsync \(temporary)") }
        guard unsafe rename(temporary, path) == 0 else { throw failure("rename \(path)") }
    }

    /// Reads and removes the table; nil when there is none.
    package static func take(from path: String) throws(ReplayFileError) -> [MemoryReplayStore.SavedMark]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open \(path)")
        }
        defer { close(file) }
        // Gone before it is used: if this start ends badly, the next one must not believe an old table.
        guard unsafe unlink(path) == 0 else { throw failure("unlink \(path)") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read \(path)") }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return try parse(bytes)
    }

    static func parse(_ bytes: [UInt8]) throws(ReplayFileError) -> [MemoryReplayStore.SavedMark] {
        let header = magic.count + 8
        guard bytes.count >= header + 8, bytes.starts(with: magic) else { throw .damaged }
        let body = bytes.count - header - 8
        guard body % recordSize == 0, number(bytes, at: magic.count) == UInt64(body / recordSize) else {
            throw .damaged
        }
        guard number(bytes, at: bytes.count - 8) == checksum(bytes[..<(bytes.count - 8)]) else { throw .damaged }
        return stride(from: header, to: header + body, by: recordSize).map { offset in
            let key = ReplayKey(high: number(bytes, at: offset), low: number(bytes, at: offset + 8))
            return .init(key: key, fingerprint: number(bytes, at: offset + 16), life: number(bytes, at: offset + 24))
        }
    }

    private static func append(_ number: UInt64, _ bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private static func failure(_ call: String) -> ReplayFileError {
        .system(call: call, message: unsafe String(cString: strerror(errno)))
    }
}
