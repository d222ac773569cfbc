// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Third-party test vectors, which do not live in this repository.
///
/// They are looked for in `$HIDGATE_VECTORS`, else in `../shared/data` beside the package. A test that needs them
/// carries `.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote))`.
package enum Vectors {
    /// The directory with `crypto/`, `tokens/` and the others.
    package static let directory: String = {
        if let named = ProcessInfo.processInfo.environment["HIDGATE_VECTORS"] { return named }
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(root)/../shared/data"
    }()

    /// Whether the vectors are there.
    package static let isAvailable = FileManager.default.fileExists(atPath: directory + "/crypto/INDEX.md")

    /// Whether this run must not skip anything.
    package static let isRequired = ProcessInfo.processInfo.environment["CI"] == "true"

    /// What a skipped test says.
    package static let missingNote = "no vectors at \(directory); set HIDGATE_VECTORS to run this test"

    /// A vector file that cannot be read.
    package struct Missing: Error {
        let path: String
    }

    /// The octets of a file below the directory.
    package static func bytes(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: directory + "/" + path) else {
            throw Missing(path: directory + "/" + path)
        }
        return Array(data)
    }

    /// A JSON file below the directory.
    package static func json<Value: Decodable>(_ path: String, as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes(path)))
    }

    /// A file of one JSON value a line.
    package static func jsonLines<Value: Decodable>(_ path: String, as type: Value.Type) throws -> [Value] {
        try bytes(path).split(separator: UInt8(ascii: "\n")).map { line in
            try JSONDecoder().decode(type, from: Data(line))
        }
    }

    /// The octets of a hexadecimal text; anything that is no digit pair ends it.
    package static func hex(_ text: String) -> [UInt8] {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
