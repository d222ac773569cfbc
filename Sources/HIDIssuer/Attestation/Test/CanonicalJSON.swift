// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto

/// Compact JSON with members sorted by the octets of their names.
///
/// Strings are written with the shortest escapes, everything beyond ASCII as it is; numbers as they came.
enum CanonicalJSON {
    static func append(_ document: StrictJSON, _ node: StrictJSON.Node, to out: inout [UInt8]) {
        switch document.kind(node) {
        case .object: appendObject(document, node, to: &out)
        case .array:
            out.append(UInt8(ascii: "["))
            for (index, element) in document.elements(of: node).enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                append(document, element, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .string: if let range = document.text(node) { appendString(document.bytes[range], to: &out) }
        case .integer, .number: if let range = document.numberText(node) { out += document.bytes[range] }
        case .true: out += Array("true".utf8)
        case .false: out += Array("false".utf8)
        case .null: out += Array("null".utf8)
        }
    }

    private static func appendObject(_ document: StrictJSON, _ node: StrictJSON.Node, to out: inout [UInt8]) {
        let members = document.members(of: node).sorted {
            document.bytes[$0.name].lexicographicallyPrecedes(document.bytes[$1.name])
        }
        out.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            appendString(document.bytes[member.name], to: &out)
            out.append(UInt8(ascii: ":"))
            append(document, member.value, to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }

    private static func appendString(_ text: ArraySlice<UInt8>, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0x08: out += Array("\\b".utf8)
            case 0x09: out += Array("\\t".utf8)
            case 0x0A: out += Array("\\n".utf8)
            case 0x0C: out += Array("\\f".utf8)
            case 0x0D: out += Array("\\r".utf8)
            case 0..<0x20: out += Array("\\u\(byte < 16 ? "000" : "00")\(String(byte, radix: 16))".utf8)
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
