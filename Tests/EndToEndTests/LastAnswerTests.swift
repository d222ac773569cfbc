// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// An answer that was decided reaches the client, whatever it sends or does right after the request.
@Suite(.timeLimit(.minutes(10))) struct LastAnswerTests {
    private static let head = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\n"

    @Test(arguments: [
        "Transfer-Encoding: chunked\r\n\r\n3;a\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n", "Content-Length: 9\r\n\r\nabc",
    ])
    func `a refused head is answered although its content is broken or missing`(rest: String) throws {
        let bench = try Bench()
        let client = try bench.client()
        try client.send(Self.head + rest)
        client.wire.halfClose()
        let answer = try client.response()
        #expect(answer?.status == 403)
        #expect(answer?.isComplete == true)
        #expect(client.isClosed())
        #expect(bench.line(of: answer)?["reason"].text == "hid.token_missing")
    }

    @Test func `a client that closes its side with the request gets the answer`() throws {
        let bench = try Bench()
        for _ in 0..<20 {
            let client = try bench.client()
            try client.send(Self.head + "Content-Length: 0\r\n\r\n")
            client.wire.halfClose()
            #expect(try client.response()?.status == 403)
            #expect(client.isClosed())
        }
    }

    @Test(arguments: [0, 1, 1023, 1024, 1025, 16383, 16384, 16385, 65535, 65536, 65537, 200_001])
    func `an answer of any size arrives whole, and the connection stays good`(size: Int) throws {
        let upstream = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(pattern(size))
            }
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        for _ in 0..<3 {
            let answer = try client.exchange(get("/sized"))
            #expect(answer?.body == pattern(size))
        }
    }
}
