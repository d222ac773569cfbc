// SPDX-License-Identifier: Apache-2.0
import Glibc
import HIDGateway
import HIDService

/// A folder of configuration files that goes away with its owner.
final class ConfigurationFolder {
    let path: String

    init(_ files: [String: String]) throws {
        var template = Array("/tmp/hid-configuration-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw SystemFault(code: errno) }
        path = unsafe String(cString: made)
        for (name, text) in files {
            try write(name, text)
        }
    }

    deinit {
        for name in (try? FileSystem.names(in: path)) ?? [] {
            _ = unsafe unlink("\(path)/\(name)")
        }
        _ = unsafe rmdir(path)
    }

    func write(_ name: String, _ text: String) throws {
        let descriptor = unsafe open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw SystemFault(code: errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw SystemFault(code: errno) }
    }

    /// Loads gateway.yaml; the text has no folder in its paths.
    func load() -> (configuration: GatewayConfiguration?, text: String) {
        let (configuration, diagnostics) = GatewayConfiguration.load(path: "\(path)/gateway.yaml")
        return (configuration, removingFolder(diagnostics.rendered))
    }

    private func removingFolder(_ text: String) -> String {
        var bytes = Array(text.utf8)[...]
        let folder = Array("\(path)/".utf8)
        var result: [UInt8] = []
        while !bytes.isEmpty {
            if bytes.starts(with: folder) {
                bytes = bytes.dropFirst(folder.count)
            } else if let byte = bytes.popFirst() {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
