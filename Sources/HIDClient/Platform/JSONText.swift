// SPDX-License-Identifier: Apache-2.0

/// Compact JSON texts, as the SDK sends and signs them.
enum JSONText {
    /// A value to write.
    indirect enum Value: Sendable {
        case text(String)
        case integer(Int64)
        case flag(Bool)
        case array([Value])
        /// Members in the order in which they are written.
        case object([(name: String, value: Value)])
    }

    /// A value without white space; of the escapes only those that RFC 8259 section 7 demands.
    static func compact(_ value: Value) -> [UInt8] {
        var output: [UInt8] = []
        write(value, to: &output)
        return output
    }

    /// Claims as an object whose members are sorted by the octets of their names.
    static func sorted(_ claims: [String: HumanIDClaim]) -> Value {
        let names = claims.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return .object(names.compactMap { name in claims[name].map { (name, value(of: $0)) } })
    }

    private static func value(of claim: HumanIDClaim) -> Value {
        switch claim {
        case .text(let text): .text(text)
        case .integer(let integer): .integer(integer)
        case .flag(let flag): .flag(flag)
        }
    }

    private static func write(_ value: Value, to output: inout [UInt8]) {
        switch value {
        case .text(let text): quote(text, to: &output)
        case .integer(let integer): output += "\(integer)".utf8
        case .flag(let flag): output += (flag ? "true" : "false").utf8
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                write(element, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                quote(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                write(member.value, to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x0A: output += "\\n".utf8
            case 0x0D: output += "\\r".utf8
            case 0x09: output += "\\t".utf8
            case 0x08: output += "\\b".utf8
            case 0x0C: output += "\\f".utf8
            case 0..<0x20: output += "\\u00".utf8 + [hex(byte >> 4), hex(byte & 15)]
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func hex(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
