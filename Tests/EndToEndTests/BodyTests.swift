// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// Bodies: wanted, unwanted, held, cut.
@Suite(.timeLimit(.minutes(10))) struct BodyTests {
    private static let expect = "Expect: 100-continue\r\n"

    private static func head(_ bytes: [UInt8], bodyCount: Int) -> [UInt8] { Array(bytes.dropLast(bodyCount)) }

    @Test func `100 is sent when the body of a plain route is wanted`() throws {
        let bench = try Bench()
        let client = try bench.client()
        try client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\(Self.expect)\r\n")
        #expect(try client.responseHead()?.status == 100)
        try client.send("hello")
        #expect(try client.response()?.status == 200)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen.text == "hello")
        #expect(seen["Expect"] == nil)
    }

    @Test func `100 is sent when the head of a critical request is good`() throws {
        let bench = try Bench()
        let body = pattern(70_000)
        let client = try bench.client()
        try client.send(Self.head(try bench.good(body, fields: Self.expect), bodyCount: body.count))
        #expect(try client.responseHead()?.status == 100)
        try client.send(body)
        #expect(try client.response()?.status == 200)
        #expect(bench.upstream.requests.first?.body == body)
    }

    @Test func `no 100 before a refusal (haproxy 3316)`() throws {
        let bench = try Bench()
        let client = try bench.client()
        try client.send(
            "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\(Self.expect)\r\n")
        let answer = try client.response()
        #expect(answer?.status == 403)
        #expect(answer?.interim.count == 0)
        #expect(answer?["Connection"] == "close")
        #expect(client.isClosed())
    }

    @Test func `an early answer arrives whole while the client still uploads`() throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.requestHead()
            try peer.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 100000\r\n\r\n")
            try peer.send(pattern(100_000))
            _ = peer.wire.isEnded()
        }
        let bench = try Bench(upstream: upstream)
        for _ in 0..<5 {
            let client = try bench.client()
            try client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n")
            try client.send(pattern(30_000))
            let answer = try client.response()
            #expect(answer?.status == 401)
            #expect(answer?.body == pattern(100_000))
            #expect(answer?.isComplete == true)
        }
        #expect(upstream.accepted == 5, "a connection with half a request on it was used again")
    }

    @Test func `a refusal can be read by a client that uploads 10 MB first (haproxy 761)`() throws {
        let bench = try Bench()
        let body = [UInt8](repeating: 0x61, count: 10 << 20)
        for run in 0..<100 {
            let client = try bench.client()
            try client.send("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
            do { try client.send(body) } catch WireError.reset {}
            let answer = try client.response()
            #expect(answer?.status == 403, "run \(run)")
            #expect(answer?.isComplete == true, "run \(run)")
        }
    }

    @Test func `a refusal with a short body leaves the connection usable`() throws {
        let bench = try Bench()
        let client = try bench.client()
        #expect(try client.exchange(Bench.post(body: pattern(20_000)))?.status == 403)
        #expect(try client.exchange(try bench.good())?.status == 200)
    }

    @Test(arguments: [1, 65_535, 65_536, 65_537, 200_000, (1 << 20) - 1, 1 << 20])
    func `a held body arrives intact`(_ count: Int) throws {
        let bench = try Bench()
        let body = pattern(count)
        let client = try bench.client()
        #expect(try client.exchange(try bench.good(body))?.status == 200)
        let seen = try #require(bench.upstream.requests.first)
        #expect(seen.body == body)
        #expect(seen["Content-Length"] == "\(count)")
        var pieces = Array("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n".utf8)
        pieces += "X-HID-Token: \(try bench.token())\r\nX-HID-Signature: \(try bench.signature(body))\r\n\r\n".utf8
        var offset = 0
        while offset < count {
            let size = min(7001, count - offset)
            pieces += "\(String(size, radix: 16))\r\n".utf8
            pieces += body[offset..<(offset + size)]
            pieces += "\r\n".utf8
            offset += size
        }
        #expect(try client.exchange(pieces + Array("0\r\n\r\n".utf8))?.status == 200)
        let second = try #require(bench.upstream.requests.last)
        #expect(second.body == body)
        #expect(second["Content-Length"] == "\(count)")
        #expect(second["Transfer-Encoding"] == nil)
    }

    @Test func `a held body of one octet too many is 413`() throws {
        let bench = try Bench()
        let answer = try bench.once(try bench.good(pattern((1 << 20) + 1)))
        #expect(answer?.status == 413)
        #expect(bench.upstream.requests.isEmpty)
    }

    @Test func `monitoring forwards a body that is too long to be signed intact`() throws {
        let bench = try Bench(.init(mode: "monitoring"))
        let body = pattern(3 << 20)
        #expect(try bench.once(try bench.good(body))?.status == 200)
        #expect(bench.upstream.requests.first?.body == body)
        let chunked = Array(
            ("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-HID-Token: "
                + "\(try bench.token())\r\nX-HID-Signature: \(try bench.signature(body))\r\n\r\n300000\r\n").utf8)
        let answer = try bench.once(chunked + body + Array("\r\n0\r\n\r\n".utf8))
        #expect(answer?.status == 200)
        #expect(bench.upstream.requests.last?.body == body)
        #expect(bench.line(of: answer)?["reason"].text == "sig.body_too_large")
    }

    @Test(arguments: [false, true])
    func `a client that leaves in a held body costs nothing and burns no token`(_ resets: Bool) throws {
        let bench = try Bench()
        let body = pattern(200_000)
        let request = try bench.good(body, fields: Self.expect)
        let client = try bench.client()
        try client.send(Self.head(request, bodyCount: body.count))
        #expect(try client.responseHead()?.status == 100)
        try client.send(Array(body.prefix(100_000)))
        if resets { client.wire.reset() } else { client.wire.close() }
        let line = bench.daemon.accessLine { $0["end"].text == "client_abort" }
        #expect(line?["reason"].text == "http.client_abort")
        #expect(line?["path"].text == "/api/v1/login")
        #expect(bench.upstream.accepted == 0)
        #expect(try bench.once(request)?.status == 200)
    }

    @Test func `a held body whose framing breaks is 400 and goes nowhere`() throws {
        let bench = try Bench()
        let answer = try bench.once(
            "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-HID-Token: "
                + "\(try bench.token())\r\nX-HID-Signature: \(try bench.signature([]))\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n")
        #expect(answer?.status == 400)
        #expect(bench.line(of: answer)?["end"].text == "content_fault")
        #expect(bench.upstream.accepted == 0)
    }
}
