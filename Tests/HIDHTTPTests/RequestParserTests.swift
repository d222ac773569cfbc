// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@Suite struct RequestParserTests {
    struct Case: CustomStringConvertible {
        var text: String
        var code: String
        var status: Int
        var description: String { text.debugDescription }

        init(_ text: String, _ code: String, _ status: Int = 400) {
            self.text = text
            self.code = code
            self.status = status
        }
    }

    static func get(_ lines: String, version: String = "HTTP/1.1") -> String {
        "GET /a \(version)\r\nHost: gw.test\r\n\(lines)\r\n"
    }

    static func host(_ value: String) -> String { "GET /a HTTP/1.1\r\nHost: \(value)\r\n\r\n" }

    static func head(_ text: String) throws -> RequestHead {
        let replay = try #require(Replay.ofEveryCut(Array(text.utf8)))
        try #require(replay.outcome == .idle)
        return try #require(replay.messages.first).head
    }

    static let lines: [Case] = [
        Case("GET  /a HTTP/1.1\r\n", "http.request_line"), Case("GET /a  HTTP/1.1\r\n", "http.request_line"),
        Case("GET /a HTTP/1.1 \r\n", "http.request_line"), Case("GET /a b HTTP/1.1\r\n", "http.request_line"),
        Case("GET /a? HTTP/1.1 /b HTTP/1.1\r\n", "http.request_line"), Case("GET\r\n", "http.request_line"),
        Case(" GET /a HTTP/1.1\r\n", "http.request_line"), Case("\r\n\r\nGET /a", "http.request_line"),
        Case("PROXY TCP4 10.0.0.9 10.0.0.1 1111 80\r\n", "http.request_line"),
        Case("GET /a\r\n", "http.version"), Case("GET /a http/1.1\r\n", "http.version"),
        Case("GET /a HTTP/0.9\r\n", "http.version"), Case("GET /a HTTP/1.10\r\n", "http.version"),
        Case("GET /a HTTP/11\r\n", "http.version"), Case("GET /a HTTP/1.\r\n", "http.version"),
        Case("GET /a HTTP/2.0\r\n", "http.version", 505), Case("GET /a HTTP/1.2\r\n", "http.version", 505),
        Case("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http.version", 505),
        Case("GET /a\tb HTTP/1.1\r\n", "target.bad_byte"), Case("GET /\u{e9} HTTP/1.1\r\n", "target.bad_byte"),
        Case("GET /a\u{7f} HTTP/1.1\r\n", "target.bad_byte"), Case("GET /a\0 HTTP/1.1\r\n", "target.bad_byte"),
        Case("GE\0T /a HTTP/1.1\r\n", "http.method_bad"), Case("\u{16}\u{3}\u{1}", "http.method_bad"),
        Case("Host: gw.test\r\n", "http.method_bad"), Case("\0", "http.method_bad"),
        Case("\n", "http.bare_lf"), Case("GET\n", "http.bare_lf"), Case("GET /a\n", "http.bare_lf"),
        Case("GET /a HTTP/1.1\n", "http.bare_lf"), Case("\rG", "http.bare_cr"), Case("GET\rX", "http.bare_cr"),
        Case("GET /a\rb HTTP/1.1\r\n", "http.bare_cr"), Case("GET /a HTTP/1.1\r\r\n", "http.bare_cr"),
        Case(String(repeating: "A", count: 33), "http.method_too_long", 501),
        Case("GET /" + String(repeating: "a", count: 8_192), "target.too_long", 414),
    ]

    static let fields: [Case] = [
        Case(get(" X: 1\r\n"), "http.obs_fold"), Case(get("X: 1\r\n\ttwo\r\n"), "http.obs_fold"),
        Case(get("Content-Length:\r\n 5\r\n"), "http.obs_fold"), Case(get("X : 1\r\n"), "http.name_bad"),
        Case(get(": 1\r\n"), "http.name_bad"), Case(get("X\u{e9}: 1\r\n"), "http.name_bad"),
        Case(get("X\0: 1\r\n"), "http.name_bad"), Case(get("X\r\n"), "http.header_bad"),
        Case(get("X\rY: 1\r\n"), "http.bare_cr"), Case(get("X\n: 1\r\n"), "http.bare_lf"),
        Case(get("X: 1\n"), "http.bare_lf"), Case(get("X: 1\rb\r\n"), "http.bare_cr"),
        Case(get("X: \u{b}\r\n"), "http.value_ctl"), Case(get("X: \u{7f}\r\n"), "http.value_ctl"),
        Case(get("\rX"), "http.bare_cr"), Case(get("\nX"), "http.bare_lf"),
        Case(get("Host: gw.test\r\n"), "http.host_multiple"),
        Case("GET /a HTTP/1.1\r\nX: 1\r\n\r\n", "http.host_missing"),
        Case("GET /a HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "http.host_multiple"),
        Case(get("Expect: frobnicate\r\n"), "http.expect", 417),
        Case(get("Connection: X-HID-Token\r\n"), "http.connection_protected"),
        Case(get("Connection: close, x-hid-new\r\n"), "http.connection_protected"),
        Case(get("Connection: HOST\r\n"), "http.connection_protected"),
        Case(get("Connection: content-length\r\n"), "http.connection_protected"),
        Case(get("Connection: \"close\"\r\n"), "http.connection_bad"),
        Case(get("Transfer-Encoding: chunked\r\n", version: "HTTP/1.0"), "http.te_http10"),
        Case(get("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n"), "http.te_multiple"),
        Case(get("Transfer-Encoding: chunked, chunked\r\n"), "http.te_bad"),
        Case(get("Transfer-Encoding: chunked;q=1\r\n"), "http.te_bad"),
        Case(get("Transfer-Encoding: chunked,\r\n"), "http.te_bad"), Case(get("Transfer-Encoding:\r\n"), "http.te_bad"),
        Case(get("Transfer-Encoding: \"chunked\"\r\n"), "http.te_bad"),
        Case(get("Transfer-Encoding: chunke\r\n"), "http.te_unsupported", 501),
        Case(get("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"), "http.cl_te"),
        Case(get("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), "http.cl_te"),
        Case(get("Content-Length: 4\r\nContent-Length: 4\r\n"), "http.cl_multiple"),
        Case(get("Content-Length: 4\r\nContent-Length: 5\r\n"), "http.cl_conflict"),
        Case(get("Content-Length: 005\r\n"), "http.cl_bad"), Case(get("Content-Length: 5, 5\r\n"), "http.cl_bad"),
        Case(get("Content-Length: 9223372036854775808\r\n"), "http.cl_bad"),
        Case(get("Content-Length: 5 \u{b}\r\n"), "http.value_ctl"),
    ]

    @Test(arguments: lines + fields)
    func `a malformed head is refused with its code and status however it is cut`(row: Case) throws {
        let replay = try #require(Replay.ofEveryCut(Array(row.text.utf8)))
        #expect(replay.outcome == .refused(code: row.code, status: row.status))
    }

    @Test(arguments: [
        "", "a b", "a,b", "u@a", "a/b", "a:80x", "a:99999", "a:-1", "a:080808", ":80", "[::1", "[]", "[:::]",
        "[1:2:3:4:5:6:7]",
        "[1:2:3:4:5:6:7:8:9]", "[::1::2]", "[12345::]", "[::1]x", "[::1]:x", "[fe80::1%25eth0]", "[v1.a]", "[::1.2.3]",
        "[::1.2.3.256]", "[::01.2.3.4]", "a%2eb", "a#b", "a?b", "a\\b", "\"a\"", "caf\u{e9}", "a;b",
    ])
    func `a Host that is no host with an optional port is refused`(value: String) throws {
        let replay = try #require(Replay.ofEveryCut(Array(Self.host(value).utf8)))
        #expect(replay.outcome == .refused(code: "http.host_bad", status: 400))
    }

    @Test(arguments: [
        "a", "gw.test", "gw.test:80", "gw.test:0", "gw.test:65535", "gw.test:", "gw.test.", "my_svc:8080", "127.0.0.1",
        "[::1]", "[::]", "[::1]:443", "[1:2:3:4:5:6:7:8]", "[2001:db8::ff00:42:8329]", "[::ffff:1.2.3.4]", "[1::]",
    ])
    func `a Host with an optional port is accepted`(value: String) throws {
        #expect(try Self.head(Self.host(value)).text(.host) == value)
    }

    @Test(arguments: [
        Case("\u{16}", "http.method_bad"), Case("\n", "http.bare_lf"), Case("\rG", "http.bare_cr"),
        Case("\r\n\r", "http.request_line"), Case("GE\0", "http.method_bad"), Case("GET\t", "http.request_line"),
        Case("GET\n", "http.bare_lf"), Case("GET  ", "http.request_line"), Case("GET /\u{7f}", "target.bad_byte"),
        Case("GET /a\n", "http.bare_lf"), Case("GET /a h", "http.version"), Case("GET /a x", "http.request_line"),
        Case("GET /a HTTP/1.10", "http.version"), Case("GET /a HTTP/1.1\n", "http.bare_lf"),
        Case("GET /a HTTP/1.1\r\r", "http.bare_cr"), Case("GET /a HTTP/2.0\r\n", "http.version", 505),
        Case("GET /a HTTP/1.1\r\n ", "http.obs_fold"), Case("GET /a HTTP/1.1\r\n:", "http.name_bad"),
        Case("GET /a HTTP/1.1\r\nX ", "http.name_bad"), Case("GET /a HTTP/1.1\r\nX: \0", "http.value_ctl"),
        Case("GET /a HTTP/1.1\r\nX: a\n", "http.bare_lf"), Case("GET /a HTTP/1.1\r\nX: a\rb", "http.bare_cr"),
        Case("GET /a HTTP/1.1\r\nX: a\r\n\t", "http.obs_fold"), Case("GET /a HTTP/1.1\r\n\n", "http.bare_lf"),
        Case("GET /a HTTP/1.1\r\nHost: a b\r\nX", "http.host_bad"),
        Case("GET /a HTTP/1.1\r\nContent-Length: x\r\nX", "http.cl_bad"),
    ])
    func `a fault is answered at the octet that makes it`(row: Case) {
        let octets = Array(row.text.utf8)
        var head = RequestHead()
        var parser = RequestParser(limits: .test)
        let before = parser.parse(octets.span.extracting(first: octets.count - 1), into: &head)
        #expect(before == .needMore)
        guard case .bad(let fault) = parser.parse(octets.span, into: &head) else {
            Issue.record("not refused")
            return
        }
        #expect(fault.code == row.code)
        #expect(fault.status == row.status)
        let again = parser.parse(octets.span, into: &head)
        #expect(again == .bad(fault))
    }

    @Test func `every byte is judged alike at every place of a value`() {
        let start = Array("GET /a HTTP/1.1\r\nHost: a\r\nX:".utf8)
        var head = RequestHead()
        for place in 0..<24 {
            for byte in UInt8.min...UInt8.max {
                var value = [UInt8](repeating: 0xE9, count: 25)
                value[place] = byte
                let octets = start + value + [0x0D, 0x0A, 0x0D, 0x0A]
                var parser = RequestParser()
                let progress = parser.parse(octets.span, into: &head)
                let isLegal = byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
                switch progress {
                case .complete: #expect(isLegal, "\(byte) at \(place)")
                case .bad(let fault):
                    let expected: RequestFault = byte == 0x0A ? .bareLF : byte == 0x0D ? .bareCR : .valueControl
                    #expect(!isLegal && fault == expected, "\(byte) at \(place)")
                case .needMore: Issue.record("\(byte) at \(place)")
                }
            }
        }
    }

    @Test func `the ranges of a head point at its parts`() throws {
        let head = try Self.head("\r\nPUT /x?y HTTP/1.1\r\nHost:\t gw.test \t\r\nX_A:b c \r\nEmpty:\r\n\r\n")
        #expect(head.isMethod("PUT"))
        #expect(Array(head.bytes[head.target]) == Array("/x?y".utf8))
        #expect(head.host.map { Array(head.bytes[$0]) } == Array("gw.test".utf8))
        #expect(head.fields.map(\.hasUnderscore) == [false, true, false])
        #expect(head.text(FieldName("x_a")) == "b c")
        #expect(head.text(FieldName("empty"))?.isEmpty == true)
        #expect(head.framing == .none)
        #expect(head.isPersistent)
        #expect(head.minorVersion == 1)
    }

    @Test func `persistence follows the version and the Connection options`() throws {
        #expect(try !Self.head(Self.get("Connection: x, CLOSE\r\n")).isPersistent)
        #expect(try !Self.head(Self.get("Connection: keep-alive\r\nConnection: close\r\n")).isPersistent)
        #expect(try !Self.head(Self.get("", version: "HTTP/1.0")).isPersistent)
        #expect(try Self.head(Self.get("Connection: Keep-Alive\r\n", version: "HTTP/1.0")).isPersistent)
        #expect(try Self.head(Self.get("Connection: , TE ,,X-Forwarded-For\r\n")).isPersistent)
        #expect(try !Self.head("GET /a HTTP/1.0\r\n\r\n").isPersistent)
    }

    @Test func `an expectation counts only before content and not in HTTP 1 0`() throws {
        #expect(try Self.head(Self.get("Expect: 100-Continue\r\nContent-Length: 1\r\n") + "a").expectsContinue)
        #expect(try !Self.head(Self.get("Expect: 100-continue\r\n")).expectsContinue)
        #expect(try !Self.head(Self.get("Expect: 100-continue\r\nContent-Length: 0\r\n")).expectsContinue)
        let old = Self.get("Expect: 100-continue\r\nContent-Length: 1\r\n", version: "HTTP/1.0") + "a"
        #expect(try !Self.head(old).expectsContinue)
    }

    @Test func `lengths up to 63 bits are read`() {
        var head = RequestHead()
        var parser = RequestParser()
        let text = Array(Self.get("Content-Length:  9223372036854775807 \r\n").utf8)
        #expect(parser.parse(text.span, into: &head) == .complete(consumed: text.count))
        #expect(head.framing == .length(9_223_372_036_854_775_807))
    }

    @Test func `the limits hold exactly`() throws {
        let line = "GET /\(String(repeating: "a", count: 8_191)) HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(try Self.head(line).target.count == 8_192)
        let hundred = "GET /a HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 99) + "\r\n"
        #expect(try Self.head(hundred).fields.count == 100)
        let more = Array((hundred.dropLast(1) + "X: y\r\n\r\n").utf8)
        #expect(Replay.ofEveryCut(more)?.outcome == .refused(code: "http.too_many_fields", status: 431))
        let frame = Self.get("X: \r\n").utf8.count
        let full = Self.get("X: " + String(repeating: "v", count: 65_536 - frame) + "\r\n")
        #expect(try Self.head(full).bytes.count == 65_536)
        let over = Array(Self.get("X: " + String(repeating: "v", count: 65_537 - frame) + "\r\n").utf8)
        #expect(Replay.ofEveryCut(over)?.outcome == .refused(code: "http.header_too_large", status: 431))
        let tooLarge = Replay.Outcome.refused(code: "http.header_too_large", status: 431)
        #expect(Replay.ofEveryCut(Array("\r\n".utf8) + over)?.outcome == tooLarge)
    }

    @Test func `a parser serves one request after the other and keeps the storage of the head`() {
        let octets = Array(Self.get("X: 1\r\n").utf8)
        var head = RequestHead()
        var parser = RequestParser()
        #expect(parser.isAtStart)
        let emptyLine = Array("\r\n".utf8)
        #expect(parser.parse(emptyLine.span, into: &head) == .needMore)
        #expect(parser.isAtStart)
        parser.reset()
        for _ in 0..<3 {
            #expect(parser.parse(octets.span, into: &head) == .complete(consumed: octets.count))
            #expect(head.fields.count == 2)
            #expect(head.bytes == octets)
        }
    }

    @Test func `reason codes are unique but for the two versions and have a status`() {
        let codes = RequestFault.allCases.map(\.code)
        #expect(Set(codes).count == codes.count - 1)
        for fault in RequestFault.allCases {
            #expect([400, 414, 417, 431, 501, 505].contains(fault.status))
            #expect(!fault.explanation.isEmpty)
            #expect(fault.code.hasPrefix("http.") || fault.code.hasPrefix("target."))
        }
    }
}
