// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

/// What a client can send for nothing, and where it ends (RFC 9113 section 10.5).
@Suite(.timeLimit(.minutes(10))) struct HTTP2FloodTests {
    static let calm = HTTP2ErrorCode.enhanceYourCalm.rawValue

    @Test func `row 1: requests that are reset at once cost the application nothing and end the connection`() throws {
        let peer = try SessionPeer()
        for index in 0..<10_000 as Range<UInt32> where peer.session.fault == nil {
            peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request()) + HTTP2Wire.reset(2 * index + 1))
        }
        #expect(peer.events.isEmpty)
        #expect(peer.cuts.count <= 1)
        #expect(peer.session.fault == .rapidReset)
        #expect(peer.goAway == Self.calm)
        #expect(peer.frames(7).first?.lastStream == 201)
    }

    @Test func `row 1: resets that come with the next octets are counted too`() throws {
        let peer = try SessionPeer()
        for index in 0..<200 as Range<UInt32> where peer.session.fault == nil {
            peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request()))
            peer.send(HTTP2Wire.reset(2 * index + 1))
        }
        #expect(peer.session.fault == .rapidReset)
        #expect(peer.heads.count == 101)
        #expect(peer.events.filter { $0.hasPrefix("lost") && $0.hasSuffix("resetByPeer(8)") }.count == 100)
    }

    @Test(arguments: [10.0, 1_000.0, 100_000.0])
    func `row 1: a client that cancels one request in five is never cut (nghttp2 1984)`(perSecond: Double) throws {
        let peer = try SessionPeer()
        for index in 0..<6_000 as Range<UInt32> {
            let id = 2 * index + 1
            peer.send(HTTP2Wire.headers(id, HTTP2Wire.request()))
            if index % 5 == 0 { peer.send(HTTP2Wire.reset(id)) } else { peer.answer(Int32(id)) }
            peer.pass(seconds: 1 / perSecond)
            peer.frames = []
            peer.events = []
        }
        #expect(peer.session.fault == nil)
    }

    @Test func `row 1: a thousand resets in ten seconds may not be a third of the streams`() throws {
        let peer = try SessionPeer()
        var resets = 0
        for index in 0..<6_000 as Range<UInt32> where peer.session.fault == nil {
            let id = 2 * index + 1
            peer.send(HTTP2Wire.headers(id, HTTP2Wire.request()))
            if index % 3 == 0 {
                peer.send(HTTP2Wire.reset(id))
                resets += 1
            } else {
                peer.answer(Int32(id))
            }
        }
        #expect(peer.session.fault == .rapidReset)
        #expect(resets == 1_001)
    }

    @Test func `row 1: a client that cancels a page of requests now and then is not cut`() throws {
        let peer = try SessionPeer()
        var id: UInt32 = 1
        for _ in 0..<20 {
            let page = (0..<90).map { id + 2 * $0 as UInt32 }
            for stream in page { peer.send(HTTP2Wire.headers(stream, HTTP2Wire.request())) }
            for stream in page { peer.send(HTTP2Wire.reset(stream)) }
            id += 180
            peer.pass(seconds: 11)
        }
        #expect(peer.session.fault == nil)
    }

    /// Row 2: what makes us reset a stream.
    static let provocations: [(name: String, octets: @Sendable (UInt32) -> [UInt8])] = [
        ("window update past the limit", { HTTP2Wire.windowUpdate($0, 0x7FFF_FFFF) }),
        ("window update of nothing", { HTTP2Wire.windowUpdate($0, 0) }),
        ("content past its length", { HTTP2Wire.data($0, "too long") }),
        ("trailers that do not end", { HTTP2Wire.headers($0, HTTP2Wire.block([("x", "1")]), end: false) }),
    ]

    @Test(arguments: 0..<4)
    func `row 2: resets that the client makes us send count like its own`(which: Int) throws {
        let peer = try SessionPeer()
        for index in 0..<200 as Range<UInt32> where peer.session.fault == nil {
            let id = 2 * index + 1
            peer.send(HTTP2Wire.headers(id, HTTP2Wire.request("POST", "/", [("content-length", "1")]), end: false))
            peer.send(Self.provocations[which].octets(id))
        }
        // A window update of nothing is a connection error where the framing layer takes it for one.
        let isCut = peer.session.fault == .rapidReset || (which == 1 && peer.session.fault == .protocolError)
        #expect(isCut, "\(Self.provocations[which].name): \(String(describing: peer.session.fault))")
        #expect(peer.heads.count <= 101)
    }

    @Test func `row 2: a place is free again when the work has ended, not when the stream has`() throws {
        let peer = try SessionPeer()
        peer.releasesAtOnce = false
        for index in 0..<100 as Range<UInt32> {
            peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request()))
            if index < 90 { peer.send(HTTP2Wire.reset(2 * index + 1)) }
        }
        #expect(peer.session.slots == 100)
        peer.send(HTTP2Wire.headers(201, HTTP2Wire.request()))
        #expect(peer.resets(201) == [HTTP2ErrorCode.refusedStream.rawValue])
        #expect(peer.heads[201] == nil)
        for id in stride(from: 1, to: 21, by: 2) as StrideTo<Int32> { peer.streams[id].map(peer.session.release) }
        #expect(peer.session.slots == 90)
        peer.send(HTTP2Wire.headers(203, HTTP2Wire.request()))
        #expect(peer.heads[203] != nil)
    }

    @Test(arguments: [0, 1, 100])
    func `row 3: a header block has eight CONTINUATION frames at most`(octets: Int) throws {
        let peer = try SessionPeer()
        var sent = 0
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request(), endHeaders: false))
        while peer.session.fault == nil, sent < 100 {
            peer.send(HTTP2Wire.continuation(1, [UInt8](repeating: 0x82, count: octets), endHeaders: false))
            sent += 1
        }
        #expect(sent == 9)
        #expect(peer.session.fault == .continuationFlood)
        #expect(peer.goAway == Self.calm)
    }

    @Test func `row 3: a block in nine frames passes`() throws {
        let peer = try SessionPeer()
        let block = HTTP2Wire.request()
        peer.send(HTTP2Wire.headers(1, Array(block.prefix(8)), endHeaders: false))
        for index in 1...8 {
            let part =
                index < 8 ? Array(block[(8 * index)..<min(block.count, 8 * index + 8)]) : Array(block.dropFirst(64))
            peer.send(HTTP2Wire.continuation(1, part, endHeaders: index == 8))
        }
        #expect(peer.events == ["began 1", "ended 1"])
    }

    @Test func `row 3: a coded block past its limit is not decoded`() throws {
        let peer = try SessionPeer()
        let part = HTTP2Wire.literal(Array("x".utf8), [UInt8](repeating: 0x61, count: 16_000))
        peer.send(HTTP2Wire.headers(1, part, endHeaders: false))
        for _ in 0..<4 { peer.send(HTTP2Wire.continuation(1, part, endHeaders: false)) }
        #expect(peer.session.fault == nil || peer.session.fault == .headerBlockTooLarge)
        peer.send(HTTP2Wire.continuation(1, part, endHeaders: false))
        #expect(peer.session.fault == .headerBlockTooLarge)
        #expect(peer.goAway == Self.calm)
    }

    static let budgets: [(String, [UInt8], HTTP2Fault)] = [
        ("SETTINGS", HTTP2Wire.settings(), HTTP2Fault.settingsFlood), ("SETTINGS ACK", [], .settingsFlood),
        ("PING", HTTP2Wire.ping(), .pingFlood), ("PING ACK", HTTP2Wire.ping(ack: true), .pingFlood),
        ("PRIORITY", HTTP2Wire.priority(1, on: 0), .priorityFlood),
        ("PRIORITY_UPDATE", HTTP2Wire.frame(0x10, [0, 0, 0, 1]), .priorityFlood),
        ("WINDOW_UPDATE", HTTP2Wire.windowUpdate(0, 1), .windowUpdateFlood),
        ("unknown", HTTP2Wire.frame(0x42, [1]), .strayFrameFlood),
        ("empty DATA", HTTP2Wire.data(1, []), .emptyDataFlood),
        ("DATA of padding", HTTP2Wire.paddedData(1, [], padding: 9), .emptyDataFlood),
    ]

    @Test(arguments: budgets)
    func `row 5: each kind of frame has a budget`(row: (String, [UInt8], HTTP2Fault)) throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("POST"), end: false))
        var sent = 0
        while peer.session.fault == nil, sent < 5_000 {
            peer.send(row.0 == "SETTINGS ACK" ? HTTP2Wire.settings() : row.1)
            sent += 1
        }
        #expect(peer.session.fault == row.2)
        #expect(peer.goAway == Self.calm)
        // The same frames over a longer time are fine.
        let calm = try SessionPeer()
        calm.send(HTTP2Wire.headers(1, HTTP2Wire.request("POST"), end: false))
        for _ in 0..<400 {
            calm.send(row.0 == "SETTINGS ACK" ? HTTP2Wire.settings() : row.1)
            calm.pass(seconds: 0.5)
        }
        #expect(calm.session.fault == nil)
    }

    @Test func `row 5: header frames of no octets have a budget`() throws {
        let peer = try SessionPeer()
        for index in 0..<20 as Range<UInt32> where peer.session.fault == nil {
            peer.send(HTTP2Wire.headers(2 * index + 1, []))
        }
        #expect(peer.session.fault == .emptyHeaderFlood)
        let other = try SessionPeer()
        other.send(HTTP2Wire.headers(1, (0..<20).flatMap { _ in HTTP2Wire.literal([], []) }))
        #expect(other.session.fault == .emptyHeaderFlood)
    }

    @Test func `row 5: acknowledgements that nobody reads are bounded`() throws {
        let peer = try SessionPeer()
        var limits = HTTP2Limits()
        limits.pingFrames = 1 << 30
        let session = try HTTP2Session(limits: limits, headLimits: .test, now: 0, delegate: peer)
        let greeting = HTTP2Wire.preface + HTTP2Wire.settings()
        session.receive(greeting.span, now: 0)
        var sent = 0
        let ping = HTTP2Wire.ping()
        while session.fault == nil, sent < 100_000 {
            session.receive(ping.span, now: 0)
            sent += 1
        }
        #expect(session.fault == .controlQueue)
        #expect(sent <= 1_001)
    }

    @Test func `row 5: a reader may open its windows with every frame it gets`() throws {
        let peer = try SessionPeer()
        let chunk = [UInt8](repeating: 0x61, count: 1_000)
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let stream = try #require(peer.streams[1])
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        for _ in 0..<5_000 {
            peer.session.write(stream, chunk.span)
            peer.collect()
            peer.send(HTTP2Wire.windowUpdate(1, 1_000) + HTTP2Wire.windowUpdate(0, 1_000))
            peer.frames = []
        }
        #expect(peer.session.fault == nil)
    }

    @Test func `row 7: one large field named ten thousand times is counted and not copied`() throws {
        let peer = try SessionPeer()
        let large = HTTP2Wire.indexed(Array("x-bomb".utf8), [UInt8](repeating: 0x61, count: 3_900))
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request() + large))
        #expect(peer.events.contains("began 1"))
        let bomb = HTTP2Wire.request() + [UInt8](repeating: 0x80 | 62, count: 10_000)
        peer.send(HTTP2Wire.headers(3, bomb))
        #expect(peer.events.contains("refused 3 431"))
        #expect(peer.headers(3) == [[":status: 431"]])
        #expect(peer.session.fault == nil)
        peer.send(HTTP2Wire.headers(5, HTTP2Wire.request() + [0x80 | 62]))
        #expect(peer.line(5, "x-bomb")?.count == 3_900)
    }
}
