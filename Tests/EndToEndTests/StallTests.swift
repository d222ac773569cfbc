// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import HIDTesting
import Testing

/// Ends of messages that meet back-pressure, and connections that must not outlive their use.
@Suite(.timeLimit(.minutes(10))) struct StallTests {
    @Test(arguments: Array(stride(from: 262_000, to: 700_000, by: 36_500)))
    func `an answer that ends while its client is slow is whole, and the connection goes on`(size: Int) throws {
        let sent = Gate()
        let upstream = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(pattern(size))
                sent.open()
            }
        }
        let bench = try Bench(.init(upstream: ", response_timeout: 1s"), upstream: upstream)
        let client = try bench.client(receiveBuffer: 4 << 10)
        try client.send(get("/sized"))
        sent.wait()
        let answer = try client.response()
        #expect(answer?.body == pattern(size))
        let line = bench.line(of: answer)
        #expect(line?["decision"].text == "pass")
        #expect(line?["end"].text == nil)
        #expect(try client.exchange(get("/sized"))?.status == 200)
    }

    @Test(arguments: Array(stride(from: 262_000, to: 700_000, by: 36_500)))
    func `an upload that ends while its upstream is slow is complete`(size: Int) throws {
        let go = Gate()
        let answer = Gate()
        let upstream = try ScriptedUpstream(receiveBuffer: 4 << 10) { peer in
            _ = try peer.requestHead()
            go.wait()
            var count = peer.reader.buffer.count
            while count < size { count += try peer.wire.more(limit: 1 << 20).count }
            answer.wait()
            try peer.send(ScriptedUpstream.ok("\(count)"))
        }
        let bench = try Bench(.init(sections: "timeouts: { body_idle: 300ms }"), upstream: upstream)
        let client = try bench.client()
        try client.send("POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
        try client.send([UInt8](repeating: 0x61, count: size))
        go.open()
        // Longer than body_idle: a complete request is not told that its content is missing.
        #expect(throws: (any Error).self) { try client.wire.receive(Deadline(in: .milliseconds(700))) }
        answer.open()
        #expect(try client.response()?.text == "\(size)")
    }

    /// Which sizes leave the end of the answer in the gateway's own queue depends on the kernel's buffers: many are tried.
    @Test func `a refusal behind a large answer does not keep its connection`() throws {
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                let size = request["X-Size"].flatMap { Int($0) } ?? 0
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send([UInt8](repeating: 0x78, count: size))
            }
        }
        let sections = "timeouts: { body_idle: 300ms, write: 20s }"
        let bench = try Bench(.init(sections: sections), upstream: upstream)
        let refused = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc"
        let clients = try stride(from: 2_600_000, to: 4_400_000, by: 60_000).map { size in
            let client = try bench.client(receiveBuffer: 4 << 10)
            try client.send(get("/big", fields: "X-Size: \(size)\r\n") + refused)
            return (client, size)
        }
        // Nobody reads for a while, so that refusals gather behind answers that wait.
        Gate().wait(Deadline(in: .milliseconds(1500)))
        let slow = clients.map { Slow(client: $0.0, size: $0.1) }
        let wrong = Monitor<[String]>([])
        DispatchQueue.concurrentPerform(iterations: slow.count) { index in
            if let fault = slow[index].read() { wrong.withLock { $0.append(fault) } }
        }
        #expect(wrong.withLock { $0 } == [])
    }

    /// A client that is read on one thread at a time.
    private struct Slow: @unchecked Sendable {
        let client: RawClient
        let size: Int

        /// What is wrong with the two answers and the end after them.
        func read() -> String? {
            guard (try? client.response())?.body.count == size else { return "\(size): the answer" }
            guard (try? client.response())?.status == 403 else { return "\(size): the refusal" }
            return client.isClosed(within: .seconds(5)) ? nil : "\(size): open"
        }
    }

    @Test func `a request behind an answer that nobody takes does not undo the write timeout`() throws {
        let size = 6 << 20
        let upstream = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(pattern(size))
            }
        }
        let bench = try Bench(.init(sections: "timeouts: { write: 500ms }"), upstream: upstream)
        let client = try bench.client(receiveBuffer: 4 << 10)
        let whole = get("/first") + get("/second")
        try client.send(String(whole.dropLast(20)))
        try client.send(String(whole.suffix(20)))
        #expect(bench.daemon.accessLine { $0["end"].text == "write_timeout" } != nil)
    }

    @Test func `a connection whose last answer was leaving at SIGTERM does not hold up the stop`() throws {
        let size = 3 << 20
        let upstream = try ScriptedUpstream { peer in
            while try peer.request() != nil {
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(pattern(size))
            }
        }
        let bench = try Bench(.init(sections: "timeouts: { drain: 20s }"), upstream: upstream)
        let client = try bench.client(receiveBuffer: 4 << 10)
        try client.send(get("/big"))
        #expect(upstream.requests(1).count == 1)
        bench.daemon.child.signal(SIGTERM)
        #expect(bench.daemon.event("stop.draining") != nil)
        #expect(try client.response()?.body.count == size)
        #expect(bench.daemon.event("stopped")?["cut"].number == 0)
    }

    @Test func `the admin listener takes no content`() throws {
        let bench = try Bench()
        let address = try #require(bench.daemon.admin)
        let head = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        #expect(try RawClient(address).exchange(head)?.status == 413)
    }

    @Test func `a reload that changes an upstream lets what is under way finish`() throws {
        let arrived = Gate()
        let finish = Gate()
        let slow = try ScriptedUpstream { peer in
            _ = try peer.request()
            arrived.open()
            finish.wait()
            try peer.send(ScriptedUpstream.ok("old"))
        }
        let fresh = try ScriptedUpstream(ScriptedUpstream.answering { _ in ScriptedUpstream.ok("new") })
        let bench = try Bench(upstream: slow)
        let first = try bench.client()
        try first.send(get("/slow"))
        arrived.wait()
        try bench.folder.write("gateway.yaml", Bench.configuration(bench.setup, url: fresh.url))
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.done") != nil)
        for _ in 0..<5 { #expect(try bench.once(get("/now"))?.text == "new") }
        finish.open()
        #expect(try first.response()?.text == "old")
        for _ in 0..<5 { #expect(try bench.once(get("/now"))?.text == "new") }
    }

    @Test(arguments: ["block", "monitoring"])
    func `held content is bounded by the limit of all content too`(mode: String) throws {
        let bench = try Bench(.init(sections: "limits: { body: 64KiB, signed_body: 1MiB }", mode: mode))
        let body = pattern(100_000)
        var head = "POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        head += "X-HID-Token: \(try bench.token())\r\nX-HID-Signature: \(try bench.signature(body))\r\n\r\n"
        let chunk = Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
        let answer = try bench.once(Array(head.utf8) + chunk)
        #expect(answer?.status == 413)
        #expect(bench.line(of: answer)?["reason"].text == "http.body_too_large")
        #expect(bench.upstream.requests.isEmpty)
    }
}
