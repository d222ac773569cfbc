// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Back-pressure and deadlines.
@Suite(.timeLimit(.minutes(10))) struct FlowTests {
    /// Kernel buffers of two loopback connections and 256 KiB of our own.
    private static let mostInFlight = 12 << 20

    @Test func `a client that reads slowly holds the upstream back`() throws {
        let total = 64 << 20
        let taken = Monitor<Int?>(nil)
        let rest = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let body = [UInt8](repeating: 0x61, count: total)
            let count = try peer.wire.sendSome(body, Deadline(in: .seconds(2)))
            taken.withLock { $0 = count }
            rest.wait()
            try peer.send(Array(body[count...]))
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client(receiveBuffer: 64 << 10)
        try client.send(get("/big"))
        let count = try #require(taken.wait { $0 })
        #expect(count < Self.mostInFlight, "the upstream could write \(count) octets that nobody reads")
        rest.open()
        let answer = try client.response()
        #expect(answer?.body.count == total)
        #expect(answer?.isComplete == true)
    }

    @Test func `an upstream that reads slowly holds the client back`() throws {
        let total = 64 << 20
        let go = Gate()
        let upstream = try ScriptedUpstream(receiveBuffer: 64 << 10) { peer in
            let head = try #require(try peer.requestHead())
            #expect(head["Content-Length"] == "\(total)")
            go.wait()
            var count = peer.reader.buffer.count
            while count < total { count += try peer.wire.more(limit: 1 << 20).count }
            try peer.send(ScriptedUpstream.ok("\(count)"))
        }
        let bench = try Bench(.init(upstream: ", response_timeout: 20s"), upstream: upstream)
        let client = try bench.client()
        try client.send("POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: \(total)\r\n\r\n")
        let body = [UInt8](repeating: 0x61, count: total)
        let count = try client.wire.sendSome(body, Deadline(in: .seconds(2)))
        #expect(count < Self.mostInFlight, "the client could write \(count) octets that nobody reads")
        go.open()
        try client.send(Array(body[count...]))
        #expect(try client.response()?.text == "\(total)")
    }

    private static let short = "timeouts: { header: 300ms, body_idle: 300ms, keep_alive: 300ms, write: 500ms }"

    @Test func `half a head is 408 and closed`() throws {
        let bench = try Bench(.init(sections: Self.short))
        let client = try bench.client()
        try client.send("GET /a HTTP/1.1\r\nHo")
        let answer = try client.response()
        #expect(answer?.status == 408)
        #expect(client.isClosed())
        let line = bench.daemon.accessLine { $0["end"].text == "header_timeout" }
        #expect(line?["reason"].text == "http.header_timeout")
        #expect(line?["status"].number == 408)
    }

    @Test func `a head that drips is 408 all the same`() throws {
        let bench = try Bench(.init(sections: Self.short))
        let client = try bench.client()
        let start = ContinuousClock.now
        try client.send("GET /a HTTP/1.1\r\n")
        while ContinuousClock.now - start < .seconds(10) {
            guard (try? client.send("X: a\r\n")) != nil else { break }
            if let answer = try? client.response(within: .milliseconds(50)) {
                #expect(answer.status == 408)
                break
            }
        }
        #expect(ContinuousClock.now - start < .seconds(3), "drops of a head move its deadline")
    }

    @Test(arguments: ["/plain", "/api/v1/login"])
    func `a body that stalls is 408`(_ target: String) throws {
        let bench = try Bench(.init(sections: Self.short))
        let client = try bench.client()
        let body = pattern(1000)
        let request = Bench.post(target, token: try bench.token(), signature: try bench.signature(body), body: body)
        try client.send(Array(request.dropLast(500)))
        #expect(try client.response()?.status == 408)
        #expect(client.isClosed())
        let line = bench.daemon.accessLine { $0["end"].text == "body_timeout" }
        #expect(line?["reason"].text == "http.body_timeout")
        #expect(line?["path"].text == target)
    }

    @Test func `an idle connection is closed at keep_alive, and a silent one at header`() throws {
        let bench = try Bench(.init(sections: Self.short))
        let client = try bench.client()
        #expect(try client.exchange(get("/a"))?.status == 200)
        #expect(client.isClosed(within: .seconds(5)))
        #expect(try bench.client().isClosed(within: .seconds(5)))
    }

    @Test func `a client that takes nothing is cut at write`() throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
            try peer.send([UInt8](repeating: 0x61, count: 64 << 20))
        }
        let bench = try Bench(.init(sections: Self.short), upstream: upstream)
        let client = try bench.client(receiveBuffer: 16 << 10)
        try client.send(get("/big"))
        let line = bench.daemon.accessLine { $0["path"].text == "/big" }
        #expect(line?["end"].text == "write_timeout")
        #expect(line?["reason"].text == "http.write_timeout")
        #expect(upstream.hasEnded(1))
        withExtendedLifetime(client) {}
    }

    private func resident(_ pid: Int32) -> (kibibytes: Int, descriptors: Int) {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? ""
        let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
        return (number, files.count)
    }

    @Test func `a thousand requests leave descriptors and memory where they were`() throws {
        let bench = try Bench(.init(sections: "limits: { failed_verifications: { when: off } }"))
        let pid = bench.daemon.child.pid
        let client = try bench.client()
        func round(_ count: Int) throws {
            for index in 0..<count {
                #expect(try client.exchange(get("/r\(index)"))?.status == 200)
                if index % 10 == 0 { #expect(try client.exchange(Bench.post(body: [1]))?.status == 403) }
                if index % 10 == 5 { #expect(try client.exchange(try bench.good(pattern(100_000)))?.status == 200) }
            }
        }
        try round(300)
        let before = resident(pid)
        try round(1000)
        let after = resident(pid)
        #expect(after.descriptors == before.descriptors)
        #expect(after.kibibytes - before.kibibytes < 2048, "grew by \(after.kibibytes - before.kibibytes) KiB")
    }
}
