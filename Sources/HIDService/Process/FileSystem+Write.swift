// SPDX-License-Identifier: Apache-2.0
import Glibc

extension FileSystem {
    /// Puts a file in the place of another at once and durably: new file, sync, rename, sync of the directory.
    package static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32
    ) throws(SystemFault) {
        let temporary = "\(path).new"
        _ = unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw SystemFault(code: errno) }
        do throws(SystemFault) {
            defer { close(descriptor) }
            guard fchmod(descriptor, mode) == 0 else { throw SystemFault(code: errno) }
            try write(bytes, to: descriptor)
            guard fsync(descriptor) == 0 else { throw SystemFault(code: errno) }
            guard unsafe rename(temporary, path) == 0 else { throw SystemFault(code: errno) }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        try syncDirectory(of: path)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemFault) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + offset }, $0.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemFault(code: count < 0 ? errno : ENOSPC) }
            offset += count
        }
    }

    /// A rename is lost with the power unless its directory was synced.
    private static func syncDirectory(of path: String) throws(SystemFault) {
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFault(code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemFault(code: errno) }
    }

    /// Makes a directory in one that is there; one that is there already is left as it is.
    package static func createDirectory(_ path: String, mode: UInt32) throws(SystemFault) {
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemFault(code: errno) }
    }

    /// Removes a file; one that is not there is no fault.
    package static func remove(_ path: String) throws(SystemFault) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw SystemFault(code: errno) }
    }

    /// Throws `EACCES` when others than the owner may read a file.
    package static func requirePrivate(at path: String) throws(SystemFault) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw SystemFault(code: errno) }
        guard status.st_mode & 0o077 == 0 else { throw SystemFault(code: EACCES) }
    }

    /// What changes when a file is written or replaced.
    package struct Stamp: Sendable, Equatable {
        /// When it was last written, in seconds since 1970.
        package var seconds: Int64
        package var nanoseconds: Int64
        /// Octets.
        package var size: Int64
        package var inode: UInt64
    }

    /// The stamp of a file; nil when it cannot be seen.
    package static func stamp(_ path: String) -> Stamp? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Stamp(
            seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec),
            size: Int64(status.st_size), inode: UInt64(status.st_ino))
    }

    /// Makes a file look as if it were written now.
    package static func touch(_ path: String) throws(SystemFault) {
        guard unsafe utimensat(AT_FDCWD, path, nil, 0) == 0 else { throw SystemFault(code: errno) }
    }
}
