// SPDX-License-Identifier: Apache-2.0

/// How a client with prior knowledge begins an HTTP/2 connection (RFC 9113 sections 3.3 and 3.4).
package enum HTTP2Preface {
    /// What the first octets of a connection are.
    package enum Verdict: Equatable {
        /// The preface and the header of a SETTINGS frame.
        case http2
        /// They may become that: more octets are needed.
        case undecided
        case other
    }

    private static let octets = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Judges the first octets of a connection, however few.
    package static func judge(_ bytes: Span<UInt8>) -> Verdict {
        for index in 0..<min(bytes.count, octets.count) where bytes[index] != octets[index] { return .other }
        let size = octets.count + FrameHeader.size
        guard bytes.count >= size else { return .undecided }
        var header = [9 of UInt8](repeating: 0)
        for index in 0..<FrameHeader.size { header[index] = bytes[octets.count + index] }
        let frame = FrameHeader(header)
        return frame.kind == .settings && frame.flags & 1 == 0 && frame.stream == 0 ? .http2 : .other
    }
}
