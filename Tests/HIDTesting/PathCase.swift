// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// One row of a path vector file.
package struct PathCase: Decodable, Sendable, CustomStringConvertible {
    package struct Expectation: Decodable, Sendable {
        package var canonical: String?
        package var action: String
    }
    package var id: String
    package var target: String
    package var method: String?
    package var expect: Expectation
    package var reason: String?
    package var critical: Bool?
    package var critical_by: String?
    package var fold: String?

    package var description: String { id }

    package static func load(_ name: String) -> [PathCase] {
        let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        guard let data = FileManager.default.contents(atPath: "/\(folder)/HIDGatewayTests/Vectors/\(name)") else { return [] }
        return data.split(separator: 10).compactMap { try? JSONDecoder().decode(PathCase.self, from: Data($0)) }
    }
}

/// One octet a character.
package func octets(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}
