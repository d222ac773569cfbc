// SPDX-License-Identifier: Apache-2.0

/// Tells a client that speaks HTTP/2 without being asked (RFC 9113 section 3.3) by its first octets.
enum HTTP2Preface {
    enum Match {
        /// Anything else: HTTP/1, or nothing that is HTTP.
        case no
        /// So far it fits.
        case partial
        /// The preface and the head of the SETTINGS frame that must follow it (RFC 9113 section 3.4).
        case yes
    }

    private static let octets = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Position of the type in the head of the first frame, and the type of SETTINGS.
    private static let (typeOffset, settings) = (27, UInt8(4))

    static func match(_ bytes: Span<UInt8>) -> Match {
        for index in 0..<min(bytes.count, octets.count) where bytes[index] != octets[index] { return .no }
        guard bytes.count > typeOffset else { return .partial }
        return bytes[typeOffset] == settings ? .yes : .no
    }

    /// Whether of so many octets that fit nothing but the frame is missing.
    static func isComplete(_ count: Int) -> Bool {
        count >= octets.count
    }
}
