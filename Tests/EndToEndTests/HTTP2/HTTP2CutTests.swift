// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

extension Bench {
    /// Whether so many access-log lines of that kind come before the deadline.
    func hasLines(_ count: Int, where fits: (JSONValue) -> Bool) -> Bool {
        var left = count
        return daemon.accessLine { line in
            if fits(line) { left -= 1 }
            return left == 0
        } != nil
    }

    /// A connection of HTTP/2 without TLS, past its SETTINGS.
    func http2(_ settings: [(UInt16, UInt32)] = []) throws -> HTTP2Client {
        let client = HTTP2Client(try Wire.connect(to: address))
        client.opensWindows = true
        try client.greet(settings)
        return client
    }
}

/// What HTTP/2 cuts is named: in the line of the exchange, in a metric, and in an event.
@Suite(.timeLimit(.minutes(10))) struct HTTP2CutTests {
    /// An upstream that answers nothing.
    private static func silent() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in while try peer.request() != nil {} }
    }

    static func fault(_ code: String) -> String { "hidgate_http2_faults_total{fault=\"\(code)\"}" }

    @Test func `a stream whose content is longer than announced is named`() throws {
        let bench = try Bench(upstream: Self.silent())
        let client = try bench.http2()
        let stream = try client.open(
            "POST", "/a", [("content-length", "3"), ("expect", "100-continue")], isWhole: false)
        #expect(try client.wait(stream) { $0.interim == [100] })
        try client.send(HTTP2Wire.data(stream, "four"))
        #expect(try client.response(stream).resetCode == 1)
        let line = bench.daemon.accessLine { $0["protocol"].text == "HTTP/2" }
        #expect(line?["reason"].text == "http2.content_length")
        #expect(line?["end"].text == "http2_fault")
        #expect(line?["decision"].text == "reject")
        #expect(line?["status"].number == 0)
        #expect(try bench.metric(Self.fault("http2.content_length")) == 1)
        #expect(bench.daemon.event("http2.cut")?["fault"].text == "http2.content_length")
    }

    @Test func `streams under a connection that is cut are named by its fault`() throws {
        let bench = try Bench(upstream: Self.silent())
        let client = try bench.http2()
        _ = try client.open("GET", "/one")
        _ = try client.open("GET", "/two")
        #expect(bench.upstream.requests(2).count == 2)
        try client.send(Array([[UInt8]](repeating: HTTP2Wire.settings(), count: 150).joined()))
        #expect(try client.isClosed())
        #expect(client.goAwayCode == 11)
        for path in ["/one", "/two"] {
            let line = bench.daemon.accessLine { $0["path"].text == path }
            #expect(line?["reason"].text == "http2.settings_flood")
            #expect(line?["end"].text == "http2_fault")
        }
        #expect(try bench.metric(Self.fault("http2.settings_flood")) == 1)
        #expect(try bench.metric("hidgate_reasons_total{reason=\"http2.settings_flood\"}") == 2)
    }

    @Test func `without an exchange the event names it, once in a while and with what it left out`() throws {
        let bench = try Bench()
        for _ in 0..<5 {
            let client = try bench.http2()
            try client.send(HTTP2Wire.frame(6, [1, 2, 3]))
            #expect(try client.isClosed())
        }
        let event = bench.daemon.event("http2.cut")
        #expect(event?["fault"].text == "http2.frame_size")
        #expect(event?["client"].text == "127.0.0.1")
        #expect(event?["listener"].text?.hasPrefix("127.0.0.1:") == true)
        #expect(event?["explanation"].text?.isEmpty == false)
        #expect(event?["more"].number == 0)
        #expect(try bench.metric(Self.fault("http2.frame_size")) == 5)
        #expect(bench.daemon.child.lines.filter { $0.contains("\"http2.cut\"") }.count == 1)
        #expect(bench.hasLines(5) { $0["reason"].text == "http2.frame_size" })
    }

    @Test func `a request that is malformed resets its stream and is named`() throws {
        let bench = try Bench()
        let client = try bench.http2()
        try client.send(HTTP2Wire.headers(1, HTTP2Wire.request("GET", "no-slash")))
        #expect(try client.response(1).resetCode == 1)
        try client.send(HTTP2Wire.headers(3, HTTP2Wire.request("GET", "/a", [("connection", "close")])))
        #expect(try client.response(3).resetCode == 1)
        #expect(try bench.metric(Self.fault("http2.path")) == 1)
        #expect(try bench.metric(Self.fault("http2.connection_field")) == 1)
        #expect(bench.daemon.event("http2.cut", count: 2)?["fault"].text == "http2.connection_field")
        #expect(bench.upstream.accepted == 0)
        try client.send(HTTP2Wire.headers(5, HTTP2Wire.request("GET", "/good")))
        #expect(try client.response(5).status == 200)
        #expect(bench.daemon.accessLine { $0["path"].text == "/good" } != nil)
        #expect(
            bench.daemon.accessLines.compactMap { $0["reason"].text } == ["http2.path", "http2.connection_field"])
    }

    @Test func `a reset by the client is still its own doing`() throws {
        let bench = try Bench(upstream: Self.silent())
        let client = try bench.http2()
        let stream = try client.open("GET", "/a")
        #expect(bench.upstream.requests(1).count == 1)
        try client.send(HTTP2Wire.reset(stream))
        let line = bench.daemon.accessLine { $0["path"].text == "/a" }
        #expect(line?["reason"].text == "http.client_abort")
        #expect(line?["end"].text == "client_abort")
    }
}
