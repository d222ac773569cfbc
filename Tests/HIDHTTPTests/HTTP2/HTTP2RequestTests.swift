// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

/// Which requests are malformed (RFC 9113 sections 8.1 to 8.5), one row a rule.
@Suite struct HTTP2RequestTests {
    struct Case: CustomStringConvertible, Sendable {
        var name: String
        var fields: [(String, String)]
        var fault: HTTP2Fault
        var end = true
        var description: String { name }

        init(_ name: String, _ fault: HTTP2Fault, _ fields: [(String, String)]) {
            self.name = name
            self.fault = fault
            self.fields = fields
        }

        /// A sound GET with more fields.
        init(_ name: String, _ fault: HTTP2Fault, plus fields: [(String, String)]) {
            self.init(name, fault, HTTP2RequestTests.sound + fields)
        }

        /// A sound GET with one pseudo-field of another value.
        init(_ name: String, _ fault: HTTP2Fault, _ pseudo: String, _ value: String) {
            self.init(name, fault, HTTP2RequestTests.sound.map { $0.0 == pseudo ? ($0.0, value) : $0 })
        }

        static func without(_ pseudo: String) -> Case {
            let fault: HTTP2Fault = pseudo == ":authority" ? .authority : .pseudoField
            return Case("no \(pseudo)", fault, HTTP2RequestTests.sound.filter { $0.0 != pseudo })
        }
    }

    static let sound = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "gw.test")]

    /// Row 11: names and values.
    static let bytes: [Case] = [
        Case("upper-case name", .fieldName, plus: [("X-Up", "1")]),
        Case("one upper-case letter", .fieldName, plus: [("x-uP", "1")]),
        Case("space in name", .fieldName, plus: [("x y", "1")]), Case("empty name", .fieldName, plus: [("", "1")]),
        Case("colon in name", .fieldName, plus: [("x:y", "1")]),
        Case("colon behind name", .fieldName, plus: [("x:", "1")]),
        Case("CR in name", .fieldName, plus: [("x\ry", "1")]), Case("LF in name", .fieldName, plus: [("x\ny", "1")]),
        Case("NUL in name", .fieldName, plus: [("x\0y", "1")]),
        Case("obs-text in name", .fieldName, plus: [("x\u{e9}", "1")]),
        Case("a whole line in name", .fieldName, plus: [("x: 1\r\nx-hid-token", "1")]),
        Case("CR in value", .fieldValue, plus: [("x", "1\r2")]),
        Case("LF in value", .fieldValue, plus: [("x", "1\n2")]),
        Case("NUL in value", .fieldValue, plus: [("x", "1\u{0}2")]),
        Case("DEL in value", .fieldValue, plus: [("x", "1\u{7f}")]),
        Case("a line in value", .fieldValue, plus: [("x", "1\r\ny: 2")]),
        Case("a request in value", .fieldValue, plus: [("x", "1\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n")]),
        Case("space before value", .fieldValue, plus: [("x", " 1")]),
        Case("space behind value", .fieldValue, plus: [("x", "1 ")]),
        Case("tab before value", .fieldValue, plus: [("x", "\t1")]),
        Case("tab behind value", .fieldValue, plus: [("x", "1\t")]),
        Case("space alone", .fieldValue, plus: [("x", " ")]),
    ]

    /// Rows 12, 20 and 27: fields of HTTP/1 connections.
    static let connection: [Case] = [
        Case("connection", .connectionField, plus: [("connection", "close")]),
        Case("connection names a field", .connectionField, plus: [("connection", "x-hid-token")]),
        Case("keep-alive", .connectionField, plus: [("keep-alive", "timeout=5")]),
        Case("proxy-connection", .connectionField, plus: [("proxy-connection", "keep-alive")]),
        Case("transfer-encoding", .connectionField, plus: [("transfer-encoding", "chunked")]),
        Case("transfer-encoding identity", .connectionField, plus: [("transfer-encoding", "identity")]),
        Case("upgrade", .connectionField, plus: [("upgrade", "h2c")]),
        Case("upgrade websocket", .connectionField, plus: [("upgrade", "websocket")]),
        Case("te gzip", .connectionField, plus: [("te", "gzip")]),
        Case("te trailers, gzip", .connectionField, plus: [("te", "trailers, gzip")]),
        Case("te empty", .connectionField, plus: [("te", "")]),
    ]

    /// Row 13: pseudo-fields.
    static let pseudo: [Case] = [
        .without(":method"), .without(":scheme"), .without(":path"), .without(":authority"),
        Case("two :method", .pseudoField, plus: [(":method", "GET")]),
        Case("two :path", .pseudoField, plus: [(":path", "/")]),
        Case("two :scheme", .pseudoField, plus: [(":scheme", "https")]),
        Case("two :authority", .pseudoField, plus: [(":authority", "gw.test")]),
        Case("unknown", .pseudoField, plus: [(":test", "x")]),
        Case(":status", .pseudoField, plus: [(":status", "200")]),
        Case("a colon alone", .pseudoField, plus: [(":", "x")]),
        Case("upper case", .pseudoField, sound.map { $0.0 == ":path" ? (":Path", "/") : $0 }),
        Case("behind a field", .pseudoField, [sound[0], sound[1], ("x", "1"), sound[2], sound[3]]),
        Case("all behind a field", .pseudoField, [("x", "1")] + sound), Case("none at all", .pseudoField, [("x", "1")]),
        Case("an empty block", .pseudoField, []),
    ]

    /// Rows 14 to 17: values of the pseudo-fields.
    static let paths: [String] = [
        "", "a", "a/b", "http://x/", "/a b", "/a#b", "/#", "/a\r\nX: 1", "/a HTTP/1.1", "/ HTTP/1.1\r\nX: 1", "/\u{e9}",
        "/\0", "/\u{7f}", "/\t", "*", "*/", "?a", "\\a",
    ]
    static let methods: [String] = [
        "", "GET / HTTP/1.1\r\nX", "G T", "GET\r\n", "GET:", "GET\0", "\u{e9}", "GET ", " GET", "(GET)",
    ]
    static let schemes: [String] = ["", "http://evil/?", "ftp", "HTTPS", "https:", "https ", "ws"]
    static let authorities: [String] = [
        "", "u@gw.test", "u:p@gw.test", "a b", "gw.test/", "a,b", "gw.test:99999", "gw.test\r\nX: 1", "[::1", "a\0",
        "a#", "a?", "gw.test:80:80",
    ]

    static func rows(_ pseudo: String, _ fault: HTTP2Fault, _ values: [String]) -> [Case] {
        values.map { Case("\(pseudo) \($0.debugDescription)", fault, pseudo, $0) }
    }

    static let values: [Case] =
        rows(":path", .path, paths) + rows(":method", .method, methods) + rows(":scheme", .scheme, schemes)
        + rows(":authority", .authority, authorities)
    static let hosts: [Case] = [
        Case("host differs", .authority, plus: [("host", "evil.test")]),
        Case("two hosts", .authority, plus: [("host", "gw.test"), ("host", "gw.test")]),
        Case("host differs by its port", .authority, plus: [("host", "gw.test:80")]),
        Case("empty host", .authority, plus: [("host", "")]),
    ]

    /// Rows 18 and 23: lengths that cannot be, and extended CONNECT.
    static let numbers: [String] = [
        "+5", "-1", "0x5", "5x", "5, 5", "", "05", "9223372036854775808", "99999999999999999999", "1",
    ]
    static let lengths: [Case] = numbers.map {
        Case("content-length \($0.debugDescription)", .contentLength, plus: [("content-length", $0)])
    }
    static let others: [Case] = [
        Case("two lengths", .contentLength, plus: [("content-length", "0"), ("content-length", "0")]),
        Case("lengths that differ", .contentLength, plus: [("content-length", "0"), ("content-length", "1")]),
        Case(
            "extended CONNECT", .connectProtocol,
            [(":method", "CONNECT"), (":protocol", "websocket")] + sound.dropFirst()),
        Case("CONNECT with a path", .pseudoField, ":method", "CONNECT"),
        Case("CONNECT with a scheme", .pseudoField, [(":method", "CONNECT"), sound[1], sound[3]]),
        Case("CONNECT without authority", .authority, [(":method", "CONNECT")]),
    ]

    static let all: [Case] = bytes + connection + pseudo + values + hosts + lengths + others

    @Test(arguments: all)
    func `a malformed request is reset, told as a cut alone, and leaves the connection alone`(row: Case) throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.block(row.fields)))
        #expect(peer.faults == [row.fault])
        #expect(peer.resets(1) == [row.fault.errorCode.rawValue])
        #expect(row.fault.errorCode == .protocolError)
        #expect(peer.events.isEmpty)
        #expect(peer.cuts == ["1 \(row.fault.code)"])
        #expect(peer.goAway == nil)
        #expect(peer.session.slots == 0)
        peer.answersAtOnce = true
        peer.send(HTTP2Wire.headers(3, HTTP2Wire.request()))
        #expect(peer.events == ["began 3", "ended 3", "sent 3"])
        #expect(peer.cuts.count == 1)
    }

    @Test func `a body that follows a malformed head reaches nobody and does not close the window`() throws {
        let peer = try SessionPeer()
        let content = [UInt8](repeating: 0x61, count: 10_000)
        for index in 0..<120 as Range<UInt32> {
            peer.send(HTTP2Wire.headers(2 * index + 1, HTTP2Wire.request("POST", "bad"), end: false))
            peer.send(HTTP2Wire.data(2 * index + 1, content))
            peer.pass(seconds: 1)
        }
        #expect(peer.events.isEmpty)
        #expect(peer.goAway == nil)
        let refunded = peer.frames(8, 0).reduce(0) { $0 + Int($1.code) }
        #expect(refunded >= 1_000_000)
    }

    @Test(arguments: ["get", "M-SEARCH", "PROPFIND", "X"])
    func `row 15: a method stays as it is`(method: String) throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request(method)))
        #expect(peer.startLine(1) == "\(method) / HTTP/1.1")
    }

    @Test func `row 14: an asterisk is a path for OPTIONS alone`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("OPTIONS", "*")))
        #expect(peer.startLine(1) == "OPTIONS * HTTP/1.1")
    }

    @Test func `row 16: the scheme is no part of the target`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("GET", "/a", scheme: "http")))
        #expect(peer.startLine(1) == "GET /a HTTP/1.1")
    }

    @Test func `row 17: the authority becomes Host, and a Host alone stands for it`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request(authority: "gw.test:8443", [("host", "GW.test:8443")])))
        #expect(peer.line(1, "host") == "gw.test:8443")
        #expect(peer.heads[1]?.count(of: FieldName("host")) == 1)
        let fields = Self.sound.dropLast() + [("host", "other.test")]
        peer.send(HTTP2Wire.headers(3, HTTP2Wire.block(Array(fields))))
        #expect(peer.line(3, "host") == "other.test")
        #expect(peer.heads[3]?.host.map { Array(peer.heads[3]?.bytes[$0] ?? []) } == Array("other.test".utf8))
    }

    @Test func `row 20: the smuggled request of a transfer-encoding never reaches a head`() throws {
        let peer = try SessionPeer()
        let block = HTTP2Wire.request("POST", "/", [("transfer-encoding", "chunked")])
        peer.send(
            HTTP2Wire.headers(1, block, end: false)
                + HTTP2Wire.data(1, "0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n", end: true))
        #expect(peer.events.isEmpty)
        #expect(peer.contents.isEmpty)
        #expect(peer.resets(1) == [1])
    }

    @Test func `row 21: cookie fields are joined`() throws {
        let peer = try SessionPeer()
        let cookies = [("cookie", "a=1"), ("accept", "*/*"), ("cookie", "b=2; c=3"), ("cookie", "d=4")]
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request(cookies)))
        #expect(peer.line(1, "cookie") == "a=1; b=2; c=3; d=4")
        #expect(peer.heads[1]?.count(of: FieldName("cookie")) == 1)
    }

    @Test func `row 23: CONNECT comes out as CONNECT, for the application to refuse`() throws {
        let peer = try SessionPeer()
        peer.send(
            HTTP2Wire.headers(1, HTTP2Wire.block([(":method", "CONNECT"), (":authority", "db.test:5432")]), end: false))
        #expect(peer.startLine(1) == "CONNECT db.test:5432 HTTP/1.1")
    }

    @Test func `row 27: HTTP2-Settings is not passed on`() throws {
        let peer = try SessionPeer()
        peer.send(
            HTTP2Wire.headers(
                1, HTTP2Wire.request([("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA"), ("te", "trailers")])))
        #expect(peer.line(1, "http2-settings") == nil)
        #expect(peer.line(1, "te") == "trailers")
    }

    @Test func `an expectation is known whether the length is or not`() throws {
        let peer = try SessionPeer()
        let expect = ("expect", "100-continue")
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("POST", "/", [expect, ("content-length", "5")]), end: false))
        peer.send(HTTP2Wire.headers(3, HTTP2Wire.request("POST", "/", [expect]), end: false))
        peer.send(HTTP2Wire.headers(5, HTTP2Wire.request("POST", "/", [expect])))
        peer.send(HTTP2Wire.headers(7, HTTP2Wire.request("POST", "/", [("expect", "more")]), end: false))
        #expect(peer.heads[1]?.expectsContinue == true)
        #expect(peer.heads[1]?.framing == .length(5))
        #expect(peer.heads[3]?.expectsContinue == true)
        #expect(peer.heads[3]?.framing == .chunked)
        #expect(peer.heads[5]?.expectsContinue == false)
        #expect(peer.events.contains("refused 7 417"))
    }

    @Test func `limits of a head are answered with the status HTTP-1 gives`() throws {
        let peer = try SessionPeer()
        let long = String(repeating: "a", count: 8_192)
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("GET", "/" + long)))
        peer.send(HTTP2Wire.headers(3, HTTP2Wire.request(String(repeating: "A", count: 33))))
        peer.send(HTTP2Wire.headers(5, HTTP2Wire.request((0..<101).map { ("x\($0)", "1") })))
        let fields = (0..<9).map { ("x\($0)", long) }
        let octets = HTTP2Wire.request(fields)
        peer.send(HTTP2Wire.headers(7, Array(octets.prefix(16_000)), endHeaders: false))
        for start in stride(from: 16_000, to: octets.count, by: 16_000) {
            let part = Array(octets[start..<min(octets.count, start + 16_000)])
            guard octets.count < 64 << 10 else { break }
            peer.send(HTTP2Wire.continuation(7, part, endHeaders: start + 16_000 >= octets.count))
        }
        #expect(peer.events.contains("refused 1 414"))
        #expect(peer.events.contains("refused 3 501"))
        #expect(peer.events.contains("refused 5 431"))
        #expect(peer.faults.isEmpty)
    }
}

extension HTTP2Wire {
    /// A GET of `/` with more fields.
    static func request(_ fields: [(String, String)]) -> [UInt8] { request("GET", "/", fields) }
    static func request(authority: String, _ fields: [(String, String)]) -> [UInt8] {
        request("GET", "/", authority: authority, fields)
    }
}
