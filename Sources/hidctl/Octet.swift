// SPDX-License-Identifier: Apache-2.0
import HIDHTTP

/// Octets with a meaning on a command line.
enum Octet {
    static let space = UInt8(ascii: " ")
    static let hash = UInt8(ascii: "#")
    static let asterisk = UInt8(ascii: "*")
    static let dot = UInt8(ascii: ".")
    static let slash = UInt8(ascii: "/")
    static let colon = UInt8(ascii: ":")
    static let questionMark = UInt8(ascii: "?")
    static let at = UInt8(ascii: "@")

    static func lowercased(_ octet: UInt8) -> UInt8 { HIDHTTP.ASCII.lower(octet) }
}
