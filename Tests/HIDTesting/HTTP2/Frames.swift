// SPDX-License-Identifier: Apache-2.0

/// Frames and header blocks as octets, well-formed or not.
package enum HTTP2Wire {
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        frame(type, flags: flags, stream: stream, length: payload.count, payload)
    }

    /// A frame whose header says another length than its payload has.
    package static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, length: Int, _ payload: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
        return head + word(stream) + payload
    }

    package static func word(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    // MARK: - Frames

    package static func settings(_ entries: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(4, entries.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + word($0.1) })
    }

    package static let settingsAck = frame(4, flags: 1)

    package static func headers(
        _ stream: UInt32, _ block: [UInt8], end: Bool = true, endHeaders: Bool = true
    ) -> [UInt8] {
        frame(1, flags: (end ? 1 : 0) | (endHeaders ? 4 : 0), stream: stream, block)
    }

    package static func continuation(_ stream: UInt32, _ block: [UInt8], endHeaders: Bool = true) -> [UInt8] {
        frame(9, flags: endHeaders ? 4 : 0, stream: stream, block)
    }

    package static func data(_ stream: UInt32, _ content: [UInt8], end: Bool = false) -> [UInt8] {
        frame(0, flags: end ? 1 : 0, stream: stream, content)
    }

    package static func data(_ stream: UInt32, _ text: String, end: Bool = false) -> [UInt8] {
        data(stream, Array(text.utf8), end: end)
    }

    package static func paddedData(_ stream: UInt32, _ content: [UInt8], padding: Int, end: Bool = false) -> [UInt8] {
        frame(
            0, flags: 8 | (end ? 1 : 0), stream: stream,
            [UInt8(padding)] + content + [UInt8](repeating: 0, count: padding))
    }

    package static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] { frame(3, stream: stream, word(code)) }
    package static func ping(_ octets: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], ack: Bool = false) -> [UInt8] {
        frame(6, flags: ack ? 1 : 0, octets)
    }
    package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(8, stream: stream, word(increment))
    }
    package static func priority(_ stream: UInt32, on other: UInt32) -> [UInt8] {
        frame(2, stream: stream, word(other) + [15])
    }
    package static func goAway(_ last: UInt32 = 0, _ code: UInt32 = 0) -> [UInt8] { frame(7, word(last) + word(code)) }

    // MARK: - HPACK

    /// One field, literal without indexing and with a new name (RFC 7541 section 6.2.2).
    package static func literal(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        [0] + string(name) + string(value)
    }

    /// One field, literal with incremental indexing (RFC 7541 section 6.2.1).
    package static func indexed(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        [0x40] + string(name) + string(value)
    }

    package static func string(_ octets: [UInt8]) -> [UInt8] { integer(octets.count, prefix: 7) + octets }

    package static func integer(_ number: Int, prefix: Int, pattern: UInt8 = 0) -> [UInt8] {
        let limit = (1 << prefix) - 1
        guard number >= limit else { return [pattern | UInt8(number)] }
        var rest = number - limit
        var octets = [pattern | UInt8(limit)]
        while rest >= 128 {
            octets.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return octets + [UInt8(rest)]
    }

    package static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { literal(Array($0.0.utf8), Array($0.1.utf8)) }
    }

    /// The pseudo-fields of a GET, then the fields given.
    package static func request(
        _ method: String = "GET", _ path: String = "/", scheme: String = "https", authority: String = "gw.test",
        _ fields: [(String, String)] = []
    ) -> [UInt8] {
        block(
            [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority)] + fields)
    }
}

/// One frame of ours, read back.
package struct Frame: Equatable, Sendable, CustomStringConvertible {
    package var type: UInt8
    package var flags: UInt8
    package var stream: UInt32
    package var payload: [UInt8]

    package init(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    package var description: String { "frame \(type) flags \(flags) stream \(stream) \(payload.count) octets" }

    package var code: UInt32 {
        let start = type == 7 ? 4 : 0
        guard payload.count >= start + 4 else { return .max }
        return payload[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
    package var lastStream: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    package var endsStream: Bool { flags & 1 != 0 }

    /// The whole frames at the start of the octets, which are taken from it.
    package static func read(_ octets: inout [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var index = 0
        while index + 9 <= octets.count {
            let length = Int(octets[index]) << 16 | Int(octets[index + 1]) << 8 | Int(octets[index + 2])
            guard index + 9 + length <= octets.count else { break }
            let stream = octets[(index + 5)..<(index + 9)].reduce(0) { $0 << 8 | UInt32($1) }
            let payload = Array(octets[(index + 9)..<(index + 9 + length)])
            frames.append(
                Frame(type: octets[index + 3], flags: octets[index + 4], stream: stream & 0x7FFF_FFFF, payload: payload)
            )
            index += 9 + length
        }
        octets.removeFirst(index)
        return frames
    }
}
