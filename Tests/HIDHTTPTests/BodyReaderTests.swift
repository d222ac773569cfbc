// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

@Suite struct BodyReaderTests {
    struct Result: Equatable {
        var content: [UInt8] = []
        var fault: BodyFault?
        var end: EndOfStream
        var consumed = 0
    }

    struct Case: CustomStringConvertible {
        var text: String
        var fault: BodyFault
        var description: String { text.prefix(60).debugDescription }

        init(_ text: String, _ fault: BodyFault) {
            self.text = text
            self.fault = fault
        }
    }

    static func read(
        _ octets: [UInt8], cuts: [Int], framing: BodyFraming = .chunked, limits: BodyLimits = BodyLimits()
    ) -> Result {
        var reader = BodyReader(framing: framing, limits: limits)
        var result = Result(end: .truncated)
        for end in cuts + [octets.count] {
            feed: while true {
                let rest = octets.span.extracting(result.consumed..<end)
                switch reader.next(rest) {
                case .needMore(let consumed):
                    result.consumed += consumed
                    break feed
                case .data(let range):
                    for index in range { result.content.append(rest[index]) }
                    result.consumed += range.upperBound
                case .end(let consumed):
                    result.consumed += consumed
                    break feed
                case .bad(let fault):
                    result.fault = fault
                    result.consumed = end
                    break feed
                }
            }
        }
        result.end = reader.atEndOfStream()
        if result.fault != nil { result.consumed = 0 }
        return result
    }

    /// The result, the same for every cut.
    static func readEveryCut(_ text: String, limits: BodyLimits = BodyLimits()) throws -> Result {
        let octets = Array(text.utf8)
        let whole = read(octets, cuts: [], limits: limits)
        for cuts in everyCut(of: octets.count) {
            var other = read(octets, cuts: cuts, limits: limits)
            // What was delivered before a fault depends on nothing but the octets before it.
            if whole.fault != nil { other.consumed = whole.consumed }
            try #require(other == whole, "cut at \(cuts.count == 1 ? cuts : [])")
        }
        return whole
    }

    static let refused: [Case] = [
        Case("\r\n", .chunkSize), Case(";x\r\n", .chunkSize), Case("0x5\r\nhello", .chunkSize),
        Case("+5\r\n", .chunkSize),
        Case("-5\r\n", .chunkSize), Case(" 5\r\n", .chunkSize), Case("5 \r\n", .chunkSize),
        Case("5\t;a\r\n", .chunkSize),
        Case("5g\r\n", .chunkSize), Case("fffffffffffffffff\r\n", .chunkSize), Case("ffffffffffffffff\r\n", .chunkSize),
        Case("8000000000000000\r\n", .chunkSize), Case("00000000000000005\r\n", .chunkSize),
        Case("10000000000000005\r\n", .chunkSize), Case("5\0\r\n", .chunkSize), Case("5_0\r\n", .chunkSize),
        Case("5\nhello", .bareLF), Case("\n", .bareLF), Case("5\rhello", .bareCR), Case("5\r\r;A\r\n", .bareCR),
        Case("5;\r\nhello", .chunkExtension), Case("5; a\r\n", .chunkExtension), Case("5;a =b\r\n", .chunkExtension),
        Case("5;a= b\r\n", .chunkExtension), Case("5;a=\r\n", .chunkExtension), Case("5;a=\"b\r\n", .chunkExtension),
        Case("5;a=\"b\"c\r\n", .chunkExtension), Case("5;a\nhello", .chunkExtension), Case("5;\nxx", .chunkExtension),
        Case("5;a=b\rX\r\n", .chunkExtension), Case("5;a=\0\r\n", .chunkExtension),
        Case("5;a=\"\n\"\r\n", .chunkExtension),
        Case("5;a=\"\\\r\n\"\r\n", .chunkExtension), Case("5;a;;b\r\n", .chunkExtension),
        Case("5;" + String(repeating: "a", count: 1_024) + "\r\n", .chunkExtensionTooLarge),
        Case("3\r\nabcXX0\r\n\r\n", .chunkTerminator), Case("3\r\nabc\n0", .chunkTerminator),
        Case("3\r\nabc\rX", .chunkTerminator),
        Case("6\r\nhello\r\n0\r\n\r\n", .chunkTerminator), Case("0\n\r\n", .bareLF),
        Case("0\r\nX : 1\r\n", .trailerName),
        Case("0\r\nnocolon\r\n\r\n", .trailerLine), Case("0\r\n x\r\n", .trailerFolded), Case("0\r\nX: 1\n", .bareLF),
        Case("0\r\nX: 1\r\n two\r\n\r\n", .trailerFolded), Case("0\r\nX: \0\r\n", .trailerControl),
        Case("0\r\n: 1\r\n", .trailerName), Case("0\r\n\rX", .bareCR), Case("0\r\nX: 1\rY\r\n", .bareCR),
        Case("0\r\n" + String(repeating: "A: b\r\n", count: 33) + "\r\n", .trailerTooLarge),
        Case("0\r\nA: " + String(repeating: "b", count: 8_192) + "\r\n\r\n", .trailerTooLarge),
    ]

    @Test(arguments: refused)
    func `malformed chunked content is refused with its code however it is cut`(row: Case) throws {
        #expect(try Self.readEveryCut(row.text).fault == row.fault)
    }

    @Test func `chunks come out as content and the next message is left alone`() throws {
        let text = "5;a=1;b=\"x;\\\"y\";c\r\nhello\r\n00A\r\n0123456789\r\n0;last\r\nX-Sum: abc\r\nE:\r\n\r\nGET /"
        let result = try Self.readEveryCut(text)
        #expect(result == .init(content: Array("hello0123456789".utf8), end: .complete, consumed: text.utf8.count - 5))
    }

    @Test func `every way to chunk some content gives it back`() {
        let content = (0..<64).map { UInt8($0 * 3 & 0xFF) }
        for size in 1...content.count {
            var wire: [UInt8] = []
            for start in stride(from: 0, to: content.count, by: size) {
                let chunk = content[start..<min(start + size, content.count)]
                HeadWriter.chunkHeader(chunk.count, into: &wire)
                wire += chunk
                HeadWriter.chunkEnd(into: &wire)
            }
            HeadWriter.lastChunk(into: &wire)
            for piece in [1, 2, 3, 7, wire.count] {
                let result = Self.read(wire, cuts: Array(stride(from: piece, to: wire.count, by: piece)))
                #expect(result == .init(content: content, end: .complete, consumed: wire.count))
            }
        }
    }

    @Test func `the end of the connection completes only what has no other end`() {
        let some = Array("hello".utf8)
        #expect(Self.read(some, cuts: [], framing: .untilClose).end == .complete)
        #expect(Self.read(some, cuts: [], framing: .untilClose).content == some)
        #expect(Self.read(some, cuts: [], framing: .length(6)).end == .truncated)
        #expect(Self.read(some, cuts: [], framing: .length(5)).end == .complete)
        #expect(Self.read(some, cuts: [], framing: .none) == .init(end: .complete))
        #expect(Self.read(Array("5\r\nhello\r\n".utf8), cuts: []).end == .truncated)
        #expect(Self.read(Array("0\r\n".utf8), cuts: []).end == .truncated)
    }

    @Test func `a length leaves the octets behind it`() {
        let result = Self.read(Array("helloGET".utf8), cuts: [2], framing: .length(5))
        #expect(result == .init(content: Array("hello".utf8), end: .complete, consumed: 5))
    }

    @Test func `a message that is over says so without more octets`() {
        let octet: [UInt8] = [0x61]
        let nothing: [UInt8] = []
        var reader = BodyReader(framing: .length(1))
        #expect(reader.next(octet.span) == .data(0..<1))
        #expect(reader.isEnded)
        #expect(reader.next(nothing.span) == .end(consumed: 0))
        #expect(reader.next(octet.span) == .end(consumed: 0))
        var empty = BodyReader(framing: .length(0))
        #expect(empty.next(octet.span) == .end(consumed: 0))
    }

    @Test func `content over the limit is refused as soon as it is announced`() {
        let limits = BodyLimits(content: 5)
        #expect(Self.read([], cuts: [], framing: .length(6), limits: limits).fault == .contentTooLarge)
        #expect(Self.read([], cuts: [], framing: .length(5), limits: limits).fault == nil)
        #expect(Self.read(Array("6\r\n".utf8), cuts: [], limits: limits).fault == .contentTooLarge)
        #expect(Self.read(Array("5\r\nhello\r\n1\r\n".utf8), cuts: [], limits: limits).fault == .contentTooLarge)
        #expect(
            Self.read(Array("hello!".utf8), cuts: [], framing: .untilClose, limits: limits).fault == .contentTooLarge)
        #expect(Self.read(Array("7fffffffffffffff\r\n".utf8), cuts: []).fault == nil)
    }

    @Test func `extensions are bounded over a whole message`() {
        let chunk = "1;" + String(repeating: "a", count: 1_000) + "\r\nx\r\n"
        let text = String(repeating: chunk, count: 17)
        #expect(Self.read(Array(text.utf8), cuts: []).fault == .chunkExtensionTooLarge)
        let fewer = String(repeating: chunk, count: 16) + "0\r\n\r\n"
        #expect(Self.read(Array(fewer.utf8), cuts: []).end == .complete)
    }

    @Test func `body faults have unique codes and a status`() {
        #expect(Set(BodyFault.allCases.map(\.code)).count == BodyFault.allCases.count)
        for fault in BodyFault.allCases {
            #expect([400, 413, 431].contains(fault.status))
            #expect(!fault.explanation.isEmpty)
        }
    }
}
