// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One row of `Vectors/framing.jsonl`.
struct FramingRow: CustomStringConvertible {
    var id: String
    var raw: [UInt8]
    /// The status to answer, or nil when the message is acceptable to the codec.
    var status: Int?
    var reason: String?

    var description: String { id }
}

/// One row of `Vectors/http1-cases.jsonl`.
struct ConnectionRow: CustomStringConvertible {
    var id: String
    var raw: [UInt8]
    /// Allowed statuses; nil means any 2xx.
    var statuses: [Int]?
    var responses: Int

    var description: String { id }
}

enum VectorFiles {
    static let framing: [FramingRow] = rows("framing.jsonl").compactMap { row in
        guard let id = row["id"] as? String, let raw = row["raw"] as? String,
            let expect = row["expect"] as? [String: Any]
        else { return nil }
        let status = expect["status"] as? Int
        return FramingRow(
            id: id, raw: Array(raw.utf8), status: status == 200 ? nil : status, reason: expect["reason"] as? String)
    }

    static let connections: [ConnectionRow] = rows("http1-cases.jsonl").compactMap { row in
        guard let id = row["id"] as? String, let text = row["raw_b64"] as? String,
            let raw = Data(base64Encoded: text), let expect = row["expect"] as? [String: Any]
        else { return nil }
        return ConnectionRow(
            id: id, raw: Array(raw), statuses: expect["status"] as? [Int], responses: expect["responses"] as? Int ?? 1)
    }

    private static func rows(_ name: String) -> [[String: Any]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/\(name)")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}
