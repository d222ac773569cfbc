// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDGateway
import HIDService

/// A URL of the command line cut in two, its octets as they were given.
struct GivenURL: Equatable {
    var isTLS: Bool
    /// Everything between `//` and the path, user information included.
    var authority: [UInt8]
    /// Path, query and even fragment as given; `/` when there is nothing.
    var target: [UInt8]

    /// nil for anything but an `http://` or `https://` URL.
    init?(_ octets: [UInt8]) {
        let bytes = octets.span
        guard let start = RequestTarget.endOfScheme(in: bytes) else { return nil }
        isTLS = start == 8
        let end = octets[start...].firstIndex { $0 == Octet.slash || $0 == Octet.questionMark || $0 == Octet.hash }
        authority = Array(octets[start..<(end ?? octets.count)])
        target = Array(octets[(end ?? octets.count)...])
        if target.first != Octet.slash { target.insert(Octet.slash, at: 0) }
    }

    /// The scheme and authority with nothing behind them.
    var origin: String { (isTLS ? "https://" : "http://") + String(decoding: authority, as: UTF8.self) }
}

/// Checks of words that go into a request.
enum RequestWord {
    /// A token of RFC 9110 section 5.6.2.
    static func isToken(_ octets: [UInt8]) -> Bool {
        !octets.isEmpty
            && octets.allSatisfy { octet in
                switch octet {
                case 0x41...0x5A, 0x61...0x7A, 0x30...0x39: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
                }
            }
    }

    /// What can stand in a field value or request line without ending it.
    static func isOneLine(_ octets: [UInt8]) -> Bool {
        !octets.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }
    }
}
