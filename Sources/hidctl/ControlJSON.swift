// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDGateway
import HIDService

/// A JSON value that `hidctl --json` prints; members keep their order.
enum ControlJSON {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number as somebody else wrote it.
    case number([UInt8])
    /// Octets; what is not UTF-8 is printed as Latin-1.
    case text([UInt8])
    case array([ControlJSON])
    case object([(name: [UInt8], value: ControlJSON)])

    init(_ text: String) {
        self = .text(Array(text.utf8))
    }

    /// nil becomes null.
    init(optional octets: [UInt8]?) {
        self = octets.map { .text($0) } ?? .null
    }

    /// nil becomes null.
    init(optional text: String?) {
        self = text.map { ControlJSON($0) } ?? .null
    }

    /// A value of a document that was read strictly.
    init(_ node: StrictJSON.Node, in json: StrictJSON) {
        switch json.kind(node) {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .integer, .number: self = .number(json.numberText(node).map { Array(json.bytes[$0]) } ?? [0x30])
        case .string: self = .text(json.textBytes(node) ?? [])
        case .array: self = .array(json.elements(of: node).map { ControlJSON($0, in: json) })
        case .object:
            self = .object(
                json.members(of: node).map { (Array(json.bytes[$0.name]), ControlJSON($0.value, in: json)) })
        }
    }

    /// One line of printable ASCII without a line feed at its end.
    var line: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += "\(value)".utf8
        case .number(let digits): bytes += digits
        case .text(let octets): bytes += Self.quoted(octets)
        case .array(let elements):
            bytes.append(0x5B)
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                element.append(to: &bytes)
            }
            bytes.append(0x5D)
        case .object(let members):
            bytes.append(0x7B)
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                bytes += Self.quoted(member.name)
                bytes.append(0x3A)
                member.value.append(to: &bytes)
            }
            bytes.append(0x7D)
        }
    }

    /// A string literal with the escapes of the access log, so that no value can steer a terminal.
    static func quoted(_ octets: [UInt8]) -> [UInt8] {
        var writer = JSONLineWriter(capacity: octets.count + 2)
        writer.element(octets)
        return writer.bytes
    }
}

extension ControlJSON: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral {
    init(dictionaryLiteral elements: (String, ControlJSON)...) {
        self = .object(elements.map { (Array($0.0.utf8), $0.1) })
    }

    init(stringLiteral value: String) {
        self.init(value)
    }
}
