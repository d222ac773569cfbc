// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A JSON value as a test looks at it.
package enum JSONValue: Sendable, Equatable, Decodable {
    case missing
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a text; nil when it is no JSON.
    package init?(_ text: String) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package subscript(_ name: String) -> JSONValue {
        if case .object(let members) = self { members[name] ?? .missing } else { .missing }
    }

    package var text: String? { if case .string(let value) = self { value } else { nil } }
    package var number: Double? { if case .number(let value) = self { value } else { nil } }
    package var elements: [JSONValue] { if case .array(let value) = self { value } else { [] } }
    package var names: Set<String> { if case .object(let value) = self { Set(value.keys) } else { [] } }
}
