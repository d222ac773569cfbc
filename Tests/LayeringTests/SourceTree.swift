// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The package's own sources, as files.
enum SourceTree {
    /// The folder with Package.swift: three levels above this file.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct SourceFile: CustomStringConvertible {
        /// From the root of the package on.
        var path: String
        var lines: [String]

        var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
        var description: String { path }

        /// The modules that the file imports.
        var imports: [String] {
            lines.compactMap { line in
                let words = line.split(separator: " ").prefix { $0 != "//" }.map(String.init)
                guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                    words[..<index].allSatisfy(Self.isModifier)
                else { return nil }
                // `import struct Module.Name`
                let kinds = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
                let word = kinds.contains(words[index + 1]) ? words[index + 2] : words[index + 1]
                return word.split(separator: ".").first.map(String.init)
            }
        }

        private static func isModifier(_ word: String) -> Bool {
            word.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains(word)
        }
    }

    /// Every Swift file below a folder of the package.
    static func swiftFiles(below folder: String) throws -> [SourceFile] {
        let base = root.appendingPathComponent(folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: base.path).sorted()
        return try names.filter { $0.hasSuffix(".swift") }.map { name in
            let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
            return SourceFile(path: folder + "/" + name, lines: text.components(separatedBy: "\n"))
        }
    }
}
