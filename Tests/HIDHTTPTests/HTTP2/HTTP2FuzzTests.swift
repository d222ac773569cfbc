// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

/// Random frames, mutated conversations and every truncation: nothing may trap, and what is told must be sound.
@Suite(.timeLimit(.minutes(10))) struct HTTP2FuzzTests {
    static let blocks: [[UInt8]] = [
        HTTP2Wire.request(), HTTP2Wire.request("POST", "/a", [("content-length", "5")]),
        HTTP2Wire.request("POST", "/b"), HTTP2Wire.request("GET", "/c", [("cookie", "a=1"), ("cookie", "b=2")]),
        HTTP2Wire.request("PUT", "/d?e", [("expect", "100-continue"), ("te", "trailers"), ("x_y", "1")]),
        HTTP2Wire.block([("x-sum", "1")]), HTTP2Wire.request("OPTIONS", "*"),
        HTTP2Wire.block([(":method", "CONNECT"), (":authority", "a:1")]),
        HTTP2Wire.request("GET", "/", [("transfer-encoding", "chunked")]), [0x82, 0x87, 0x84, 0x41, 1, 0x61],
        [0x3F, 0xE1, 0x1F] + HTTP2Wire.request(), [0x82, 0x86, 0x85] + HTTP2Wire.indexed([0x78], [0x79]),
    ]

    /// A whole conversation, frame by frame.
    static let conversation: [[UInt8]] = [
        HTTP2Wire.preface, HTTP2Wire.settings([(4, 100_000), (1, 0)]), HTTP2Wire.settingsAck,
        HTTP2Wire.headers(1, blocks[0]), HTTP2Wire.headers(3, blocks[1], end: false), HTTP2Wire.data(3, "123"),
        HTTP2Wire.windowUpdate(0, 70_000), HTTP2Wire.windowUpdate(3, 9), HTTP2Wire.ping(),
        HTTP2Wire.headers(5, Array(blocks[2].prefix(9)), end: false, endHeaders: false),
        HTTP2Wire.continuation(5, Array(blocks[2][9..<12]), endHeaders: false),
        HTTP2Wire.continuation(5, Array(blocks[2].dropFirst(12))), HTTP2Wire.data(3, "45", end: true),
        HTTP2Wire.paddedData(5, Array("padded".utf8), padding: 7), HTTP2Wire.priority(7, on: 5),
        HTTP2Wire.headers(5, blocks[5]), HTTP2Wire.headers(7, blocks[3]), HTTP2Wire.frame(0x42, stream: 1, [1, 2]),
        HTTP2Wire.headers(9, blocks[4], end: false), HTTP2Wire.data(9, [], end: true), HTTP2Wire.settings([(4, 5)]),
    ]

    static func whole() throws -> SessionPeer {
        let peer = try SessionPeer(greets: false)
        peer.send(conversation.flatMap(\.self))
        return peer
    }

    @Test func `every truncation of a conversation tells a part of it and breaks nothing`() throws {
        let whole = try Self.whole()
        #expect(whole.events.filter { $0.hasPrefix("ended") }.count == 5)
        let octets = Self.conversation.flatMap(\.self)
        for end in 0..<octets.count {
            let peer = try SessionPeer(greets: false)
            peer.send(Array(octets.prefix(end)))
            #expect(peer.session.fault == nil)
            #expect(Set(peer.events).isSubset(of: whole.events))
            for (id, head) in peer.heads { #expect(head == whole.heads[id]) }
            peer.session.connectionLost()
            #expect(peer.session.slots == 0 && peer.session.waitingInput == 0)
            let begun = peer.events.filter { $0.hasPrefix("began") }.count
            #expect(peer.events.filter { $0.hasPrefix("lost") }.count == begun)
        }
    }

    @Test func `a conversation means the same however it is cut`() throws {
        let whole = try Self.whole()
        let octets = Self.conversation.flatMap(\.self)
        for cut in 1..<octets.count {
            let peer = try SessionPeer(greets: false)
            peer.send(Array(octets.prefix(cut)))
            peer.send(Array(octets.dropFirst(cut)))
            #expect(peer.heads == whole.heads && peer.contents == whole.contents)
            #expect(peer.events.sorted() == whole.events.sorted())
        }
        let dripped = try SessionPeer(greets: false)
        for octet in octets { dripped.send([octet]) }
        #expect(dripped.session.fault == nil)
        #expect(dripped.events.sorted() == whole.events.sorted())
        #expect(dripped.heads == whole.heads && dripped.contents == whole.contents)
    }

    static func randomFrame(_ random: inout XorShift, next: inout UInt32) -> [UInt8] {
        let stream = random.below(3) == 0 ? next : UInt32(random.below(Int(next) + 2))
        switch random.below(14) {
        case 0...4:
            next += 2
            let block = FuzzTests.mutate(blocks[random.below(blocks.count)], &random)
            let isSound = random.below(3) > 0
            return HTTP2Wire.headers(
                next - 2, isSound ? blocks[random.below(blocks.count)] : block, end: random.below(2) == 0,
                endHeaders: random.below(20) > 0)
        case 5: return HTTP2Wire.data(stream, [UInt8](repeating: 1, count: random.below(9)), end: random.below(2) == 0)
        case 6:
            return HTTP2Wire.paddedData(
                stream, [UInt8](repeating: 1, count: random.below(9)), padding: random.below(20))
        case 7: return HTTP2Wire.reset(stream, UInt32(random.below(15)))
        case 8:
            return HTTP2Wire.windowUpdate(stream, UInt32(truncatingIfNeeded: random.next() >> UInt64(random.below(33))))
        case 9: return HTTP2Wire.settings([(UInt16(random.below(10)), UInt32(random.below(70_000)))])
        case 10: return HTTP2Wire.ping(ack: random.below(2) == 0)
        case 11:
            return HTTP2Wire.continuation(stream, blocks[random.below(blocks.count)], endHeaders: random.below(2) == 0)
        case 12: return HTTP2Wire.headers(stream, blocks[5])
        default:
            let payload = (0..<random.below(30)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let flags = UInt8(truncatingIfNeeded: random.next())
            return HTTP2Wire.frame(UInt8(random.below(12)), flags: flags, stream: stream, payload)
        }
    }

    /// What must hold whatever came.
    static func isSound(_ peer: SessionPeer) -> Bool {
        guard peer.session.waitingInput >= 0, peer.session.waitingOutput >= 0, peer.session.slots >= 0 else {
            return false
        }
        guard peer.session.slots <= peer.session.limits.concurrentStreams else { return false }
        for (id, head) in peer.heads {
            guard Self.isReparsed(head) else { return false }
            let isWhole = peer.events.contains("ended \(id)")
            if case .length(let length) = head.framing, isWhole, length != UInt64(peer.contents[id]?.count ?? 0) {
                return false
            }
            if head.framing == .none, peer.contents[id] != nil { return false }
        }
        return peer.session.fault == nil || !peer.frames(7).isEmpty
    }

    /// Whether the HTTP/1 parser reads the octets of a head as the same head.
    static func isReparsed(_ head: RequestHead) -> Bool {
        var parsed = RequestHead()
        var parser = RequestParser(limits: .test)
        guard parser.parse(head.bytes.span, into: &parsed) == .complete(consumed: head.bytes.count) else {
            return false
        }
        // The stream delimits the content, not the head.
        parsed.framing = head.framing
        parsed.expectsContinue = head.expectsContinue
        return parsed == head && head.count(of: FieldName("transfer-encoding")) == 0
    }

    @Test(arguments: 1...4)
    func `random frames never trap, and every head is one of HTTP-1`(seed: UInt64) throws {
        var random = XorShift(state: 0x9E37_79B9_7F4A_7C15 &* seed)
        var frames = 0
        var heads = 0
        var faults: Set<String> = []
        while frames < 30_000 {
            let peer = try SessionPeer()
            peer.answersAtOnce = random.below(2) == 0
            peer.releasesAtOnce = random.below(4) > 0
            var next: UInt32 = 1
            for _ in 0..<60 where peer.session.fault == nil {
                if random.below(8) == 0 { peer.held = [Int32(random.below(9))] }
                peer.send(Self.randomFrame(&random, next: &next))
                frames += 1
                if random.below(10) == 0, let stream = peer.streams.values.first { act(on: stream, peer, &random) }
            }
            heads += peer.heads.count
            faults.formUnion(peer.faults.map(\.code))
            let sound = Self.isSound(peer)
            #expect(sound, "seed \(seed) after \(frames) frames")
            peer.session.connectionLost()
            peer.collect()
            for stream in peer.streams.values { peer.session.release(stream) }
            #expect(peer.session.slots == 0 && peer.session.waitingInput == 0 && peer.session.waitingOutput == 0)
        }
        #expect(heads > 4_000)
        #expect(faults.count >= 15)
    }

    private func act(on stream: HTTP2Stream, _ peer: SessionPeer, _ random: inout XorShift) {
        switch random.below(6) {
        case 0: peer.answer(stream.id)
        case 1: peer.session.reset(stream, .cancel)
        case 2: peer.session.respond(stream, status: 200, lines: [], endsStream: false)
        case 3: peer.session.write(stream, [UInt8](repeating: 2, count: 70_000).span)
        case 4: peer.session.end(stream, trailers: Array("x: 1\r\n".utf8))
        default: peer.session.resume(stream, now: peer.now)
        }
        peer.collect()
    }

    @Test(arguments: 1...4)
    func `mutated conversations never trap`(seed: UInt64) throws {
        var random = XorShift(state: 0xD1B5_4A32_D192_ED03 &* seed)
        for _ in 0..<400 {
            var frames = Self.conversation
            for _ in 0...random.below(3) {
                let index = random.below(frames.count)
                switch random.below(4) {
                case 0: frames.remove(at: index)
                case 1: frames.insert(frames[random.below(frames.count)], at: index)
                case 2: frames.swapAt(index, random.below(frames.count))
                default: frames[index] = FuzzTests.mutate(frames[index], &random)
                }
            }
            let peer = try SessionPeer(greets: false)
            peer.send(frames.flatMap(\.self))
            let sound = Self.isSound(peer)
            #expect(sound, "\(frames)")
        }
    }

    @Test(arguments: 1...4)
    func `random fields come out as the same fields or not at all`(seed: UInt64) throws {
        var random = XorShift(state: 0xBF58_476D_1CE4_E5B9 &* seed)
        let names = [
            "x", "accept", "cookie", "x_y", "host", "te", "content-length", "X", "a b", "", ":path", "connection",
        ]
        let values = ["", "1", "a b", "trailers", "gw.test", " a", "a\r\nb: c", "\u{e9}", "0", "a\0", "a\tb"]
        var accepted = 0
        for _ in 0..<2_000 {
            let fields = (0..<random.below(5)).map { _ in
                (
                    names[random.below(random.below(3) == 0 ? 12 : 4)],
                    values[random.below(random.below(3) == 0 ? 11 : 4)]
                )
            }
            let peer = try SessionPeer()
            peer.send(HTTP2Wire.headers(1, HTTP2Wire.request(fields)))
            guard let head = peer.heads[1] else {
                #expect(peer.faults.count == 1 || peer.events == ["refused 1 417"], "\(fields)")
                continue
            }
            accepted += 1
            #expect(Self.isReparsed(head))
            let cookies = fields.filter { $0.0 == "cookie" && !$0.1.isEmpty }.map(\.1)
            var expected = fields.filter { $0.0 != "host" && $0.0 != "cookie" }.map { "\($0.0)=\($0.1)" }
            if !cookies.isEmpty { expected.append("cookie=\(cookies.joined(separator: "; "))") }
            let found = head.fields.map { line in
                String(decoding: head.bytes[line.name], as: UTF8.self) + "="
                    + String(decoding: head.bytes[line.value], as: UTF8.self)
            }
            #expect(found == ["host=gw.test"] + expected)
        }
        #expect(accepted > 300)
    }
}
