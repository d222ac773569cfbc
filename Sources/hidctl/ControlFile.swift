// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDCrypto
import HIDGateway
import HIDService

/// The files that hidctl reads and writes.
enum ControlFile {
    /// The octets of a file.
    static func contents(_ path: String, limit: Int) throws(VerbError) -> [UInt8] {
        do {
            let bytes = try FileSystem.contents(of: path, limit: limit)
            guard bytes.count <= limit else { throw VerbError.failure("\(path.quoted) is over \(limit) octets") }
            return bytes
        } catch let fault as SystemFault {
            throw .failure("cannot read \(path.quoted): \(fault)")
        } catch {
            throw .failure("\(path.quoted) is over \(limit) octets")
        }
    }

    /// A key in PEM, made with mode 0600 when there is no such file.
    static func key(_ path: String) throws(VerbError) -> (key: P256PrivateKey, isNew: Bool) {
        do {
            let made = try P256PrivateKey()
            let isNew = try writeNew(made.pem(), to: path)
            if isNew { return (made, true) }
        } catch let error as CryptoError {
            throw .failure("cannot make a key: \(error)")
        } catch let fault as SystemFault {
            throw .failure("cannot write \(path.quoted): \(fault)")
        } catch {
            throw .failure("cannot write \(path.quoted)")
        }
        let bytes = try contents(path, limit: 64 << 10)
        do {
            return (try P256PrivateKey(pem: bytes), false)
        } catch {
            throw .failure("\(path.quoted) holds no P-256 private key in PEM")
        }
    }

    /// Replaces a file that others may read, so that none of them sees half of it.
    static func replace(_ path: String, with bytes: [UInt8]) throws(VerbError) {
        let draft = "\(path).\(getpid()).new"
        do {
            let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw SystemFault(code: errno) }
            try write(bytes, to: descriptor)
            guard unsafe rename(draft, path) == 0 else { throw SystemFault(code: errno) }
        } catch {
            _ = unsafe unlink(draft)
            throw .failure("cannot write \(path.quoted): \(error)")
        }
    }

    /// False when the file exists.
    private static func writeNew(_ bytes: [UInt8], to path: String) throws(SystemFault) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw SystemFault(code: errno) }
            return false
        }
        do {
            try write(bytes, to: descriptor)
        } catch {
            // Half a key would be taken for a faulty one for ever.
            _ = unsafe unlink(path)
            throw error
        }
        return true
    }

    /// Writes everything and closes the descriptor.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemFault) {
        var position = 0
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: position), bytes.count - position)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let fault = SystemFault(code: errno)
                close(descriptor)
                throw fault
            }
            position += count
        }
        guard close(descriptor) == 0 else { throw SystemFault(code: errno) }
    }
}
