// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// A chunked body is gathered for a moment: its client holds no upstream connection, and waits for nobody.
@Suite(.timeLimit(.minutes(10))) struct GatherTests {
    /// An upstream that notes when it sees a head, and echoes what comes behind it.
    private final class Echo: Sendable {
        let seen = Monitor<ContinuousClock.Instant?>(nil)
        let go = Gate()
        let upstream: Monitor<ScriptedUpstream?> = Monitor(nil)

        init(answersFirst: Bool = false) throws {
            let (seen, go) = (seen, go)
            let made = try ScriptedUpstream { peer in
                _ = try peer.requestHead()
                seen.withLock { $0 = ContinuousClock.now }
                go.wait()
                if answersFirst { try peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n") }
                var rest = peer.reader.buffer
                while !String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n") {
                    rest += try peer.wire.more()
                }
                try peer.send(answersFirst ? "0\r\n\r\n" : ScriptedUpstream.ok("\(rest.count)"))
            }
            upstream.withLock { $0 = made }
        }

        func bench(_ setup: Bench.Setup = .init()) throws -> Bench {
            try Bench(setup, upstream: upstream.withLock { $0 })
        }

        /// How long after `start` the head came.
        func delay(since start: ContinuousClock.Instant) -> Duration? { seen.wait { $0 }.map { $0 - start } }
    }

    private static func post(_ fields: String = "") -> String {
        "POST /up HTTP/1.1\r\nHost: a\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n"
    }

    @Test func `a head alone goes to the upstream after 100 ms`() throws {
        let echo = try Echo(answersFirst: true)
        let bench = try echo.bench()
        let client = try bench.client()
        let start = ContinuousClock.now
        try client.send(Self.post())
        echo.go.open()
        // A client that waits for an answer before it sends anything gets one.
        #expect(try client.responseHead()?.status == 200)
        let delay = try #require(echo.delay(since: start))
        #expect(delay >= .milliseconds(100), "\(delay)")
        try client.send("3\r\nabc\r\n0\r\n\r\n")
        #expect(bench.daemon.accessLine { $0["path"].text == "/up" }?["decision"].text == "pass")
    }

    @Test func `a client that sends little and slowly holds no upstream connection for the first 100 ms`() throws {
        let echo = try Echo()
        let bench = try echo.bench()
        let client = try bench.client()
        let start = ContinuousClock.now
        try client.send(Self.post() + "3\r\nabc\r\n")
        let delay = try #require(echo.delay(since: start))
        #expect(delay >= .milliseconds(100), "\(delay)")
        echo.go.open()
        #expect(try client.exchange("3\r\ndef\r\n0\r\n\r\n")?.text == "21")
    }

    @Test func `16 KiB go on at once, and so does a body that is whole`() throws {
        var fastest = (large: Duration.seconds(60), whole: Duration.seconds(60))
        for _ in 0..<5 {
            let large = try Echo()
            large.go.open()
            let bench = try large.bench()
            let client = try bench.client()
            let start = ContinuousClock.now
            try client.send(Array((Self.post() + "4000\r\n").utf8) + pattern(0x4000) + Array("\r\n".utf8))
            fastest.large = min(fastest.large, try #require(large.delay(since: start)))
            #expect(try client.exchange("0\r\n\r\n")?.status == 200)
            let whole = try Echo()
            whole.go.open()
            let second = try whole.bench()
            let other = try second.client()
            let later = ContinuousClock.now
            #expect(try other.exchange(Self.post() + "3\r\nabc\r\n0\r\n\r\n")?.status == 200)
            fastest.whole = min(fastest.whole, try #require(whole.delay(since: later)))
        }
        #expect(fastest.large < .milliseconds(90), "\(fastest)")
        #expect(fastest.whole < .milliseconds(90), "\(fastest)")
    }

    static let conversations = [
        "Expect: 100-continue\r\n", "TE: trailers\r\n", "Content-Type: application/grpc\r\n",
        "Content-Type: Application/gRPC-Web+proto\r\n", "Upgrade: x\r\nConnection: upgrade\r\n",
    ]

    @Test(arguments: conversations)
    func `what says that its directions belong together goes on at once`(fields: String) throws {
        var fastest = Duration.seconds(60)
        for _ in 0..<5 {
            let echo = try Echo()
            let bench = try echo.bench()
            let client = try bench.client()
            let start = ContinuousClock.now
            try client.send(Self.post(fields))
            fastest = min(fastest, try #require(echo.delay(since: start)))
            echo.go.open()
        }
        #expect(fastest < .milliseconds(90), "\(fastest)")
    }

    @Test func `a stream of HTTP-2 without a length goes on at once`() throws {
        var fastest = Duration.seconds(60)
        for _ in 0..<5 {
            let echo = try Echo(answersFirst: true)
            echo.go.open()
            let bench = try echo.bench()
            let client = try bench.http2()
            let start = ContinuousClock.now
            let stream = try client.open("POST", "/up", [("content-type", "application/grpc")], isWhole: false)
            #expect(try client.wait(stream) { $0.text == "hi" })
            fastest = min(fastest, try #require(echo.delay(since: start)))
            try client.send(HTTP2Wire.data(stream, "abc", end: true))
            #expect(try client.response(stream).isEnded)
        }
        #expect(fastest < .milliseconds(90), "\(fastest)")
    }

    /// The moment of the first must not end the gathering of the second.
    @Test func `a request behind one that was gathered is gathered by itself`() throws {
        let bench = try Bench()
        let client = try bench.client()
        let whole = Self.post() + "3\r\nabc\r\n0\r\n\r\n"
        #expect(try client.exchange(whole)?.status == 200)
        try client.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        Gate().wait(Deadline(in: .milliseconds(300)))
        #expect(bench.upstream.requests.map(\.target) == ["/up"])
        #expect(try client.exchange("def")?.status == 200)
        #expect(bench.upstream.requests.last?.body == Array("abcdef".utf8))
    }

    @Test func `trailers, bytes and order stay as they are in pieces of any size`() throws {
        let bench = try Bench()
        let body = pattern(70_000)
        for size in [1, 100, 5_000, 16_383, 16_384, 16_385, 70_000] {
            let client = try bench.client()
            var octets = Array(Self.post("Trailer: X-Sum\r\n").utf8)
            let pieces = size == 1 ? 200 : (body.count + size - 1) / size
            for index in 0..<pieces {
                let piece = body[(index * size)..<min(body.count, (index + 1) * size)]
                octets += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
            }
            octets += Array("0\r\nX-Sum: 9\r\n\r\n".utf8)
            for start in stride(from: 0, to: octets.count, by: 9_000) {
                try client.send(Array(octets[start..<min(octets.count, start + 9_000)]))
            }
            #expect(try client.response()?.status == 200)
            #expect(bench.upstream.requests.last?.body == Array(body.prefix(pieces * size)), "\(size)")
        }
    }

    @Test func `a client that leaves while it is gathered costs the upstream nothing`() throws {
        let bench = try Bench()
        for _ in 0..<5 {
            let client = try bench.client()
            try client.send(Self.post() + "3\r\nabc\r\n")
            client.wire.close()
        }
        #expect(bench.hasLines(5) { $0["end"].text == "client_abort" })
        // A busy machine may take longer than 100 ms to see them leave.
        #expect(bench.upstream.accepted < 5)
        let slow = try bench.client()
        #expect(try slow.exchange(Self.post() + "0\r\n\r\n")?.status == 200)
    }
}
