// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Exchanges over HTTP/2, on the built program.
@Suite(.timeLimit(.minutes(10))) struct HTTP2ExchangeTests {
    /// An upstream with an answer for each path, which echoes content.
    private static func world() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            while let request = try peer.request() {
                switch request.target {
                case "/204": try peer.send("HTTP/1.1 204 No Content\r\n\r\n")
                case "/304": try peer.send("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")
                case "/head": try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n")
                case "/early":
                    try peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ScriptedUpstream.ok("late"))
                case "/trailers":
                    try peer.send(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: grpc-status\r\n\r\n"
                            + "5\r\nhello\r\n0\r\ngrpc-status: 0\r\n\r\n")
                case "/only":
                    try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\ngrpc-status: 5\r\n\r\n")
                case "/big":
                    try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                    try peer.send(pattern(1_000_000))
                default:
                    try peer.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\nX-Path: \(request.target)\r\n\r\n")
                    try peer.send(request.body)
                }
            }
        }
    }

    /// The same over TLS and without; what holds the gateway stays with it.
    private func each(_ body: (Bench, HTTP2Client) throws -> Void) throws {
        let plain = try Bench(upstream: Self.world())
        try body(plain, plain.http2())
        let tls = try TLSBench(upstream: Self.world())
        try body(tls.bench, tls.http2())
    }

    @Test func `methods and answers without content`() throws {
        try each { bench, client in
            #expect(try client.exchange("GET", "/204").status == 204)
            let unmodified = try client.exchange("GET", "/304")
            #expect(unmodified.status == 304)
            #expect(unmodified["etag"] == "\"x\"")
            let head = try client.exchange("HEAD", "/head")
            #expect(head.status == 200)
            #expect(head["content-length"] == "77")
            #expect(head.body.isEmpty)
            let post = try client.response(client.post("/echo", body: Array("hello".utf8)))
            #expect(post.text == "hello")
            let line = bench.daemon.accessLine { $0["path"].text == "/echo" }
            #expect(line?["protocol"].text == "HTTP/2")
            #expect(line?["end"] == .null)
            let request = bench.upstream.requests.last
            #expect(request?.startLine == "POST /echo HTTP/1.1")
            #expect(request?["Host"] == "api.test")
        }
    }

    @Test func `a megabyte goes up and down unchanged`() throws {
        try each { _, client in
            #expect(try client.exchange("GET", "/big").body == pattern(1_000_000))
            let body = pattern(1_000_000)
            let stream = try client.post("/echo", [("content-length", "\(body.count)")], body: body)
            #expect(try client.response(stream).body == body)
        }
    }

    @Test func `a hundred streams at once are answered each with its own`() throws {
        try each { bench, client in
            let streams = try (0..<100).map { number in
                (number, try client.open("POST", "/echo/\(number)", isWhole: false))
            }
            for part in 0..<3 {
                for (number, stream) in streams {
                    _ = try client.send(stream, Array("\(number):\(part);".utf8), end: part == 2)
                }
            }
            for (number, stream) in streams {
                let answer = try client.response(stream)
                #expect(answer.text == "\(number):0;\(number):1;\(number):2;")
                #expect(answer["x-path"] == "/echo/\(number)")
            }
            #expect(bench.upstream.requests.count == 100)
        }
    }

    @Test func `each stream is judged alone`() throws {
        try each { bench, client in
            let body = Array("{\"user\":1}".utf8)
            let good = [("x-hid-token", try bench.token()), ("x-hid-signature", try bench.signature(body))]
            let first = try client.open("POST", "/api/v1/login", good, isWhole: false)
            let second = try client.open("POST", "/api/v1/login", isWhole: false)
            let third = try client.open("GET", "/free")
            _ = try client.send(second, body)
            _ = try client.send(first, body)
            #expect(try client.response(first).status == 200)
            #expect(try client.response(second).status == 403)
            #expect(try client.response(third).status == 200)
            #expect(bench.upstream.requests.filter { $0.method == "POST" }.count == 1)
            #expect(bench.upstream.requests.first { $0.method == "POST" }?["X-HID-Verdict"] == "human")
            // The token is used up, and another stream is no way around that.
            let again = try client.response(client.post("/api/v1/login", good, body: body))
            #expect(again.status == 403)
            #expect(bench.daemon.accessLine { $0["reason"].text == "hid.replay" } != nil)
        }
    }

    @Test func `cookies are joined, and fields of the connection are not there`() throws {
        try each { bench, client in
            let fields = [("cookie", "a=1"), ("x-a", "b"), ("cookie", "b=2"), ("te", "trailers")]
            let answer = try client.exchange("GET", "/a", fields)
            #expect(answer.status == 200)
            let request = bench.upstream.requests.last
            #expect(request?["Cookie"] == "a=1; b=2")
            #expect(request?["TE"]?.lowercased() == "trailers")
        }
    }

    @Test func `trailers pass both ways, and an answer of trailers only does (envoy 7149, nghttp2 453, traefik 4181)`()
        throws
    {
        try each { bench, client in
            let down = try client.exchange("GET", "/trailers", [("te", "trailers")])
            #expect(down.text == "hello")
            #expect(down.trailers == ["grpc-status: 0"])
            let only = try client.exchange("GET", "/only")
            #expect(only["grpc-status"] == "5")
            #expect(only.isEnded)
            #expect(only.body.isEmpty)
            let stream = try client.open("POST", "/up", isWhole: false)
            _ = try client.send(stream, [1, 2, 3], end: false)
            try client.send(HTTP2Wire.headers(stream, HTTP2Wire.block([("x-sum", "6")])))
            #expect(try client.response(stream).body == [1, 2, 3])
            #expect(bench.upstream.requests.last?.all("trailer").contains { $0.lowercased() == "x-sum: 6" } == true)
        }
    }

    @Test func `interim answers come first`() throws {
        try each { bench, client in
            let early = try client.exchange("GET", "/early")
            #expect(early.interim == [103])
            #expect(early.text == "late")
            let body = Array("{}".utf8)
            let stream = try client.open(
                "POST", "/api/v1/login",
                [
                    ("expect", "100-continue"), ("content-length", "2"), ("x-hid-token", try bench.token()),
                    ("x-hid-signature", try bench.signature(body)),
                ], isWhole: false)
            #expect(try client.wait(stream) { $0.interim == [100] })
            _ = try client.send(stream, body)
            #expect(try client.response(stream).status == 200)
            // No content of a request that is refused is asked for.
            let refused = try client.open("POST", "/api/v1/login", [("expect", "100-continue")], isWhole: false)
            let answer = try client.response(refused)
            #expect(answer.status == 403)
            #expect(answer.interim.isEmpty)
        }
    }

    @Test func `a refusal in the middle of an upload leaves the other streams alone (haproxy 3495, 410)`() throws {
        try each { bench, client in
            let up = try client.open("POST", "/echo", isWhole: false)
            _ = try client.send(up, pattern(10_000), end: false)
            let refused = try client.open("POST", "/api/v1/login", isWhole: false)
            let sent = try client.send(refused, pattern(3_000_000))
            #expect(sent < 3_000_000)
            #expect(try client.response(refused).status == 403)
            _ = try client.send(up, pattern(5_000))
            #expect(try client.response(up).body == pattern(10_000) + pattern(5_000))
            #expect(bench.upstream.requests.count == 1)
        }
    }

    @Test func `what a client sends for a refused stream does not close the window of the connection`() throws {
        let bench = try Bench(upstream: Self.world())
        let client = try bench.http2()
        for _ in 0..<40 {
            let stream = try client.open("POST", "/api/v1/login", isWhole: false)
            // All that the window of a stream holds, whatever the gateway has said meanwhile.
            for _ in 0..<4 { try client.send(HTTP2Wire.data(stream, pattern(16_000))) }
            #expect(try client.response(stream).status == 403)
        }
        #expect(try client.response(client.post("/echo", body: pattern(200_000))).body == pattern(200_000))
    }

    @Test func `an extended CONNECT is refused, a plain one too`() throws {
        try each { bench, client in
            let extended = HTTP2Wire.request("CONNECT", "/chat", [(":protocol", "websocket")])
            let block = HTTP2Wire.block([
                (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/chat"),
                (":authority", "api.test"),
            ])
            for (stream, block) in [
                (1, extended), (3, block),
                (5, HTTP2Wire.block([(":method", "CONNECT"), (":authority", "api.test:1")])),
            ] {
                try client.send(HTTP2Wire.headers(UInt32(stream), block))
                let answer = try client.response(UInt32(stream))
                #expect(answer.resetCode != nil || answer.status >= 400, "\(stream)")
            }
            try client.send(HTTP2Wire.headers(7, HTTP2Wire.request("GET", "/after")))
            #expect(try client.response(7).status == 200)
            #expect(bench.upstream.requests.map(\.target) == ["/after"])
        }
    }
}
