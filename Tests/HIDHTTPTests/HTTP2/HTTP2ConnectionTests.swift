// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct HTTP2ConnectionTests {
    static func get(_ stream: UInt32, _ path: String) -> [UInt8] {
        HTTP2Wire.headers(stream, HTTP2Wire.request("GET", path))
    }
    static func post(_ stream: UInt32, _ path: String, _ fields: [(String, String)] = []) -> [UInt8] {
        HTTP2Wire.headers(stream, HTTP2Wire.request("POST", path, fields), end: false)
    }

    @Test func `requests of one connection have handlers of their own`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.post(1, "/a") + Self.post(3, "/b") + HTTP2Wire.data(3, "three", end: true))
        let second = try client.answer(3)
        #expect(second.blocks == [[":status: 200", "content-type: text/plain", "content-length: 5"]])
        #expect(second.content == Array("three".utf8))
        try client.send(HTTP2Wire.data(1, "one", end: true))
        let first = try client.answer(1)
        #expect(first.content == Array("one".utf8))
        #expect(server.logged("/a began http2"))
        #expect(server.logged("/b done true"))
    }

    @Test func `octets that were read before the hand-over count`() throws {
        let server = try HTTP2Server()
        let client = try server.connect(early: HTTP2Wire.preface + Array(HTTP2Wire.settings().prefix(3)))
        try client.send(Array(HTTP2Wire.settings().dropFirst(3)) + Self.get(1, "/x"))
        #expect(try client.answer(1).blocks.first?.first == ":status: 200")
    }

    @Test func `HEAD, 204, interim answers and trailers keep their form`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(HTTP2Wire.headers(1, HTTP2Wire.request("HEAD", "/head")))
        var answer = try client.answer(1)
        #expect(answer.blocks == [[":status: 200", "content-length: 77"]])
        #expect(answer.content.isEmpty)
        try client.send(Self.get(3, "/empty"))
        answer = try client.answer(3)
        #expect(answer.blocks == [[":status: 204"]])
        try client.send(Self.post(5, "/trailers") + HTTP2Wire.headers(5, HTTP2Wire.block([("x-t", "1")])))
        answer = try client.answer(5)
        #expect(
            answer.blocks == [[":status: 103", "link: </a>"], [":status: 200", "trailer: x"], ["x-sum: 9"]])
        #expect(answer.content == Array("x-t: 1\r\n".utf8))
        try client.send(Self.post(7, "/continue", [("expect", "100-continue")]))
        let interim = try client.next(1, 7)
        #expect(interim?.endsStream == false)
        try client.send(HTTP2Wire.data(7, "body", end: true))
        #expect(try client.answer(7).content == Array("body".utf8))
    }

    @Test func `a large answer flows with the windows and its producer waits`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/big") + Self.get(3, "/small"))
        var count = 0
        var isSmallDone = false
        while count < 4_000_000, let frame = try client.next() {
            guard frame.type == 0 else { continue }
            if frame.stream == 3 { isSmallDone = true }
            if frame.stream == 1 { count += frame.payload.count }
            guard !frame.payload.isEmpty else { continue }
            let size = UInt32(frame.payload.count)
            try client.send(HTTP2Wire.windowUpdate(frame.stream, size) + HTTP2Wire.windowUpdate(0, size))
        }
        #expect(count == 4_000_000)
        #expect(isSmallDone || server.logged("/small done"))
        #expect(server.logged("/big done"))
    }

    @Test func `an upload that is held waits in the client`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        let chunk = [UInt8](repeating: 0x61, count: 16_384)
        try client.send(Self.post(1, "/hold"))
        for _ in 0..<4 { try client.send(HTTP2Wire.data(1, chunk)) }
        try client.send(HTTP2Wire.ping())
        let ping = try client.next(6)
        #expect(ping?.flags == 1)
        #expect(!client.frames.contains { $0.type == 8 && $0.stream == 1 })
        #expect(server.log.withLock { !$0.contains("/hold content") })
    }

    @Test func `an early answer ends the upload without error and the connection goes on`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        let chunk = [UInt8](repeating: 0x61, count: 16_000)
        try client.send(Self.post(1, "/early", [("content-length", "10000000")]) + HTTP2Wire.data(1, chunk))
        let answer = try client.answer(1)
        #expect(answer.blocks.first?.first == ":status: 403")
        #expect(answer.content == Array("no".utf8))
        let reset = try client.next(3, 1)
        #expect(reset?.code == 0)
        for _ in 0..<100 { try client.send(HTTP2Wire.data(1, chunk)) }
        try client.send(Self.post(3, "/ok") + HTTP2Wire.data(3, "fine", end: true))
        #expect(try client.answer(3).content == Array("fine".utf8))
        #expect(server.log.withLock { !$0.contains("/early content") })
    }

    @Test func `an answer that is cut short is reset`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/abort"))
        let answer = try client.answer(1)
        #expect(answer.code == HTTP2ErrorCode.internalError.rawValue)
        try client.send(Self.get(3, "/x"))
        #expect(try client.answer(3).code == nil)
    }

    @Test func `a client that goes is lost to each open stream`() throws {
        let server = try HTTP2Server()
        var client: HTTP2Client? = try server.connect()
        try client?.greet()
        try client?.send(Self.get(1, "/never") + Self.post(3, "/half"))
        #expect(server.logged("/never ended"))
        client = nil
        #expect(server.logged("/never lost closed"))
        #expect(server.logged("/half lost closed"))
    }

    @Test func `a stream that the client resets is lost alone`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/never"))
        #expect(server.logged("/never ended"))
        try client.send(HTTP2Wire.reset(1))
        #expect(server.logged("/never lost closed"))
        try client.send(Self.get(3, "/x"))
        #expect(try client.answer(3).code == nil)
    }

    @Test func `faults are told by name and the connection ends with GOAWAY`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "bad"))
        #expect(try client.next(3, 1)?.code == 1)
        #expect(server.logged("http2.path"))
        try client.send(Self.get(3, "/never"))
        #expect(server.logged("/never ended"))
        try client.send(HTTP2Wire.frame(6, stream: 1, [UInt8](repeating: 0, count: 8)))
        #expect(try client.next(7)?.code == 1)
        #expect(try client.isClosed())
        #expect(server.logged("http2.protocol_error"))
        #expect(server.logged("/never lost http2"))
    }

    @Test func `a head over a limit is answered by the handler`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/" + String(repeating: "a", count: 9_000)))
        #expect(try client.answer(1).blocks.first?.first == ":status: 414")
    }

    // MARK: - The end

    @Test func `a drain says so twice, serves what is open and ends`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.post(1, "/a"))
        #expect(server.logged("/a began"))
        server.drain()
        #expect(try client.next(7)?.lastStream == 0x7FFF_FFFF)
        let ping = try #require(try client.next(6))
        try client.send(Self.get(3, "/late") + HTTP2Wire.ping(ping.payload, ack: true))
        _ = try client.answer(3)
        if !client.frames.contains(where: { $0.type == 7 && $0.lastStream == 3 }) {
            #expect(try client.next(7)?.lastStream == 3)
        }
        try client.send(HTTP2Wire.data(1, "x", end: true))
        #expect(try client.answer(1).content == [0x78])
        #expect(try client.isClosed())
        #expect(server.emptied.wait())
    }

    @Test func `a drain of an idle connection does not wait for a client that is silent`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        server.drain()
        #expect(try client.isClosed())
        #expect(client.frames.filter { $0.type == 7 }.map(\.code) == [0, 0])
        #expect(server.emptied.wait())
    }

    @Test func `the end of a drain cuts`() throws {
        let server = try HTTP2Server()
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/never"))
        #expect(server.logged("/never ended"))
        server.cut()
        #expect(try client.isClosed())
        #expect(server.logged("/never lost cut"))
    }

    // MARK: - Timeouts

    @Test func `a connection without streams ends with GOAWAY after the keep-alive time`() throws {
        let server = try HTTP2Server(keepAlive: .milliseconds(80))
        let client = try server.connect()
        try client.greet()
        try client.send(Self.get(1, "/x"))
        _ = try client.answer(1)
        #expect(try client.next(7)?.code == 0)
        #expect(try client.isClosed())
    }

    @Test func `a connection with an open stream outlives the keep-alive time`() throws {
        let server = try HTTP2Server(bodyIdle: .seconds(2), keepAlive: .milliseconds(20))
        let client = try server.connect()
        try client.greet()
        try client.send(Self.post(1, "/a"))
        let answer = try client.answer(1)
        #expect(answer.blocks.first?.first == ":status: 408")
        #expect(server.logged("/a failed contentTimeout"))
    }

    @Test func `a client that says nothing, or no whole preface, is closed`() throws {
        let server = try HTTP2Server(header: .milliseconds(80))
        let silent = try server.connect()
        #expect(try silent.isClosed())
        let slow = try server.connect()
        try slow.send(HTTP2Wire.preface)
        #expect(try slow.isClosed())
        #expect(server.logged("http2.header_timeout"))
    }

    @Test(arguments: [0, 1])
    func `a header block that does not end in time ends the connection`(which: Int) throws {
        let server = try HTTP2Server(header: .milliseconds(80))
        let client = try server.connect()
        try client.greet()
        let block = HTTP2Wire.request()
        let whole = HTTP2Wire.headers(1, block, endHeaders: which == 1)
        try client.send(which == 1 ? Array(whole.dropLast(3)) : whole)
        #expect(try client.isClosed())
        #expect(server.logged("http2.header_timeout"))
    }

    @Test func `a stream whose window stays closed is reset, others live`() throws {
        let server = try HTTP2Server(write: .milliseconds(120))
        let client = try server.connect()
        try client.greet([(4, 0)])
        try client.send(Self.get(1, "/big"))
        #expect(try client.next(3, 1)?.code == HTTP2ErrorCode.cancel.rawValue)
        #expect(server.logged("http2.stream_write_timeout"))
        #expect(server.logged("/big lost writeTimeout"))
        try client.send(Self.get(3, "/empty"))
        #expect(try client.next(1, 3) != nil)
    }

    @Test func `a client that reads nothing at all is closed`() throws {
        let server = try HTTP2Server(write: .milliseconds(120))
        let client = try server.connect(sendBuffer: 4_096)
        try client.greet([(4, 1 << 30)])
        try client.send(HTTP2Wire.windowUpdate(0, 1 << 30) + Self.get(1, "/big"))
        #expect(server.logged("http2.write_timeout"))
        #expect(server.logged("/big lost writeTimeout"))
    }
}
