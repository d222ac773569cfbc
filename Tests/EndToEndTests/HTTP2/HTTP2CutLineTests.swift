// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDHTTP
import HIDTesting
import Testing

/// Whatever HTTP/2 refuses has a line in the access log, under the name of its fault.
@Suite(.timeLimit(.minutes(10))) struct HTTP2CutLineTests {
    /// What a client does to be cut, behind its SETTINGS.
    struct Attack: Sendable, CustomTestStringConvertible {
        let fault: HTTP2Fault
        let octets: [UInt8]
        /// How many lines name it.
        let lines: Int

        init(_ fault: HTTP2Fault, _ octets: [UInt8], lines: Int = 1) {
            self.fault = fault
            self.octets = octets
            self.lines = lines
        }

        /// A GET with one pseudo-field or field of its own.
        init(_ fault: HTTP2Fault, _ name: String, _ value: String) {
            var fields = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "api.test")]
            if let index = fields.firstIndex(where: { $0.0 == name }) {
                fields[index].1 = value
            } else {
                fields.append((name, value))
            }
            self.init(fault, HTTP2Wire.headers(1, HTTP2Wire.block(fields)))
        }

        var testDescription: String { fault.code }
    }

    private static let head = HTTP2Wire.request("GET", "/a", authority: "api.test")
    private static let upload = HTTP2Wire.headers(
        1, HTTP2Wire.request("POST", "/a", authority: "api.test", [("expect", "100-continue")]), end: false)

    private static func many(_ count: Int, _ octets: (UInt32) -> [UInt8]) -> [UInt8] {
        (0..<UInt32(count)).flatMap { octets(2 * $0 + 1) }
    }

    /// Of a stream: the head, or what comes with it.
    private static let ofStreams: [Attack] = [
        Attack(.fieldName, "X-Up", "1"), Attack(.fieldValue, "x", "1\r\n2"), Attack(.connectionField, "upgrade", "h2c"),
        Attack(.pseudoField, ":test", "1"), Attack(.method, ":method", "G T"), Attack(.path, ":path", "/a b"),
        Attack(.scheme, ":scheme", "ftp"), Attack(.authority, ":authority", "u@api.test"),
        Attack(
            .connectProtocol,
            HTTP2Wire.headers(
                1,
                HTTP2Wire.block([
                    (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"),
                    (":authority", "api.test"),
                ]))),
        Attack(.contentLength, "content-length", "+5"),
        Attack(
            .contentLength,
            HTTP2Wire.headers(
                1, HTTP2Wire.request("POST", "/a", authority: "api.test", [("content-length", "1")]), end: false)
                + HTTP2Wire.data(1, "two", end: true)),
        Attack(.trailers, upload + HTTP2Wire.headers(1, HTTP2Wire.block([("x", "1")]), end: false)),
        Attack(.streamError, upload + HTTP2Wire.windowUpdate(1, 0x7FFF_FFFF)),
        Attack(
            .refusedStream, many(103) { HTTP2Wire.headers($0, HTTP2Wire.request("POST", "/a"), end: false) }, lines: 3),
    ]

    /// Of a connection, with no request under way: one line for the connection.
    private static let ofConnections: [Attack] = [
        Attack(.protocolError, HTTP2Wire.data(0, "x")), Attack(.frameSize, HTTP2Wire.frame(6, [1, 2, 3])),
        Attack(.flowControl, HTTP2Wire.windowUpdate(0, 0x7FFF_FFFF)),
        Attack(.settingsFlood, many(150) { _ in HTTP2Wire.settings() }),
        Attack(.pingFlood, many(1_100) { _ in HTTP2Wire.ping() }),
        Attack(.priorityFlood, many(1_100) { HTTP2Wire.priority($0, on: 0) }),
        Attack(.windowUpdateFlood, many(1_100) { _ in HTTP2Wire.windowUpdate(0, 1) }),
        Attack(.strayFrameFlood, many(1_100) { _ in HTTP2Wire.frame(0x42, [1]) }),
        Attack(.rapidReset, many(400) { HTTP2Wire.headers($0, head) + HTTP2Wire.reset($0) }),
    ]

    /// Of a connection, while requests are under way or their heads are: a line for each of them.
    private static let ofBoth: [Attack] = [
        Attack(.compression, HTTP2Wire.headers(1, head + [0x80])),
        Attack(.continuationFlood, block { _ in HTTP2Wire.continuation(1, [0x82], endHeaders: false) }),
        Attack(
            .headerBlockTooLarge,
            block { _ in
                HTTP2Wire.continuation(
                    1, HTTP2Wire.literal(Array("x".utf8), [UInt8](repeating: 0x61, count: 16_000)), endHeaders: false)
            }),
        Attack(.emptyHeaderFlood, block { _ in HTTP2Wire.literal([], []) }),
        Attack(.streamID, HTTP2Wire.headers(5, head) + HTTP2Wire.headers(3, head)),
        Attack(.streamClosed, upload + HTTP2Wire.data(1, "x", end: true) + HTTP2Wire.data(1, "y")),
        Attack(.emptyDataFlood, upload + many(150) { _ in HTTP2Wire.data(1, []) }),
        Attack(
            .settingsFlood,
            many(7) { HTTP2Wire.headers($0, HTTP2Wire.request("POST", "/a"), end: false) }
                + many(150) { _ in HTTP2Wire.settings() }, lines: 7),
    ]

    private static func block(_ octets: (UInt32) -> [UInt8]) -> [UInt8] {
        let rest = many(20, octets)
        // Frames of their own, or more of the first.
        return rest.count > 3 && rest[3] == 9
            ? HTTP2Wire.headers(1, head, endHeaders: false) + rest : HTTP2Wire.headers(1, head + rest)
    }

    /// What no octets behind SETTINGS do; those with a test of their own, and those that are ours.
    private static let others: Set<HTTP2Fault> = [
        .preface, .headerTimeout, .writeTimeout, .streamWriteTimeout,
        // Another check comes first.
        .malformedHead, .controlQueue,
        // Takes more memory than a client can make us hold.
        .bufferLimit, .internalError,
    ]

    static let all = ofStreams + ofConnections + ofBoth

    @Test func `every fault is either tested here or is known not to be`() {
        let tested = Set(Self.all.map(\.fault))
        #expect(tested.isDisjoint(with: Self.others))
        #expect(tested.union(Self.others) == Set(HTTP2Fault.allCases))
    }

    @Test(arguments: all)
    func `a client that is cut has its line`(_ attack: Attack) throws {
        let bench = try Bench(upstream: ScriptedUpstream { peer in while try peer.request() != nil {} })
        let client = try bench.http2()
        try? client.send(attack.octets)
        if attack.fault.isOfConnection {
            #expect(try client.isClosed())
        } else {
            while let frame = try client.next(), frame.type != 3 {}
            #expect(try client.synchronise())
        }
        #expect(bench.hasLines(attack.lines) { $0["reason"].text == attack.fault.code })
        let line = bench.daemon.accessLine { $0["reason"].text == attack.fault.code }
        #expect(line?["decision"].text == "reject")
        #expect(line?["end"].text == "http2_fault")
        #expect(line?["protocol"].text == "HTTP/2")
        #expect(line?["client"].text == "127.0.0.1")
        #expect(line?["status"].number == 0)
        let event = bench.daemon.child.firstLine { line in
            JSONValue(line).flatMap { $0["fault"].text == attack.fault.code ? $0 : nil }
        }
        #expect(event?["event"].text == "http2.cut")
        let count = "hidgate_reasons_total{reason=\"\(attack.fault.code)\"}"
        #expect(try bench.metric(count) == attack.lines)
    }

    @Test func `a client that does not finish its head, or takes nothing, has its line`() throws {
        let bench = try Bench(.init(sections: "timeouts: { header: 300ms, write: 300ms }"))
        let late = try bench.http2()
        try late.send(HTTP2Wire.headers(1, Self.head, endHeaders: false))
        #expect(try late.isClosed())
        let line = bench.daemon.accessLine { $0["reason"].text == "http2.header_timeout" }
        #expect(line?["decision"].text == "reject")
        #expect(line?["protocol"].text == "HTTP/2")
        // No window for the content of the answer.
        let stuck = try bench.http2([(4, 0)])
        let stream = try stuck.open("GET", "/stuck")
        #expect(try stuck.response(stream).resetCode == HTTP2ErrorCode.cancel.rawValue)
        #expect(try bench.metric(HTTP2CutTests.fault("http2.stream_write_timeout")) == 1)
    }

    @Test func `what is no HTTP-2 at all where ALPN chose it has its line`() throws {
        let bench = try TLSBench()
        let link = try bench.dial { $0.protocols = ["h2"] }
        try link.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let line = bench.bench.daemon.accessLine { $0["reason"].text == "http2.preface" }
        #expect(line?["decision"].text == "reject")
        #expect(line?["tls"].text?.isEmpty == false)
    }
}
