// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A failed system call.
package struct SystemFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// ENOENT.
    package static let notFound = ENOENT

    package var code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// The C library's words, first letter in lower case.
    package var description: String {
        let words = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// The few file operations that services need outside the data path; all block.
package enum FileSystem {
    /// The octets of a file, at most one more than `limit` so that the caller sees an excess.
    package static func contents(of path: String, limit: Int) throws(SystemFault) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFault(code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            let count = unsafe read(descriptor, &chunk, min(chunk.count, limit + 1 - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemFault(code: errno) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Throws unless a path leads to something that is not a directory.
    package static func requireFile(at path: String) throws(SystemFault) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw SystemFault(code: errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw SystemFault(code: EISDIR) }
    }

    /// Names in a directory without those that start with a dot, sorted by their octets.
    package static func names(in directory: String) throws(SystemFault) -> [String] {
        guard let handle = unsafe opendir(directory) else { throw SystemFault(code: errno) }
        defer { unsafe closedir(handle) }
        var names: [String] = []
        while let entry = unsafe readdir(handle) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether a name fits a pattern in which each `*` stands for any octets.
    package static func matches(_ name: String, pattern: String) -> Bool {
        let parts = pattern.utf8.split(separator: 0x2A, omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last else { return false }
        guard parts.count > 1 else { return name.utf8.elementsEqual(pattern.utf8) }
        var rest = Array(name.utf8)[...]
        guard rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        guard rest.count >= last.count, rest.suffix(last.count).elementsEqual(last) else { return false }
        rest = rest.dropLast(last.count)
        for part in parts.dropFirst().dropLast() {
            guard let end = endOfFirst(part, in: rest) else { return false }
            rest = rest[end...]
        }
        return true
    }

    private static func endOfFirst(_ part: Substring.UTF8View, in bytes: ArraySlice<UInt8>) -> Int? {
        guard !part.isEmpty else { return bytes.startIndex }
        return bytes.indices.first { bytes[$0...].starts(with: part) }.map { $0 + part.count }
    }
}
