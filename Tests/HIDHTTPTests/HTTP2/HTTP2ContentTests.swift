// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

/// Content, trailers, windows and the ends of streams and connections.
@Suite struct HTTP2ContentTests {
    static func post(_ stream: UInt32, _ fields: [(String, String)] = []) -> [UInt8] {
        HTTP2Wire.headers(stream, HTTP2Wire.request("POST", "/up", fields), end: false)
    }

    @Test func `content arrives without framing and padding, and ends`() throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1, [("content-length", "9")]))
        #expect(peer.heads[1]?.framing == .length(9))
        peer.send(HTTP2Wire.data(1, "one"))
        peer.send(HTTP2Wire.paddedData(1, Array("two".utf8), padding: 200))
        #expect(peer.events == ["began 1"])
        peer.send(HTTP2Wire.data(1, "six", end: true))
        #expect(peer.contents[1] == Array("onetwosix".utf8))
        #expect(peer.events == ["began 1", "ended 1"])
    }

    /// Row 18 and 19: the length is compared, however the content comes.
    static let lengths: [(String, String, [[UInt8]])] = [
        ("more", "3", [HTTP2Wire.data(1, "four")]),
        ("more in pieces", "3", [HTTP2Wire.data(1, "ab"), HTTP2Wire.data(1, "cd")]),
        ("less", "5", [HTTP2Wire.data(1, "four", end: true)]), ("nothing", "5", [HTTP2Wire.data(1, [], end: true)]),
        (
            "less, ended by trailers", "5",
            [HTTP2Wire.data(1, "four"), HTTP2Wire.headers(1, HTTP2Wire.block([("x", "1")]))]
        ),
        ("none announced", "0", [HTTP2Wire.data(1, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n", end: true)]),
        ("none announced, more later", "0", [HTTP2Wire.data(1, "G")]),
    ]

    @Test(arguments: lengths)
    func `row 18: content of another length than announced ends its stream and is not whole`(
        row: (String, String, [[UInt8]])
    ) throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1, [("content-length", row.1)]))
        for frame in row.2 { peer.send(frame) }
        #expect(peer.resets(1) == [1], "\(row.0)")
        #expect(peer.faults == [.contentLength])
        #expect(peer.events == ["began 1", "lost 1 fault(HIDHTTP.HTTP2Fault.contentLength)"])
        #expect(peer.goAway == nil)
    }

    @Test func `row 19: what follows a length of zero is nobody's request`() throws {
        let peer = try SessionPeer()
        peer.send(
            Self.post(1, [("content-length", "0")])
                + HTTP2Wire.data(1, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n", end: true))
        #expect(peer.events.isEmpty)
        #expect(peer.contents[1] == nil)
        #expect(peer.faults == [.contentLength])
    }

    @Test func `row 22: trailers are kept apart, and those that mean something in a head are dropped`() throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1) + HTTP2Wire.data(1, "x"))
        let trailers = [
            ("x-checksum", "abc"), ("x-hid-token", "stolen"), ("content-length", "5"), ("host", "evil.test"),
            ("authorization", "x"), ("x_hid_token", "y"), ("grpc-status", "0"),
        ]
        let before = peer.heads[1]
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.block(trailers)))
        #expect(peer.events == ["began 1", "ended 1"])
        let stream = try #require(peer.streams[1])
        #expect(String(decoding: stream.trailers, as: UTF8.self) == "x-checksum: abc\r\ngrpc-status: 0\r\n")
        #expect(stream.head == before)
    }

    static let badTrailers: [[(String, String)]] = [
        [(":path", "/")], [(":status", "200")], [("transfer-encoding", "chunked")], [("connection", "close")],
        [("X-Up", "1")], [("x", "a\r\nb")], [("", "")], [(String, String)](repeating: ("x", "1"), count: 33),
        [("x", String(repeating: "a", count: 8_193))],
    ]

    @Test(arguments: badTrailers)
    func `row 13: malformed trailers end their stream and the request is not whole`(fields: [(String, String)]) throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1))
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.block(fields)))
        #expect(peer.resets(1) == [1])
        #expect(peer.faults == [.trailers])
        #expect(!peer.events.contains("ended 1"))
    }

    // MARK: - Windows

    @Test func `content that is not taken holds the client back, and taking it opens the window`() throws {
        let peer = try SessionPeer()
        peer.held = [1]
        peer.send(Self.post(1))
        let chunk = [UInt8](repeating: 0x61, count: 16_384)
        for _ in 0..<4 { peer.send(HTTP2Wire.data(1, chunk)) }
        #expect(peer.contents[1] == nil)
        #expect(peer.frames(8).isEmpty)
        #expect(peer.session.waitingInput == 65_536)
        peer.held = []
        peer.session.resume(try #require(peer.streams[1]), now: peer.now)
        peer.collect()
        #expect(peer.contents[1]?.count == 65_536)
        #expect(peer.session.waitingInput == 0)
        #expect(peer.frames(8, 1).map(\.code) == [65_536])
        // The end waits behind the content.
        peer.held = [1]
        peer.send(HTTP2Wire.data(1, "last", end: true))
        #expect(!peer.events.contains("ended 1"))
        peer.held = []
        peer.session.resume(try #require(peer.streams[1]), now: peer.now)
        #expect(peer.events == ["began 1", "ended 1"])
        #expect(peer.contents[1]?.count == 65_540)
    }

    @Test func `row 6: an answer that nobody takes waits within its limit and its producer is told`() throws {
        let peer = try SessionPeer(settings: [(4, 0)])
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let stream = try #require(peer.streams[1])
        let chunk = [UInt8](repeating: 0x61, count: 16_000)
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        var written = 0
        while !peer.session.isBackedUp(stream) {
            peer.session.write(stream, chunk.span)
            written += chunk.count
        }
        peer.collect()
        #expect(written == 80_000)
        #expect(peer.content(1).isEmpty)
        #expect(stream.hasWaitingOutput && stream.lastOutput == peer.now)
        peer.pass(seconds: 60)
        peer.send(HTTP2Wire.windowUpdate(1, 40_000))
        #expect(!peer.events.contains("drained 1"))
        #expect(stream.lastOutput == peer.now)
        peer.send(HTTP2Wire.windowUpdate(1, 8_000))
        #expect(peer.events.contains("drained 1"))
        #expect(peer.content(1).count == 48_000)
        peer.session.cut(stream, .streamWriteTimeout, now: peer.now)
        peer.collect()
        #expect(peer.resets(1) == [HTTP2ErrorCode.cancel.rawValue])
        #expect(peer.faults == [.streamWriteTimeout])
        #expect(peer.session.waitingOutput == 0)
    }

    @Test func `row 6: all answers of a connection together are bounded`() throws {
        var limits = HTTP2Limits()
        limits.bufferedOctets = 1 << 20
        limits.connectionOutput = 256 << 10
        let peer = try SessionPeer(limits: limits, settings: [(4, 0)])
        let chunk = [UInt8](repeating: 0x61, count: 60_000)
        for index in 0..<10 as Range<UInt32> { peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request())) }
        for stream in peer.streams.values.sorted(by: { $0.id < $1.id }) {
            peer.session.respond(stream, status: 200, lines: [], endsStream: false)
            peer.session.write(stream, chunk.span)
        }
        #expect(peer.streams.values.filter(peer.session.isBackedUp).count == 6)
        while peer.session.fault == nil { peer.streams[1].map { peer.session.write($0, chunk.span) } }
        peer.collect()
        #expect(peer.session.fault == .bufferLimit)
        #expect(peer.session.waitingOutput == 0)
        #expect(peer.events.filter { $0.hasPrefix("lost") }.count == 10)
    }

    @Test func `streams share the connection`() throws {
        let peer = try SessionPeer(settings: [(4, 1 << 20)])
        let large = [UInt8](repeating: 0x61, count: 200_000)
        for id in [1, 3] as [UInt32] { peer.send(HTTP2Wire.headers(id, HTTP2Wire.request())) }
        for id in [1, 3] as [Int32] {
            let stream = try #require(peer.streams[id])
            peer.session.respond(stream, status: 200, lines: [], endsStream: false)
            peer.session.write(stream, large.span)
        }
        peer.collect()
        #expect(peer.content(1).count + peer.content(3).count == 65_535)
        #expect(abs(peer.content(1).count - peer.content(3).count) <= 16_384)
    }

    // MARK: - Ends

    @Test func `row 26: behind an early answer the stream is reset without error and other streams live`() throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1, [("content-length", "10000000")]) + HTTP2Wire.data(1, "first"))
        let stream = try #require(peer.streams[1])
        peer.session.respond(stream, status: 403, lines: Array("Content-Length: 2\r\n".utf8), endsStream: false)
        peer.session.write(stream, Array("no".utf8).span)
        peer.session.end(stream)
        peer.collect()
        #expect(peer.headers(1) == [[":status: 403", "content-length: 2"]])
        #expect(peer.frames(0, 1).last?.endsStream == true)
        #expect(peer.resets(1) == [0])
        #expect(peer.events == ["began 1", "sent 1"])
        // The client notices late: four times the connection's window is dropped and given back.
        let chunk = [UInt8](repeating: 0x61, count: 16_384)
        for _ in 0..<256 { peer.send(HTTP2Wire.data(1, chunk)) }
        #expect(peer.session.fault == nil)
        let refunded = peer.frames(8, 0).reduce(0) { $0 + Int($1.code) }
        #expect(refunded >= 3 << 20)
        peer.send(Self.post(3) + HTTP2Wire.data(3, chunk, end: true))
        #expect(peer.contents[3] == chunk)
        #expect(peer.faults.isEmpty)
    }

    @Test(arguments: ["answered", "reset by the client", "reset by us", "malformed"])
    func `row 26: content that was held for a stream that ended is given back`(how: String) throws {
        let peer = try SessionPeer()
        let chunk = [UInt8](repeating: 0, count: 15_000)
        for index in 0..<40 as Range<UInt32> {
            let id = 2 * index + 1
            peer.held = [Int32(id)]
            peer.send(Self.post(id, how == "malformed" ? [("content-length", "60000")] : []))
            for _ in 0..<4 { peer.send(HTTP2Wire.data(id, chunk)) }
            let stream = try #require(peer.streams[Int32(id)])
            switch how {
            case "answered": peer.session.respond(stream, status: 403, lines: [], endsStream: true)
            case "reset by us": peer.session.reset(stream, .cancel)
            case "malformed": peer.send(HTTP2Wire.data(id, "x"))
            default: peer.send(HTTP2Wire.reset(id))
            }
            peer.session.deliver()
            peer.collect()
            #expect(peer.session.waitingInput == 0)
        }
        // More than twice the window of the connection came, and none of it was taken.
        #expect(peer.session.fault == nil)
        #expect(peer.contents.isEmpty)
        let refunded = peer.frames(8, 0).reduce(0) { $0 + Int($1.code) }
        #expect(refunded >= 40 * 60_000 - (1 << 20))
    }

    @Test func `row 25: streams past the limit are refused alone, and the answered ones make room`() throws {
        let peer = try SessionPeer()
        for index in 0..<105 as Range<UInt32> { peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request())) }
        #expect(peer.heads.count == 100)
        for id in [201, 203, 205, 207, 209] as [UInt32] { #expect(peer.resets(id) == [7]) }
        #expect(peer.faults == [HTTP2Fault](repeating: .refusedStream, count: 5))
        #expect(peer.session.fault == nil)
        peer.answer(1)
        peer.send(HTTP2Wire.headers(211, HTTP2Wire.request()))
        #expect(peer.heads[211] != nil)
    }

    @Test func `row 25: a client that goes on past the limit is cut, one that cannot know it yet is not`() throws {
        let peer = try SessionPeer()
        for index in 0..<500 as Range<UInt32> where peer.session.fault == nil {
            peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request()))
        }
        #expect(peer.session.fault == .rapidReset)
        let early = try SessionPeer(greets: false)
        early.send(HTTP2Wire.preface + HTTP2Wire.settings())
        for index in 0..<500 as Range<UInt32> { early.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request())) }
        #expect(early.session.fault == nil)
        for index in 500..<2_000 as Range<UInt32> { early.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request())) }
        #expect(early.session.fault == .rapidReset)
    }

    @Test func `row 28: a graceful end tells twice, serves what came before, and is over`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        peer.session.beginShutdown()
        peer.collect()
        #expect(peer.frames(7).map(\.lastStream) == [0x7FFF_FFFF])
        #expect(peer.goAway == 0)
        let ping = try #require(peer.frames(6).first)
        peer.send(HTTP2Wire.headers(3, HTTP2Wire.request()))
        #expect(peer.events.contains("began 3"))
        peer.send(HTTP2Wire.ping(ping.payload, ack: true))
        #expect(peer.frames(7).map(\.lastStream) == [0x7FFF_FFFF, 3])
        peer.send(HTTP2Wire.headers(5, HTTP2Wire.request()))
        #expect(!peer.events.contains("began 5"))
        #expect(!peer.session.isDone)
        peer.answer(1)
        #expect(!peer.session.isDone)
        peer.answer(3)
        #expect(peer.session.isDone)
        #expect(peer.session.fault == nil)
    }

    @Test func `row 29: each stream of a connection has its own head`() throws {
        let peer = try SessionPeer()
        peer.send(
            HTTP2Wire.headers(1, HTTP2Wire.request("POST", "/login", [("x-hid-token", "good")]))
                + HTTP2Wire.headers(3, HTTP2Wire.request("POST", "/login")))
        #expect(peer.line(1, "x-hid-token") == "good")
        #expect(peer.line(3, "x-hid-token") == nil)
    }

    // MARK: - Answers

    @Test func `an answer has lower-case names and nothing of an HTTP-1 connection`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let lines =
            "Content-Type:  text/plain \r\nConnection: close\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n"
            + "Upgrade: h2c\r\nProxy-Connection: x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Empty:\r\nbad line\r\n"
        peer.session.respond(try #require(peer.streams[1]), status: 204, lines: Array(lines.utf8), endsStream: true)
        peer.collect()
        let expected = [":status: 204", "content-type: text/plain", "set-cookie: a=1", "set-cookie: b=2", "x-empty: "]
        #expect(peer.headers(1) == [expected])
        #expect(peer.frames(1, 1).map(\.endsStream) == [true])
        #expect(peer.frames(0).isEmpty)
    }

    @Test func `an answer may have a large head`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let value = (0..<8_000).map { _ in "\u{7e}" }.joined()
        let lines = (0..<20).map { "x-\($0): \(value)\r\n" }.joined()
        peer.session.respond(try #require(peer.streams[1]), status: 200, lines: Array(lines.utf8), endsStream: true)
        peer.collect()
        #expect(peer.frames(9, 1).count >= 9)
        #expect(peer.events.last == "sent 1")
    }

    @Test func `interim answers come first, trailers last`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let stream = try #require(peer.streams[1])
        peer.session.sendInterim(stream, status: 100, lines: [])
        peer.session.sendInterim(stream, status: 103, lines: Array("Link: </a>\r\n".utf8))
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        peer.session.write(stream, Array("x".utf8).span)
        peer.session.end(stream, trailers: Array("Grpc-Status: 0\r\nConnection: x\r\n".utf8))
        peer.collect()
        #expect(
            peer.headers(1) == [
                [":status: 100"], [":status: 103", "link: </a>"], [":status: 200"], ["grpc-status: 0"],
            ])
        #expect(peer.frames(1, 1).map(\.endsStream) == [false, false, false, true])
        #expect(peer.frames(0, 1).map(\.endsStream) == [false])
        #expect(peer.events.last == "sent 1")
    }

    @Test func `an answer without content but with trailers has them`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let stream = try #require(peer.streams[1])
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        peer.session.end(stream, trailers: Array("grpc-status: 12\r\n".utf8))
        peer.collect()
        #expect(peer.headers(1) == [[":status: 200"], ["grpc-status: 12"]])
        #expect(peer.content(1).isEmpty)
        #expect(peer.frames(1, 1).last?.endsStream == true)
    }

    @Test func `what is said of a stream that is over is not sent`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request()))
        let stream = try #require(peer.streams[1])
        peer.send(HTTP2Wire.reset(1))
        #expect(peer.events.last == "lost 1 resetByPeer(8)")
        peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        peer.session.write(stream, [1, 2, 3].span)
        peer.session.end(stream)
        peer.session.reset(stream, .cancel)
        peer.collect()
        #expect(peer.frames.isEmpty)
        #expect(peer.session.waitingOutput == 0)
    }

    @Test func `the end of the connection is the loss of every open stream, once`() throws {
        let peer = try SessionPeer()
        peer.send(Self.post(1) + HTTP2Wire.headers(3, HTTP2Wire.request()))
        peer.answer(3)
        peer.session.connectionLost()
        peer.session.connectionLost()
        #expect(peer.events == ["began 1", "began 3", "ended 3", "sent 3", "lost 1 connectionClosed"])
        #expect(peer.session.slots == 0)
    }

    @Test func `octets of a stream are counted`() throws {
        let peer = try SessionPeer()
        let head = Self.post(1)
        let data = HTTP2Wire.data(1, "12345", end: true)
        peer.send(head + data)
        peer.answer(1, "ok")
        let stream = try #require(peer.streams[1])
        #expect(stream.bytesIn == head.count + data.count)
        #expect(stream.bytesOut == peer.frames.filter { $0.stream == 1 }.reduce(0) { $0 + 9 + $1.payload.count })
    }
}
