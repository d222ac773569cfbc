// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Floods and smuggling attempts against the built program.
@Suite(.timeLimit(.minutes(10))) struct HTTP2AttackTests {
    /// What a flood sends at a time, until the connection ends.
    enum Flood: String, CaseIterable {
        case rapidReset = "http2.rapid_reset"
        case madeReset = "http2.rapid_reset/made"
        case continuation = "http2.continuation_flood"
        case headerBlock = "http2.header_block_too_large"
        case settings = "http2.settings_flood"
        case ping = "http2.ping_flood"
        case priority = "http2.priority_flood"
        case emptyData = "http2.empty_data_flood"
        case windowUpdate = "http2.window_update_flood"
        case stray = "http2.stray_frame_flood"

        var fault: String { String(rawValue.prefix { $0 != "/" }) }

        /// The round's octets; `number` is odd and grows by 2.
        func octets(_ number: UInt32) -> [UInt8] {
            let head = HTTP2Wire.request("GET", "/flood", authority: "api.test")
            return switch self {
            case .rapidReset: HTTP2Wire.headers(number, head) + HTTP2Wire.reset(number)
            // A window over its limit is an error of the stream (RFC 9113 section 6.9.1).
            case .madeReset:
                HTTP2Wire.headers(number, head, end: false) + HTTP2Wire.windowUpdate(number, 0x7FFF_FFFF)
            case .continuation:
                number == 1
                    ? HTTP2Wire.headers(1, head, endHeaders: false)
                    : HTTP2Wire.continuation(1, HTTP2Wire.block([("x", "y")]), endHeaders: false)
            case .headerBlock:
                number == 1
                    ? HTTP2Wire.headers(1, head, endHeaders: false)
                    : HTTP2Wire.continuation(
                        1, HTTP2Wire.block([("x", String(repeating: "y", count: 16_000))]), endHeaders: false)
            case .settings: HTTP2Wire.settings([(4, number)])
            case .ping: HTTP2Wire.ping()
            case .priority: HTTP2Wire.priority(number, on: 0)
            case .emptyData:
                (number == 1 ? HTTP2Wire.headers(1, HTTP2Wire.request("POST", "/flood"), end: false) : [])
                    + HTTP2Wire.data(1, [])
            case .windowUpdate: HTTP2Wire.windowUpdate(0, 1)
            case .stray: HTTP2Wire.frame(0xEE, [1, 2, 3])
            }
        }
    }

    @Test(arguments: Flood.allCases)
    func `a flood is cut by name while a good client is served`(_ flood: Flood) throws {
        let bench = try Bench(.init(loops: 1))
        let good = try bench.http2()
        #expect(try good.exchange("GET", "/good").status == 200)
        let time = bench.processorTime
        let bad = try bench.http2()
        var sent = 0
        var number: UInt32 = 1
        while sent < 200 {
            var octets: [UInt8] = []
            for _ in 0..<100 {
                octets += flood.octets(number)
                number += 2
            }
            guard (try? bad.send(octets)) != nil else { break }
            sent += 1
            if sent % 10 == 0 { #expect(try good.exchange("GET", "/good").status == 200) }
        }
        #expect(try bad.isClosed())
        let event = bench.daemon.child.firstLine { line in
            JSONValue(line).flatMap { $0["fault"].text == flood.fault ? $0 : nil }
        }
        #expect(event?["event"].text == "http2.cut")
        #expect(try bench.metric("hidgate_http2_faults_total{fault=\"\(flood.fault)\"}") == 1)
        #expect(bench.upstream.requests.filter { $0.target == "/flood" }.count <= 1_100)
        #expect(bench.processorTime - time < 10)
        #expect(bench.resident < 200 << 20)
        #expect(try good.exchange("GET", "/good").status == 200)
        #expect(bench.reaches("hidgate_connections", 1))
    }

    /// Heads and content that a translator to HTTP/1 must not believe.
    private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n"
    private static let attempts: [(name: String, fields: [(String, String)], body: String)] = [
        ("CL shorter", [("content-length", "0")], smuggled),
        ("CL longer", [("content-length", "5000")], smuggled),
        ("CL twice", [("content-length", "3"), ("content-length", "\(smuggled.utf8.count)")], smuggled),
        ("CL signed", [("content-length", "+3")], smuggled),
        ("CL list", [("content-length", "3, 3")], smuggled),
        ("TE", [("transfer-encoding", "chunked")], "0\r\n\r\n" + smuggled),
        ("TE in a value", [("x-a", "b\r\ntransfer-encoding: chunked")], "0\r\n\r\n" + smuggled),
        ("TE in a name", [("x-a: b\r\ntransfer-encoding", "chunked")], "0\r\n\r\n" + smuggled),
        ("TE with a space", [("transfer-encoding ", "chunked")], "0\r\n\r\n" + smuggled),
        ("upper case", [("Transfer-Encoding", "chunked")], "0\r\n\r\n" + smuggled),
        ("connection", [("connection", "content-length")], smuggled),
        ("LF in a value", [("x-a", "b\n\n" + smuggled)], ""),
        ("NUL in a value", [("x-a", "b\0c")], ""),
        ("host and authority", [("host", "evil.test")], ""),
        ("colon name", [(":x", "y")], ""),
    ]
    private static let targets = [
        "/a HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /smuggled", "/a\r\nX-A: b", "/a b", "/a\tb", "/a\0b", "", "a",
        "//\n",
    ]

    @Test func `nothing is smuggled in fields, content or targets`() throws {
        let bench = try Bench(
            upstream: ScriptedUpstream { peer in
                while let request = try peer.request() { try peer.send(ScriptedUpstream.ok(request.target)) }
            })
        var expected: [String] = []
        for (number, attempt) in Self.attempts.enumerated() {
            let client = try bench.http2()
            let stream = try client.open("POST", "/try/\(number)", attempt.fields, isWhole: false)
            try client.send(HTTP2Wire.data(stream, attempt.body, end: true))
            let answer = try client.response(stream)
            // The one without content is whole at once, and its answer may come before what does not belong to it.
            let isWhole = attempt.name == "CL shorter" && answer.status == 200
            #expect(isWhole || answer.resetCode != nil || answer.status >= 400, "\(attempt.name)")
            let probe = "/probe/\(number)"
            #expect(try client.exchange("GET", probe).text == probe, "\(attempt.name)")
            expected.append(probe)
        }
        for (number, target) in Self.targets.enumerated() {
            let client = try bench.http2()
            let answer = try client.exchange("GET", target)
            #expect(answer.resetCode != nil || answer.status >= 400, "\(number)")
            let probe = "/target/\(number)"
            #expect(try client.exchange("GET", probe).text == probe, "\(number)")
            expected.append(probe)
        }
        let seen = bench.upstream.requests
        #expect(seen.filter { !$0.target.hasPrefix("/try/") }.map(\.target) == expected)
        #expect(seen.allSatisfy { $0["Host"] == "api.test" })
        // One whose content is not what was announced may have begun, but never as a whole request.
        #expect(seen.filter { $0.target.hasPrefix("/try/") && $0.isComplete && !$0.body.isEmpty }.isEmpty)
    }

    @Test func `content that looks like a request is content`() throws {
        let bench = try Bench()
        let client = try bench.http2()
        let body = Array(("0\r\n\r\n" + Self.smuggled).utf8)
        #expect(try client.response(client.post("/a", body: body)).status == 200)
        #expect(try client.response(client.post("/b", [("content-length", "\(body.count)")], body: body)).status == 200)
        #expect(bench.upstream.requests.map(\.target) == ["/a", "/b"])
        #expect(bench.upstream.requests.allSatisfy { $0.body == body })
    }

    @Test func `a client that resets what it asks for ties up no upstream`() throws {
        let upstream = try ScriptedUpstream { peer in while try peer.request() != nil {} }
        let bench = try Bench(.init(upstream: ", max_connections: 20"), upstream: upstream)
        let client = try bench.http2()
        for _ in 0..<90 { try client.send(HTTP2Wire.reset(client.open("GET", "/slow"))) }
        #expect(try client.synchronise())
        #expect(
            bench.reaches("hidgate_upstream_connections", 0))
        #expect(IssuerBench.eventually { bench.daemon.accessLines.allSatisfy { $0["end"].text == "client_abort" } })
    }
}
