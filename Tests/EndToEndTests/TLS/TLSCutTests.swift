// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// The end of an answer over TLS: in order only where it is whole (RFC 8446 section 6.1).
@Suite(.timeLimit(.minutes(10))) struct TLSCutTests {
    /// What ends a connection, and behind which octets of content.
    private func end(_ request: String, _ answer: String, rest: String) throws -> (text: String, isInOrder: Bool) {
        let go = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send(answer)
            go.wait()
            try peer.send(rest)
        }
        let tls = try TLSBench(upstream: upstream)
        let link = try tls.dial()
        try link.send(Array(request.utf8))
        var octets: [UInt8] = []
        while !String(decoding: octets, as: UTF8.self).contains("hello") { octets += try link.more() }
        go.open()
        var isInOrder = true
        do {
            while true {
                let more = try link.receive(Deadline())
                if more.isEmpty { break }
                octets += more
            }
        } catch { isInOrder = false }
        return (String(decoding: octets, as: UTF8.self), isInOrder)
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    private static let sized = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello"
    private static let new = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    private static let old = "GET /a HTTP/1.0\r\nHost: a\r\n\r\n"

    /// For HTTP/1.0 a chunked answer is one that ends with its connection.
    @Test(arguments: [old, new], [chunked, sized])
    func `a cut answer ends without close_notify`(request: String, answer: String) throws {
        let (text, isInOrder) = try end(request, answer, rest: "")
        #expect(text.hasSuffix("hello") || text.hasSuffix("hello\r\n"))
        #expect(!isInOrder)
    }

    @Test(arguments: [old, new], [chunked, sized])
    func `a whole answer ends with it`(request: String, answer: String) throws {
        let rest = answer == Self.sized ? " world" : "6\r\n world\r\n0\r\n\r\n"
        let (text, isInOrder) = try end(request, answer, rest: rest)
        #expect(text.contains(" world"))
        #expect(isInOrder)
    }
}
