// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@Suite struct HeadWriterTests {
    static func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }

    @Test func `a written response is read back`() throws {
        var out: [UInt8] = []
        HeadWriter.statusLine(404, into: &out)
        HeadWriter.field("Content-Length", 0, into: &out)
        HeadWriter.field("Connection", "close", into: &out)
        let id = Array("abc-1".utf8)
        #expect(HeadWriter.field("X-Request-Id", checking: id.span, into: &out))
        HeadWriter.endOfHead(into: &out)
        let expected = """
            HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\nX-Request-Id: abc-1\r\n\r\n
            """
        #expect(Self.text(out) == expected)
        var head = ResponseHead()
        var parser = ResponseParser()
        let progress = parser.parse(out.span, into: &head, requestMethodIsHead: false)
        #expect(progress == .complete(consumed: out.count))
    }

    @Test func `a written request is read back`() throws {
        let source = try RequestParserTests.head(RequestParserTests.get("X-A:  b  \r\n"))
        var out: [UInt8] = []
        let bytes = source.bytes.span
        let method = bytes.extracting(source.method)
        #expect(HeadWriter.requestLine(method: method, target: bytes.extracting(source.target), into: &out))
        for line in source.fields { HeadWriter.field(line, of: source, into: &out) }
        HeadWriter.endOfHead(into: &out)
        #expect(Self.text(out) == "GET /a HTTP/1.1\r\nHost: gw.test\r\nX-A: b\r\n\r\n")
    }

    @Test(arguments: ["a\r\nb", "a\nb", "a\rb", "a\0b", " a", "a ", "\ta", "a\u{7f}"])
    func `octets from elsewhere cannot end a line`(value: String) {
        let octets = Array(value.utf8)
        let fine = Array("x".utf8)
        var out: [UInt8] = []
        #expect(!HeadWriter.field("X", checking: octets.span, into: &out))
        #expect(!HeadWriter.field(checkingName: octets.span, value: fine.span, into: &out))
        #expect(!HeadWriter.field(checkingName: fine.span, value: octets.span, into: &out))
        #expect(!HeadWriter.requestLine(method: octets.span, target: fine.span, into: &out))
        #expect(!HeadWriter.requestLine(method: fine.span, target: octets.span, into: &out))
        #expect(out.isEmpty)
    }

    @Test func `numbers are written in decimal and chunk sizes in hexadecimal digits`() {
        var out: [UInt8] = []
        for number in [0, 7, 10, 65_535, UInt64.max] {
            out.removeAll()
            HeadWriter.decimal(number, into: &out)
            #expect(Self.text(out) == String(number))
        }
        for size in [1, 9, 10, 15, 16, 255, 256, 65_536, Int.max] {
            out.removeAll()
            HeadWriter.chunkHeader(size, into: &out)
            #expect(Self.text(out) == String(size, radix: 16) + "\r\n")
        }
    }

    @Test func `a status without a phrase keeps its space`() {
        var out: [UInt8] = []
        HeadWriter.statusLine(599, into: &out)
        #expect(Self.text(out) == "HTTP/1.1 599 \r\n")
    }

    @Test func `the fields Connection names are found over all its lines`() throws {
        let lines =
            "Connection: close, X-Secret\r\nCONNECTION: ,TE , keep-alive\r\nx-secret: 1\r\nTE: gzip\r\nX-B: 1\r\n"
        let head = try RequestParserTests.head(RequestParserTests.get(lines))
        var tokens = ConnectionTokens()
        tokens.collect(from: head)
        #expect(tokens.names.map { Self.text(Array(head.bytes[$0])) } == ["X-Secret", "TE"])
        #expect(head.fields.map { tokens.contains($0, of: head) } == [false, false, false, true, true, false])
        tokens.collect(from: try RequestParserTests.head(RequestParserTests.get("")))
        #expect(tokens.names.isEmpty)
    }
}
