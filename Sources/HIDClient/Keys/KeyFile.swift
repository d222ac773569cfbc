// SPDX-License-Identifier: Apache-2.0

#if !canImport(CryptoKit)
    internal import Glibc

    /// A small file that is replaced as a whole or not at all.
    struct KeyFile: Sendable {
        /// More than any key file has.
        private static let sizeLimit = 16 << 10

        let path: String

        /// Reads the file; nil when there is none.
        ///
        /// - Parameter isSecret: Whether a file that its group or others may touch is refused.
        /// - Returns: Its octets.
        /// - Throws: `unavailable` when it cannot be read, `corrupt` for what cannot be a key file.
        func read(isSecret: Bool) throws(HumanIDKeyError) -> [UInt8]? {
            let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard file >= 0 else {
                if errno == ENOENT { return nil }
                throw Self.failure("open", path)
            }
            defer { close(file) }
            var status = stat()
            guard unsafe fstat(file, &status) == 0 else { throw Self.failure("stat", path) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .corrupt("\(path) is no regular file") }
            guard !isSecret || status.st_mode & 0o077 == 0 else {
                throw .corrupt("\(path) may be used by others; its mode must be 0600")
            }
            var bytes = [UInt8](repeating: 0, count: Self.sizeLimit + 1)
            var size = 0
            while size < bytes.count {
                let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                    unsafe Glibc.read(file, buffer.baseAddress.map { unsafe $0 + size }, buffer.count - size)
                }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.failure("read", path) }
                guard count > 0 else { break }
                size += count
            }
            guard size <= Self.sizeLimit else { throw .corrupt("\(path) is over \(Self.sizeLimit) octets") }
            return Array(bytes.prefix(size))
        }

        /// Writes the file with the mode 0600 and waits until it is on the disk.
        ///
        /// - Parameters:
        ///   - bytes: All of them.
        ///   - replacing: Whether a file that is there is replaced.
        /// - Returns: Whether it was written; `false` when there was one that was not to be replaced.
        /// - Throws: `unavailable`; the file is as before then.
        func write(_ bytes: [UInt8], replacing: Bool) throws(HumanIDKeyError) -> Bool {
            let temporary = "\(path).\(Primitives.base64URL(Primitives.random(9))).new"
            try writeNew(bytes, to: temporary)
            if replacing {
                guard unsafe rename(temporary, path) == 0 else {
                    let failure = Self.failure("rename", path)
                    _ = unsafe unlink(temporary)
                    throw failure
                }
            } else {
                // A link, unlike a renaming, never replaces what is there.
                let result = unsafe link(temporary, path)
                let (code, failure) = (errno, Self.failure("link", path))
                _ = unsafe unlink(temporary)
                if result != 0, code == EEXIST { return false }
                guard result == 0 else { throw failure }
            }
            try syncFolder()
            return true
        }

        private func writeNew(_ bytes: [UInt8], to path: String) throws(HumanIDKeyError) {
            let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw Self.failure("create", path) }
            defer { close(file) }
            var offset = 0
            while offset < bytes.count {
                let count = unsafe bytes.withUnsafeBytes { buffer in
                    unsafe Glibc.write(file, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                offset += count
            }
            guard offset == bytes.count, fsync(file) == 0 else {
                let failure = Self.failure("write", path)
                _ = unsafe unlink(path)
                throw failure
            }
        }

        /// A renaming is on the disk when its folder is.
        private func syncFolder() throws(HumanIDKeyError) {
            let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
            let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
            guard descriptor >= 0 else { throw Self.failure("open", folder) }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw Self.failure("sync", folder) }
        }

        private static func failure(_ call: String, _ path: String) -> HumanIDKeyError {
            .unavailable("\(call) \(path): \(unsafe String(cString: strerror(errno)))")
        }
    }
#endif
