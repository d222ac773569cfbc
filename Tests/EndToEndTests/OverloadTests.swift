// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Connections that are too many, and what they may keep.
@Suite(.timeLimit(.minutes(10))) struct OverloadTests {
    @Test func `refused connections are counted by the limit that refused them`() throws {
        let bench = try Bench(.init(sections: "limits: { connections: 4, per_client: 3 }"))
        let clients = try (0..<3).map { _ in try bench.client() }
        for client in clients { #expect(try client.exchange(get("/a"))?.status == 200) }
        #expect(try bench.client().response()?.status == 503)
        #expect(try bench.refused("per_client") == 1)
        for cause in ["connections", "buffered", "descriptors"] { #expect(try bench.refused(cause) == 0) }
    }

    @Test func `a trusted proxy is not capped as one client, but all connections together are`() throws {
        let listeners = "[ { address: \"127.0.0.1:0\", trusted_proxies: [127.0.0.0/8] } ]"
        let bench = try Bench(.init(listeners: listeners, sections: "limits: { connections: 6, per_client: 2 }"))
        let clients = try (0..<6).map { _ in try bench.client() }
        for client in clients { #expect(try client.exchange(get("/a"))?.status == 200) }
        #expect(try bench.client().response()?.status == 503)
        #expect(try bench.refused("connections") == 1)
        #expect(try bench.refused("per_client") == 0)
    }

    @Test func `a unix socket is not capped as one client`() throws {
        let folder = try TestFolder()
        let listeners = "[ { address: \"unix:\(folder.path)/front.sock\" } ]"
        let bench = try Bench(.init(listeners: listeners, sections: "limits: { per_client: 2 }"), folder: folder)
        let clients = try (0..<5).map { _ in try bench.client() }
        for client in clients { #expect(try client.exchange(get("/a"))?.status == 200) }
    }

    /// 8 MB are more than the kernel takes on the way to a client that reads nothing.
    @Test func `what slow readers keep is bounded in all, and beyond it new connections suffer first`() throws {
        let size = 8 << 20
        let body = pattern(size)
        let upstream = try ScriptedUpstream { peer in
            while let request = try peer.request() {
                guard request.startLine.contains("/big") else {
                    try peer.send(ScriptedUpstream.ok("ok"))
                    continue
                }
                try peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                try peer.send(body)
            }
        }
        let bench = try Bench(.init(sections: "limits: { buffered: 1MiB }"), upstream: upstream)
        let old = try bench.client()
        #expect(try old.exchange(get("/small"))?.status == 200)
        var slow: [RawClient] = []
        var refused: RawClient?
        while refused == nil, slow.count < 300 {
            let client = try bench.client(receiveBuffer: 4 << 10)
            try client.send(get("/big"))
            // A refusal comes at once and ends the connection; an answer's head shows that it was taken in.
            if try client.responseHead()?.status == 503 { refused = client } else { slow.append(client) }
        }
        #expect(slow.count > 3, "half of the budget is there for each to keep what is usual")
        let kept = try bench.metric("hidgate_buffered_bytes") ?? 0
        #expect(refused != nil, "\(slow.count) clients keep \(kept)")
        let count = try bench.refused("buffered") ?? 0
        #expect(count >= 1)
        #expect(kept < 2 << 20, "\(kept)")
        #expect(try old.exchange(get("/small"))?.status == 200)
        for client in slow { client.wire.close() }
        try expectEventually { try bench.metric("hidgate_buffered_bytes") == 0 }
        #expect(try bench.once(get("/small"))?.status == 200)
    }

    /// hummingbird-project/hummingbird#812, apple/swift-nio#3472: one bad socket must not end the accept loop.
    @Test func `complaint 20: clients that reset right after connect leave it accepting`() throws {
        let bench = try Bench()
        for _ in 0..<2000 { try Wire.connect(to: bench.address).reset() }
        #expect(try bench.once(get("/a"))?.status == 200)
        try expectEventually { try bench.metric("hidgate_connections") ?? 0 <= 1 }
    }

    @Test func `without a descriptor it neither spins nor stops accepting`() throws {
        let bench = try Bench()
        #expect(try bench.once(get("/a"))?.status == 200)
        try limitDescriptors(of: bench, to: 3)
        let client = try bench.client()
        try client.send(get("/b"))
        let before = bench.processorTime
        #expect(throws: (any Error).self) { try client.wire.receive(Deadline(in: .milliseconds(1500))) }
        #expect(bench.processorTime - before < 0.5, "a spin would have taken all of 1.5 s")
        try limitDescriptors(of: bench, to: 1000)
        #expect(try client.response()?.status == 200)
    }

    private func limitDescriptors(of bench: Bench, to count: Int) throws {
        let tool = try ChildProcess("/usr/bin/prlimit", ["--pid", "\(bench.daemon.child.pid)", "--nofile=\(count):"])
        #expect(tool.exitCode() == 0)
    }

    @Test func `clients cannot take the descriptors that upstreams and logs need`() throws {
        let bench = try Limited(descriptors: 120)
        let event = try #require(bench.daemon.event("limits.descriptors"))
        #expect(event["limit"].number == 120)
        #expect(event["needed"].number ?? 0 > 10_000)
        #expect(event["level"].text == "warning")
        var open: [RawClient] = []
        var status: Int?
        while status != 503, open.count < 120 {
            let client = try RawClient(bench.daemon.listeners[0])
            status = try client.exchange(get("/a"))?.status
            open.append(client)
        }
        #expect(status == 503)
        #expect(open.count > 20)
        #expect(try open[0].exchange(get("/b"))?.status == 200)
        #expect(bench.upstream.requests.count >= open.count)
        for client in open { client.wire.close() }
        try expectEventually { try RawClient(bench.daemon.listeners[0]).exchange(get("/c"))?.status == 200 }
    }

    /// A gateway that may hold few descriptors.
    private final class Limited {
        let folder: TestFolder
        let upstream: ScriptedUpstream
        let daemon: DaemonProcess

        init(descriptors: Int) throws {
            folder = try TestFolder()
            upstream = try ScriptedUpstream()
            let program = try folder.write(
                "hidgated", "#!/bin/sh\nulimit -n \(descriptors)\nexec '\(DaemonProcess.program)' \"$@\"\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            try folder.write("jwks.json", String(decoding: try TestIssuer().jwks, as: UTF8.self))
            try folder.write("rules.yaml", Bench.loginRoute)
            let configuration = try folder.write("gateway.yaml", Bench.configuration(.init(), url: upstream.url))
            daemon = try DaemonProcess(program, configuration: configuration)
        }
    }
}
