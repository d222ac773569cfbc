// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@Suite struct ResponseParserTests {
    static let seeds: [[UInt8]] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nX-A: caf\u{e9}\r\n\r\n",
    ].map { Array($0.utf8) }

    struct Case: CustomStringConvertible {
        var text: String
        var expected: ResponseFault
        var description: String { text.debugDescription }

        init(_ text: String, _ expected: ResponseFault) {
            self.text = text
            self.expected = expected
        }
    }

    /// Parses in one go and octet by octet; the answers must agree.
    static func parse(
        _ text: String, isHead: Bool = false, limits: HeadLimits = HeadLimits(fields: 200)
    ) throws -> (HeadProgress<ResponseFault>, ResponseHead) {
        let octets = Array(text.utf8)
        var head = ResponseHead()
        var parser = ResponseParser(limits: limits)
        let whole = parser.parse(octets.span, into: &head, requestMethodIsHead: isHead)
        var drippedHead = ResponseHead()
        var dripped = ResponseParser(limits: limits)
        var progress = HeadProgress<ResponseFault>.needMore
        for end in 0...octets.count where progress == .needMore {
            progress = dripped.parse(
                octets.span.extracting(first: end), into: &drippedHead, requestMethodIsHead: isHead)
        }
        try #require(progress == whole)
        if case .complete = whole { try #require(head == drippedHead) }
        return (whole, head)
    }

    static let refused: [Case] = [
        Case("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", .contentLengthConflict),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", .contentLengthMultiple),
        Case("HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n", .contentLengthBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n\r\n", .contentLengthBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n", .contentLengthBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", .contentLengthBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551619\r\n\r\n", .contentLengthBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\n", .nameBad),
        Case("HTTP/1.1 200 OK\r\nX-A: 1\r\n two\r\n\r\n", .foldedLine),
        Case("HTTP/1.1 200 OK\r\nX-A: 1\rb\r\n\r\n", .bareCR),
        Case("HTTP/1.1 200 OK\nX-A: 1\n\n", .bareLF),
        Case("HTTP/1.1 200 OK\r\nX-A: 1\n\r\n", .bareLF),
        Case("HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n", .valueControl),
        Case("HTTP/1.1 200 OK\r\nNoColon\r\n\r\n", .lineBad),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", .bothFramings),
        Case("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", .bothFramings),
        Case("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .transferEncodingUnsupported),
        Case("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", .transferEncodingUnsupported),
        Case("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", .transferEncodingBad),
        Case("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingHTTP10),
        Case("HTTP/1.1 600 Odd\r\n\r\n", .statusCode),
        Case("HTTP/1.1 099 Odd\r\n\r\n", .statusCode),
        Case("HTTP/1.1 20 OK\r\n\r\n", .statusLine),
        Case("HTTP/1.1 2000 OK\r\n\r\n", .statusLine),
        Case("HTTP/1.1 200\r\n\r\n", .statusLine),
        Case("HTTP/1.1  200 OK\r\n\r\n", .statusLine),
        Case("HTTP/1.1 200 O\0K\r\n\r\n", .statusLine),
        Case("HTTP/2.0 200 OK\r\n\r\n", .version),
        Case("HTTP/1.2 200 OK\r\n\r\n", .version),
        Case("HTTP/1.10 200 OK\r\n\r\n", .statusLine),
        Case("ICY 200 OK\r\n\r\n", .statusLine),
        Case("<html>hello", .statusLine),
        Case("\r\nHTTP/1.1 200 OK\r\n\r\n", .statusLine),
        Case("HTTP/1.1 200 OK\r\nConnection: cl(ose\r\n\r\n", .connectionBad),
    ]

    @Test(arguments: refused)
    func `a malformed response is refused with its code`(row: Case) throws {
        #expect(try Self.parse(row.text).0 == .bad(row.expected))
    }

    @Test func `a head of 400 kB is refused at its limit`() throws {
        let text = "HTTP/1.1 200 OK\r\nX-A: " + String(repeating: "v", count: 400_000) + "\r\n\r\n"
        #expect(try Self.parse(text).0 == .bad(.headTooLarge))
    }

    @Test func `too many field lines are refused`() throws {
        let text = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 201) + "\r\n"
        #expect(try Self.parse(text).0 == .bad(.tooManyFields))
    }

    @Test func `content is delimited by the rules of RFC 9112 section 6 3`() throws {
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        #expect(try Self.parse(sized).1.framing == .length(3))
        #expect(try Self.parse(sized, isHead: true).1.framing == BodyFraming.none)
        #expect(try Self.parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n").1.framing == .chunked)
        #expect(try Self.parse("HTTP/1.1 200 OK\r\n\r\n").1.framing == .untilClose)
        for status in ["100", "101", "103", "204", "304"] {
            let head = try Self.parse("HTTP/1.1 \(status) X\r\nContent-Length: 9\r\n\r\n").1
            #expect(head.framing == BodyFraming.none)
            #expect(head.status == Int(status))
        }
    }

    @Test func `both framings are refused even where no content can follow`() throws {
        let text = "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(try Self.parse(text, isHead: true).0 == .bad(.bothFramings))
    }

    @Test func `the connection persists only when both sides can tell where the response ends`() throws {
        #expect(try Self.parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").1.isPersistent)
        #expect(try !Self.parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n").1.isPersistent)
        #expect(try !Self.parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").1.isPersistent)
        #expect(try Self.parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n").1.isPersistent)
        #expect(try !Self.parse("HTTP/1.1 200 OK\r\n\r\n").1.isPersistent)
    }

    @Test func `the reason phrase may be empty and may hold obs-text`() throws {
        let (progress, head) = try Self.parse("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")
        #expect(progress == .complete(consumed: 36))
        #expect(head.reasonPhrase.isEmpty)
        #expect(try Self.parse("HTTP/1.1 200 caf\u{e9}\r\n\r\n").1.reasonPhrase.count == 5)
    }

    @Test func `one response after the other comes out of one parser`() throws {
        let octets = Self.seeds[3]
        var parser = ResponseParser()
        var head = ResponseHead()
        guard case .complete(let first) = parser.parse(octets.span, into: &head, requestMethodIsHead: false) else {
            Issue.record("no interim response")
            return
        }
        #expect(head.status == 100)
        #expect(parser.isAtStart)
        let rest = octets.span.extracting(first..<octets.count)
        let second = parser.parse(rest, into: &head, requestMethodIsHead: false)
        #expect(second == .complete(consumed: octets.count - first))
        #expect(head.status == 204)
        #expect(head.text(FieldName("x-a")) == "caf\u{e9}")
    }
}
