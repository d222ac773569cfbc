// SPDX-License-Identifier: Apache-2.0

#if canImport(CryptoKit)
    internal import Foundation
#else
    internal import HIDCrypto
#endif

/// A member that is there but of another type than the protocol says.
struct WrongMember: Error, Equatable {
    let name: String
}

#if canImport(CryptoKit)
    /// A JSON object that a server sent.
    ///
    /// Foundation's reader takes the last of two members of one name; what is read here decides nothing about trust.
    struct AnswerObject {
        private let members: [String: AnswerValue]

        /// Reads a text whose outermost value is an object; nil otherwise.
        init?(_ bytes: [UInt8]) {
            guard let read = try? JSONDecoder().decode([String: AnswerValue].self, from: Data(bytes)) else {
                return nil
            }
            members = read
        }

        private init(members: [String: AnswerValue]) {
            self.members = members
        }

        /// A string; nil when there is no such member.
        func text(_ name: StaticString) throws(WrongMember) -> String? {
            guard let value = members[name.description] else { return nil }
            guard case .text(let text) = value else { throw WrongMember(name: name.description) }
            return text
        }

        /// An integer; nil when there is no such member.
        func integer(_ name: StaticString) throws(WrongMember) -> Int64? {
            guard let value = members[name.description] else { return nil }
            guard case .integer(let integer) = value else { throw WrongMember(name: name.description) }
            return integer
        }

        /// Whether there is such a member and it is `true`.
        func isTrue(_ name: StaticString) -> Bool { members[name.description] == .flag(true) }

        /// An object; nil when there is no such member.
        func object(_ name: StaticString) -> AnswerObject? {
            guard case .object(let inner) = members[name.description] else { return nil }
            return AnswerObject(members: inner)
        }
    }

    /// A JSON value as far as it matters here.
    private enum AnswerValue: Decodable, Equatable {
        case text(String)
        case integer(Int64)
        case flag(Bool)
        case object([String: AnswerValue])
        case other

        init(from decoder: any Decoder) throws {
            guard let container = try? decoder.singleValueContainer() else {
                self = .other
                return
            }
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let integer = try? container.decode(Int64.self) {
                self = .integer(integer)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let members = try? container.decode([String: AnswerValue].self) {
                self = .object(members)
            } else {
                self = .other
            }
        }
    }
#else
    /// A JSON object that a server sent, read strictly: duplicate members, bad UTF-8 and trailing octets are refused.
    struct AnswerObject {
        private let json: StrictJSON
        private let node: StrictJSON.Node

        /// Reads a text whose outermost value is an object; nil otherwise.
        init?(_ bytes: [UInt8]) {
            guard let json = try? StrictJSON(bytes), json.kind(json.root) == .object else { return nil }
            self.json = json
            node = json.root
        }

        private init(_ json: StrictJSON, _ node: StrictJSON.Node) {
            self.json = json
            self.node = node
        }

        /// A string; nil when there is no such member.
        func text(_ name: StaticString) throws(WrongMember) -> String? {
            guard let value = json.member(name, of: node) else { return nil }
            guard let bytes = json.textBytes(value) else { throw WrongMember(name: name.description) }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// An integer; nil when there is no such member.
        func integer(_ name: StaticString) throws(WrongMember) -> Int64? {
            guard let value = json.member(name, of: node) else { return nil }
            guard let integer = json.integer(value) else { throw WrongMember(name: name.description) }
            return integer
        }

        /// Whether there is such a member and it is `true`.
        func isTrue(_ name: StaticString) -> Bool {
            json.member(name, of: node).map { json.kind($0) == .true } ?? false
        }

        /// An object; nil when there is no such member.
        func object(_ name: StaticString) -> AnswerObject? {
            guard let value = json.member(name, of: node), json.kind(value) == .object else { return nil }
            return AnswerObject(json, value)
        }
    }
#endif
