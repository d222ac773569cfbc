// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Content through TLS.
@Suite(.timeLimit(.minutes(10))) struct TLSBodyTests {
    /// More than the buffers of all sockets on the way hold.
    private static let big = pattern(24_000_000)

    @Test func `a big answer to a slow client is byte-equal, and meanwhile the upstream is held back`() throws {
        let sent = Monitor(0)
        let upstream = try ScriptedUpstream { peer in
            guard try peer.request() != nil else { return }
            let body = TLSBodyTests.big
            try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            for start in stride(from: 0, to: body.count, by: 65_536) {
                let part = Array(body[start..<min(body.count, start + 65_536)])
                try peer.send(part)
                sent.withLock { $0 += part.count }
            }
        }
        let tls = try TLSBench(upstream: upstream)
        let link = try tls.dial(receiveBuffer: 32_768)
        try link.send(Array(get("/big").utf8))
        // Until nothing moves any more: all buffers between are full.
        var last = 0
        while let more = sent.wait(Deadline(in: .seconds(last == 0 ? 20 : 1)), for: { $0 > last ? $0 : nil }) {
            last = more
        }
        #expect(last < 16_000_000)
        #expect(tls.bench.resident < 200 << 20)
        let answer = try LinkClient(link).response(within: .seconds(60))
        #expect(answer?.isComplete == true)
        #expect(answer?.body == Self.big)
    }

    @Test func `a big upload to a slow upstream is byte-equal, and meanwhile the client is held back`() throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(receiveBuffer: 32_768) { peer in
            _ = gate.wait()
            while let request = try peer.request() {
                try peer.send(ScriptedUpstream.ok(request.body == TLSBodyTests.big ? "equal" : "different"))
            }
        }
        let tls = try TLSBench(upstream: upstream)
        let link = try tls.dial()
        // Made before the clock of the gateway runs.
        let head = Array("POST /up HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(Self.big.count)\r\n\r\n".utf8)
        _ = link.client.write(head)
        _ = link.client.write(Self.big)
        var records: [UInt8] = []
        while true {
            let octets = link.client.takeOutput()
            if octets.isEmpty { break }
            records += octets
        }
        let taken = try link.wire.sendSome(records, Deadline(in: .seconds(2)))
        #expect(taken < 16_000_000)
        gate.open()
        try link.wire.send(Array(records[taken...]), Deadline(in: .seconds(60)))
        #expect(try LinkClient(link).response(within: .seconds(60))?.text == "equal")
    }

    @Test(arguments: [true, false])
    func `a request that TLS cuts off is never complete for the upstream`(_ isChunked: Bool) throws {
        let ended = Monitor<[Bool]>([])
        let upstream = try ScriptedUpstream { peer in
            let request = try peer.request()
            ended.withLock { $0.append(request?.isComplete ?? false) }
            try peer.send(ScriptedUpstream.ok("ok"))
        }
        let tls = try TLSBench(upstream: upstream)
        let link = try tls.dial()
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 400000"
        try link.send(Array("POST /up HTTP/1.1\r\nHost: api.test\r\n\(framing)\r\n\r\n".utf8))
        if isChunked {
            try link.send(Array("10000\r\n".utf8) + pattern(65_536) + Array("\r\n".utf8))
        } else {
            try link.send(pattern(300_000))
        }
        #expect(
            IssuerBench.eventually { tls.bench.upstream.accepted == 1 })
        // A part of a record, and the end of the stream without close_notify.
        try link.sendCut(pattern(10_000), 100)
        link.wire.halfClose()
        let line = tls.bench.daemon.accessLine { $0["path"].text == "/up" }
        #expect(line?["end"].text != nil)
        #expect(upstream.hasEnded(1))
        #expect(ended.withLock { $0.contains(true) } == false)
    }
}
