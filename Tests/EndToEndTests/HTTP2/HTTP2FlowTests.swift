// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Slow streams, small windows and the life of connections.
@Suite(.timeLimit(.minutes(10))) struct HTTP2FlowTests {
    private static func big(_ count: Int) throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            while let request = try peer.request() {
                guard request.target == "/big" else {
                    try peer.send(ScriptedUpstream.ok(request.target))
                    continue
                }
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
                try peer.send(pattern(count))
            }
        }
    }

    @Test func `a stream that nobody reads does not hold up the others`() throws {
        let bench = try Bench(upstream: Self.big(8_000_000))
        let client = try bench.http2()
        client.opensWindows = false
        // The window of the connection is large, that of the stream is not.
        try client.send(HTTP2Wire.windowUpdate(0, 100_000_000))
        let slow = try client.open("GET", "/big")
        #expect(try client.wait(slow) { $0.body.count == 65_535 })
        for number in 0..<50 { #expect(try client.exchange("GET", "/\(number)").text == "/\(number)") }
        #expect(bench.resident < 200 << 20)
        try client.send(HTTP2Wire.windowUpdate(slow, 8_000_000))
        #expect(try client.response(slow).body == pattern(8_000_000))
    }

    @Test func `a window of one octet is served octet by octet`() throws {
        let bench = try Bench(upstream: Self.big(300))
        let client = try bench.http2([(4, 1)])
        let stream = try client.open("GET", "/big")
        #expect(try client.response(stream).body == pattern(300))
    }

    @Test func `a client that opens no window is cut by name`() throws {
        let bench = try Bench(.init(sections: "timeouts: { write: 1s }"), upstream: Self.big(100_000))
        let client = try bench.http2([(4, 0)])
        let stuck = try client.open("GET", "/big")
        #expect(try client.response(stuck).resetCode == 8)
        let line = bench.daemon.accessLine { $0["path"].text == "/big" }
        #expect(line?["reason"].text == "http.write_timeout")
        #expect(line?["end"].text == "write_timeout")
        #expect(bench.daemon.event("http2.cut")?["fault"].text == "http2.stream_write_timeout")
        try client.send(HTTP2Wire.settings([(4, 65_535)]))
        #expect(try client.exchange("GET", "/after").text == "/after")
    }

    @Test func `a stream whose content does not come is answered with 408`() throws {
        let bench = try Bench(.init(sections: "timeouts: { body_idle: 1s }"))
        let client = try bench.http2()
        let late = try client.open("POST", "/late", [("content-length", "5")], isWhole: false)
        #expect(try client.response(late).status == 408)
        #expect(bench.daemon.accessLine { $0["path"].text == "/late" }?["reason"].text == "http.body_timeout")
        #expect(try client.exchange("GET", "/after").status == 200)
    }

    @Test func `an idle connection is closed with a word of farewell`() throws {
        let bench = try Bench(.init(sections: "timeouts: { keep_alive: 1s }"))
        let client = try bench.http2()
        #expect(try client.exchange("GET", "/a").status == 200)
        #expect(try client.isClosed())
        #expect(client.goAwayCode == 0)
        #expect(client.frames.last { $0.type == 7 }?.lastStream == 1)
    }

    @Test func `SIGTERM says so and lets open streams finish`() throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                if request.target == "/slow" { gate.wait() }
                try peer.send(ScriptedUpstream.ok(request.target))
            }
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.http2()
        let slow = try client.open("GET", "/slow")
        let upload = try client.open("POST", "/upload", isWhole: false)
        _ = try client.send(upload, [1], end: false)
        #expect(upstream.requests(1).count == 1)
        bench.daemon.child.signal(SIGTERM)
        let notice = try client.next(7)
        #expect(notice?.code == 0)
        #expect(notice?.lastStream == 0x7FFF_FFFF)
        // Before the last word a stream may still be on its way.
        let late = try client.open("GET", "/late")
        while let frame = try client.next(), frame.type != 6 || frame.flags != 0 {
            // The PING behind the notice.
        }
        #expect(try client.response(late).text == "/late")
        _ = try client.send(upload, [2])
        #expect(try client.response(upload).text == "/upload")
        if let ping = client.frames.last(where: { $0.type == 6 }) {
            try client.send(HTTP2Wire.ping(ping.payload, ack: true))
        }
        #expect(try client.next(7)?.lastStream == 5)
        gate.open()
        #expect(try client.response(slow).text == "/slow")
        #expect(try client.isClosed())
        #expect(bench.daemon.child.exitCode() == 0)
    }

    @Test func `SIGHUP does not disturb streams`() throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                if request.target == "/slow" { gate.wait() }
                try peer.send(ScriptedUpstream.ok(request.target))
            }
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.http2()
        let slow = try client.open("GET", "/slow")
        #expect(upstream.requests(1).count == 1)
        for count in 1...3 {
            bench.daemon.child.signal(SIGHUP)
            #expect(bench.daemon.event("reload.done", count: count) != nil)
            #expect(try client.exchange("GET", "/a").status == 200)
        }
        gate.open()
        #expect(try client.response(slow).text == "/slow")
        #expect(client.goAwayCode == nil)
    }

    @Test func `a preface without SETTINGS is bad HTTP/1`() throws {
        let bench = try Bench()
        let client = try bench.client()
        try client.send(HTTP2Wire.preface + Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let answer = try client.response()
        #expect([400, 505].contains(answer?.status ?? 0))
        #expect(client.isClosed())
        #expect(bench.upstream.accepted == 0)
    }
}
