// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

/// Rules of the framing layer (RFC 9113 sections 3 to 6, RFC 7541), one row a rule.
@Suite struct HTTP2ProtocolTests {
    struct Case: CustomStringConvertible, Sendable {
        var name: String
        var octets: [UInt8]
        /// Codes of RFC 9113 section 7 that may end the connection; empty: only the stream is reset.
        var codes: Set<HTTP2ErrorCode>
        var reset: HTTP2ErrorCode?
        var description: String { name }

        /// The connection ends.
        init(_ name: String, _ codes: Set<HTTP2ErrorCode>, _ octets: [UInt8]) {
            self.name = name
            self.codes = codes
            self.octets = octets
        }
        /// Only the stream 1 ends.
        init(_ name: String, reset: HTTP2ErrorCode, _ octets: [UInt8]) {
            self.name = name
            self.codes = []
            self.reset = reset
            self.octets = octets
        }
    }

    static let get = HTTP2Wire.request()
    static let open = HTTP2Wire.headers(1, HTTP2Wire.request("POST"), end: false)
    static let done = HTTP2Wire.headers(1, HTTP2Wire.request())
    static let huge = [UInt8](repeating: 0, count: 16_385)

    /// Sections 4.2, 4.3, 6.1 to 6.10: sizes, streams and flags of each frame.
    static let frames: [Case] = [
        Case("DATA on stream 0", [.protocolError], HTTP2Wire.data(0, "x")),
        Case("DATA on an idle stream", [.protocolError], HTTP2Wire.data(5, "x")),
        Case(
            "DATA with padding past its end", [.protocolError],
            open + HTTP2Wire.frame(0, flags: 8, stream: 1, [5, 1, 2])),
        Case("DATA too large", [.frameSizeError], open + HTTP2Wire.frame(0, stream: 1, huge)),
        Case("HEADERS on stream 0", [.protocolError], HTTP2Wire.headers(0, get)),
        Case("HEADERS too large", [.frameSizeError], HTTP2Wire.headers(1, huge)),
        Case(
            "HEADERS with padding past its end", [.protocolError], HTTP2Wire.frame(1, flags: 0xD, stream: 1, [99] + get)
        ),
        Case("PRIORITY on stream 0", [.protocolError], HTTP2Wire.priority(0, on: 1)),
        Case("PRIORITY of four octets", [.frameSizeError], open + HTTP2Wire.frame(2, stream: 1, [0, 0, 0, 0])),
        Case("RST_STREAM on stream 0", [.protocolError], HTTP2Wire.reset(0)),
        Case("RST_STREAM on an idle stream", [.protocolError], HTTP2Wire.reset(7)),
        Case("RST_STREAM of three octets", [.frameSizeError], open + HTTP2Wire.frame(3, stream: 1, [0, 0, 0])),
        Case("SETTINGS ACK with octets", [.frameSizeError], HTTP2Wire.frame(4, flags: 1, [0, 0, 0, 0, 0, 0])),
        Case("SETTINGS on a stream", [.protocolError], HTTP2Wire.frame(4, stream: 1)),
        Case("SETTINGS of five octets", [.frameSizeError], HTTP2Wire.frame(4, [0, 0, 0, 0, 0])),
        Case(
            "PUSH_PROMISE of a client", [.protocolError],
            open + HTTP2Wire.frame(5, flags: 4, stream: 1, [0, 0, 0, 2] + get)),
        Case("PING on a stream", [.protocolError], HTTP2Wire.frame(6, stream: 1, [UInt8](repeating: 0, count: 8))),
        Case("PING of seven octets", [.frameSizeError], HTTP2Wire.frame(6, [UInt8](repeating: 0, count: 7))),
        Case("GOAWAY on a stream", [.protocolError], HTTP2Wire.frame(7, stream: 1, [UInt8](repeating: 0, count: 8))),
        Case("WINDOW_UPDATE of three octets", [.frameSizeError], HTTP2Wire.frame(8, [0, 0, 1])),
        Case("WINDOW_UPDATE on an idle stream", [.protocolError], HTTP2Wire.windowUpdate(9, 1)),
        Case("CONTINUATION on stream 0", [.protocolError], HTTP2Wire.continuation(0, get)),
        Case("CONTINUATION without HEADERS", [.protocolError], open + HTTP2Wire.continuation(1, get)),
        Case("CONTINUATION behind END_HEADERS", [.protocolError], done + HTTP2Wire.continuation(1, get)),
    ]

    /// Row 4: what may come between HEADERS and CONTINUATION is nothing.
    static let between: [(String, [UInt8])] = [
        ("DATA", HTTP2Wire.data(1, "x")), ("HEADERS", HTTP2Wire.headers(3, get)),
        ("PRIORITY", HTTP2Wire.priority(1, on: 0)),
        ("PING", HTTP2Wire.ping()), ("SETTINGS", HTTP2Wire.settings()), ("RST_STREAM", HTTP2Wire.reset(1)),
        ("WINDOW_UPDATE", HTTP2Wire.windowUpdate(0, 1)), ("CONTINUATION of another", HTTP2Wire.continuation(3, get)),
        ("unknown", HTTP2Wire.frame(0x42, stream: 1, [1])),
    ]
    static let interleaved = between.map {
        Case("\($0.0) in a block", [.protocolError], HTTP2Wire.headers(1, get, endHeaders: false) + $0.1)
    }

    /// Row 9: values of SETTINGS.
    static let settings: [Case] = [
        Case("ENABLE_PUSH 2", [.protocolError], HTTP2Wire.settings([(2, 2)])),
        Case("INITIAL_WINDOW_SIZE past the limit", [.flowControlError], HTTP2Wire.settings([(4, 0x8000_0000)])),
        Case("MAX_FRAME_SIZE 16383", [.protocolError], HTTP2Wire.settings([(5, 16_383)])),
        Case("MAX_FRAME_SIZE 2^24", [.protocolError], HTTP2Wire.settings([(5, 1 << 24)])),
        Case("ENABLE_CONNECT_PROTOCOL 2", [.protocolError], HTTP2Wire.settings([(8, 2)])),
        Case(
            "INITIAL_WINDOW_SIZE that overflows a stream", reset: .flowControlError,
            open + HTTP2Wire.windowUpdate(1, 0x7FFF_0000) + HTTP2Wire.settings([(4, 0x7FFF_FFFF)])),
    ]

    /// Row 10: windows.
    static let windows: [Case] = [
        Case("WINDOW_UPDATE 0 of the connection", [.protocolError], HTTP2Wire.windowUpdate(0, 0)),
        Case("connection window overflows", [.flowControlError], HTTP2Wire.windowUpdate(0, 0x7FFF_FFFF)),
        Case("stream window overflows", reset: .flowControlError, open + HTTP2Wire.windowUpdate(1, 0x7FFF_FFFF)),
    ]

    /// Row 8: what cannot be decoded.
    static let blocks: [(String, [UInt8])] = [
        ("index 0", get + [0x80]), ("index past the tables", get + [0x80 | 62]),
        ("a large index", get + [0xFF, 0xFF, 1]),
        ("name index past the tables", get + [0x40 | 62, 1, 0x61]),
        ("integer that overflows", get + [UInt8](repeating: 0xFF, count: 13)),
        ("table size above the limit", [0x3F, 0xE2, 0x1F] + get), ("table size behind a field", get + [0x20]),
        ("Huffman padding of eight bits", get + [0, 0x81, 0xFF, 1, 0x61]),
        ("Huffman padding of zeros", get + [0, 0x81, 0x18, 1, 0x61]),
        ("Huffman EOS", get + [0, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0x61]),
        ("a string past the end", get + [0, 5, 0x61]),
        ("a name alone", get + [0, 1, 0x61]), ("cut integer", get + [0xFF]),
    ]
    static let compression = blocks.map { Case($0.0, [.compressionError], HTTP2Wire.headers(1, $0.1)) }

    /// Row 24: identifiers and states.
    static let states: [Case] = [
        Case("an even stream", [.protocolError], HTTP2Wire.headers(2, get)),
        Case("a decreasing stream", [.protocolError], HTTP2Wire.headers(5, get) + HTTP2Wire.headers(3, get)),
        Case("HEADERS on a half-closed stream", [.streamClosed], done + done),
        Case("DATA on a half-closed stream", [.streamClosed], done + HTTP2Wire.data(1, "x")),
        Case("HEADERS behind RST_STREAM", [.streamClosed], open + HTTP2Wire.reset(1) + done),
        Case("DATA behind RST_STREAM", [.streamClosed], open + HTTP2Wire.reset(1) + HTTP2Wire.data(1, "x")),
        Case("a second block that does not end", reset: .protocolError, open + HTTP2Wire.headers(1, get, end: false)),
    ]

    @Test(arguments: frames + interleaved + settings + windows + compression + states)
    func `a broken rule has its code`(row: Case) throws {
        let peer = try SessionPeer()
        peer.send(row.octets)
        if let reset = row.reset {
            #expect(peer.resets(1) == [reset.rawValue])
            #expect(peer.goAway == nil)
            #expect(peer.faults.count == 1)
            peer.send(HTTP2Wire.headers(11, Self.get))
            #expect(peer.events.contains("began 11"))
        } else {
            let code = try #require(peer.goAway)
            #expect(row.codes.contains(try #require(HTTP2ErrorCode(rawValue: code))), "\(code)")
            #expect(peer.session.fault != nil)
            #expect(peer.faults.count == 1)
            let before = peer.events
            peer.send(HTTP2Wire.headers(13, Self.get))
            #expect(peer.events == before)
            let begun = peer.heads.keys.max() ?? 0
            #expect(peer.frames(7).first?.lastStream ?? 0 >= UInt32(begun))
        }
    }

    static let beginnings: [(String, [UInt8])] = [
        ("octets of something else", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
        ("a wrong last octet", Array(HTTP2Wire.preface.dropLast()) + [0x0B]),
        ("no SETTINGS", HTTP2Wire.preface + HTTP2Wire.ping()),
        ("SETTINGS ACK first", HTTP2Wire.preface + HTTP2Wire.settingsAck),
        ("HEADERS first", HTTP2Wire.preface + HTTP2Wire.headers(1, HTTP2Wire.request())),
    ]

    @Test(arguments: beginnings)
    func `a connection begins with the preface and SETTINGS`(row: (String, [UInt8])) throws {
        let peer = try SessionPeer(greets: false)
        peer.send(row.1)
        #expect(peer.session.fault == .preface, "\(row.0)")
        #expect(peer.frames.first?.type == 4)
        #expect(peer.goAway == HTTP2ErrorCode.protocolError.rawValue)
        #expect(peer.events.isEmpty)
    }

    @Test func `our first frame says what we hold to`() throws {
        let peer = try SessionPeer(greets: false)
        peer.collect()
        let first = try #require(peer.frames.first)
        #expect(first.type == 4 && first.flags == 0)
        var entries: [UInt8: UInt32] = [:]
        for start in stride(from: 0, to: first.payload.count, by: 6) {
            entries[first.payload[start + 1]] = first.payload[(start + 2)..<(start + 6)].reduce(0) {
                $0 << 8 | UInt32($1)
            }
        }
        #expect(entries == [1: 4_096, 3: 100, 4: 65_536, 6: 65_536, 9: 1])
        #expect(peer.frames(8, 0).map(\.code) == [(1 << 20) - 65_535])
    }

    @Test func `SETTINGS and PING are acknowledged, unknown frames, flags and settings ignored`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.settings([(0x77, 1), (1, 0), (1, 65_536), (3, 0)]))
        peer.send(HTTP2Wire.ping([8, 7, 6, 5, 4, 3, 2, 1]))
        peer.send(HTTP2Wire.frame(0x42, flags: 0xFF, stream: 9, [1, 2, 3]))
        peer.send(HTTP2Wire.frame(1, flags: 0x05 | 0x40, stream: 1, Self.get))
        #expect(peer.frames(4).map(\.flags) == [1])
        #expect(peer.frames(6).map(\.payload) == [[8, 7, 6, 5, 4, 3, 2, 1]])
        #expect(peer.frames(6).map(\.flags) == [1])
        #expect(peer.events == ["began 1", "ended 1"])
        #expect(peer.session.fault == nil)
    }

    @Test func `row 8: a size update at the start of a block and Huffman names are fine`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, [0x20] + Self.get + [0, 0x81, 0x1F, 1, 0x61]))
        #expect(peer.line(1, "a") == "a")
    }

    @Test func `row 9: a changed window holds for open streams and may go below zero`() throws {
        let peer = try SessionPeer()
        let content = [UInt8](repeating: 0x61, count: 50_000)
        peer.send(Self.done)
        let stream = try #require(peer.streams[1])
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        peer.session.write(stream, content.span)
        peer.collect()
        #expect(peer.content(1).count == 50_000)
        peer.send(HTTP2Wire.settings([(4, 100)]))
        peer.session.write(stream, content.span)
        peer.collect()
        #expect(peer.content(1).count == 50_000)
        peer.send(HTTP2Wire.windowUpdate(1, 49_900))
        #expect(peer.content(1).count == 50_000)
        peer.send(HTTP2Wire.windowUpdate(1, 7))
        #expect(peer.content(1).count == 50_007)
        peer.send(HTTP2Wire.settings([(4, 107)]))
        #expect(peer.content(1).count == 50_014)
    }

    @Test func `row 10: a window update of nothing ends the stream or the connection`() throws {
        let peer = try SessionPeer()
        peer.send(Self.open + HTTP2Wire.windowUpdate(1, 0))
        #expect(peer.resets(1) == [1] || peer.goAway == 1)
        #expect(peer.events.contains { $0.hasPrefix("lost 1") })
    }

    @Test func `content past a window ends the connection`() throws {
        let peer = try SessionPeer()
        peer.held = [1]
        peer.send(Self.open)
        for _ in 0..<4 { peer.send(HTTP2Wire.data(1, [UInt8](repeating: 0, count: 16_384))) }
        #expect(peer.goAway == nil)
        peer.send(HTTP2Wire.data(1, "x"))
        #expect(peer.goAway == HTTP2ErrorCode.flowControlError.rawValue || peer.resets(1) == [3])
        #expect(peer.events.last?.hasPrefix("lost 1") == true)
        #expect(peer.contents[1] == nil)
    }

    @Test func `row 24: a stream that depends on itself breaks nothing`() throws {
        let peer = try SessionPeer()
        peer.send(Self.open + HTTP2Wire.priority(1, on: 1))
        #expect(peer.goAway == nil || peer.goAway == HTTP2ErrorCode.protocolError.rawValue)
        let other = try SessionPeer()
        other.send(HTTP2Wire.frame(1, flags: 0x25, stream: 1, [0, 0, 0, 1, 15] + Self.get))
        #expect(other.goAway == nil || other.goAway == HTTP2ErrorCode.protocolError.rawValue)
    }

    @Test func `row 24: GOAWAY names the last stream that was looked at`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, Self.get) + HTTP2Wire.headers(7, Self.get) + HTTP2Wire.headers(3, Self.get))
        #expect(peer.frames(7).first?.lastStream == 7)
        #expect(peer.session.fault == .streamID)
    }

    @Test func `a frame that was under way when we reset its stream is forgiven`() throws {
        let peer = try SessionPeer()
        peer.send(Self.open)
        let stream = try #require(peer.streams[1])
        peer.session.reset(stream, .internalError)
        peer.collect()
        #expect(peer.resets(1) == [2])
        peer.send(
            HTTP2Wire.data(1, "late") + HTTP2Wire.windowUpdate(1, 5)
                + HTTP2Wire.headers(1, HTTP2Wire.block([("x", "1")])))
        peer.send(HTTP2Wire.reset(1))
        #expect(peer.goAway == nil)
        peer.send(HTTP2Wire.headers(3, Self.get))
        #expect(peer.events.contains("began 3"))
        #expect(peer.faults.isEmpty)
    }
}
