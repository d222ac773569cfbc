// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// A folder of configuration files that goes away with its owner.
package final class ConfigurationFolder {
    /// Without a slash at its end.
    package let path: String

    /// Makes the folder and its files.
    package init(_ files: [String: String] = [:]) throws {
        path = FileManager.default.temporaryDirectory.path + "/hid-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (name, text) in files { try write(name, text) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file that its owner alone may read.
    package func write(_ name: String, _ text: String) throws {
        try write(name, Array(text.utf8))
    }

    /// Writes a file that its owner alone may read.
    package func write(_ name: String, _ bytes: [UInt8]) throws {
        let full = "\(path)/\(name)"
        try? FileManager.default.removeItem(atPath: full)
        guard
            FileManager.default.createFile(
                atPath: full, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
    }

    /// A text without the folder's name in front of its paths.
    package func removingFolder(_ text: String) -> String {
        text.replacing("\(path)/", with: "")
    }
}
