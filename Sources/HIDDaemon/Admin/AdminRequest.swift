// SPDX-License-Identifier: Apache-2.0

/// What is asked of the API for operators: decoded strictly.
package struct AdminRequest: Sendable {
    package let method: String
    package let path: String
    package let query: [String: String]
    package let content: [UInt8]

    /// Reads an origin-form target; nil when it is not one, or holds what a client of this API never sends.
    package init?(method: String, target: ArraySlice<UInt8>, content: [UInt8] = []) {
        guard target.first == 0x2F else { return nil }
        let parts = target.split(separator: 0x3F, maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = Self.decode(parts[0]) else { return nil }
        var query: [String: String] = [:]
        if parts.count == 2 {
            for pair in parts[1].split(separator: 0x26) {
                let sides = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
                guard let name = Self.decode(sides[0]), let value = Self.decode(sides.count == 2 ? sides[1] : []),
                    query.updateValue(value, forKey: name) == nil
                else { return nil }
            }
        }
        self.method = method
        self.content = content
        self.path = path
        self.query = query
    }

    private static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var out: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                out.append(byte == 0x2B ? 0x20 : byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            out.append(high << 4 | low)
        }
        return String(validating: out, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
