// SPDX-License-Identifier: Apache-2.0

/// The header of the PROXY protocol, version 1 or 2.
enum ProxyHeaderParser {
    enum Progress {
        case needMore
        case complete(length: Int, source: PeerEndpoint?)
        case bad
    }

    static func parse(_ octets: Span<UInt8>) -> Progress { .bad }
}
