// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

@Suite struct HTTP2SessionTests {
    @Test func `a request comes out as the head an HTTP-1 client would send, and its answer goes back`() throws {
        let peer = try SessionPeer()
        peer.send(HTTP2Wire.headers(1, HTTP2Wire.request("GET", "/a?b=c", [("accept", "*/*"), ("x_y", "")])))
        #expect(peer.events == ["began 1", "ended 1"])
        #expect(
            peer.heads[1].map { String(decoding: $0.bytes, as: UTF8.self) }
                == "GET /a?b=c HTTP/1.1\r\nhost: gw.test\r\naccept: */*\r\nx_y: \r\n\r\n")
        #expect(peer.heads[1]?.framing == BodyFraming.none)
        #expect(peer.heads[1]?.fields.map(\.hasUnderscore) == [false, false, true])
        peer.answer(1, "hello")
        #expect(peer.headers(1) == [[":status: 200", "server: t"]])
        #expect(String(decoding: peer.content(1), as: UTF8.self) == "hello")
        #expect(peer.frames(0, 1).last?.endsStream == true)
        #expect(peer.resets(1).isEmpty)
        #expect(peer.events.last == "sent 1")
        #expect(peer.session.slots == 0)
        #expect(peer.faults.isEmpty)
    }
}
