// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The file of a registry before SQLite gets it.
enum RegistryFile {
    /// Makes the file when it is not there, for its owner alone, and takes rights of others away from one that is.
    ///
    /// SQLite gives the files beside it the same rights. The directory must exist.
    static func prepare(_ path: String) throws(StoreFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unavailable("the path of the registry is no path") }
        // A file that is there is not opened: to close it again would give up all locks that this process has on it.
        let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 {
            close(file)
            return
        }
        switch errno {
        case EEXIST: try protect(path)
        case ENOENT: throw .unavailable("\(path): the directory of the registry does not exist")
        case let code: throw fault(path, "create", code)
        }
    }

    private static func protect(_ path: String) throws(StoreFault) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw fault(path, "open", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .unavailable("\(path): the registry is no plain file") }
        // SQLite would take a file that is shorter than any page for an empty one, and write it anew.
        guard status.st_size == 0 || status.st_size >= 512 else {
            throw .unavailable("\(path): the registry is damaged")
        }
        guard status.st_mode & 0o077 != 0 else { return }
        guard unsafe chmod(path, 0o600) == 0 else { throw fault(path, "chmod", errno) }
    }

    private static func fault(_ path: String, _ call: String, _ code: Int32) -> StoreFault {
        let words = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        let text = "\(path): cannot \(call) the registry: \(words)"
        return code == ENOSPC || code == EDQUOT ? .full(text) : .unavailable(text)
    }

    /// What the kernel calls this run of the machine; nil when it does not tell.
    static func bootID() -> String? {
        let file = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(file, &buffer, buffer.count)
        guard count >= 32 else { return nil }
        return String(decoding: buffer[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
