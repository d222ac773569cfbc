// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// What users of other proxies complained of, under the names of their complaints. Others stand beside what they are
/// about.
@Suite(.timeLimit(.minutes(10))) struct ComplaintTests {
    @Test(arguments: ["Content-Length: 2000000\r\n", "Transfer-Encoding: chunked\r\n"])
    func `an upload with Expect gets its 100 at once (traefik 2899, node-http-proxy 1219)`(framing: String) throws {
        let bench = try Bench()
        let isChunked = framing.hasPrefix("T")
        let body = pattern(2_000_000)
        var fastest = Duration.seconds(60)
        for _ in 0..<3 {
            let client = try bench.client()
            let start = ContinuousClock.now
            try client.send("PUT /up HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\(framing)\r\n")
            #expect(try client.responseHead()?.status == 100)
            fastest = min(fastest, ContinuousClock.now - start)
            let wire = isChunked ? Array("1E8480\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8) : body
            #expect(try client.exchange(wire)?.status == 200)
        }
        // 50 ms where nothing else runs; a pause of a second is what the complaint is about.
        #expect(fastest < .milliseconds(500), "100 took \(fastest)")
        #expect(bench.upstream.requests(3).allSatisfy { $0.body == body && $0.all("Expect").isEmpty })
    }

    @Test func `a fault in a pipelined request leaves the answer before it alone (swift-nio 600)`() throws {
        let go = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            go.wait()
            try peer.send(ScriptedUpstream.ok("first"))
        }
        let bench = try Bench(upstream: upstream)
        let client = try bench.client()
        try client.send(get("/first") + "\0\u{1}\u{2} junk\r\n\r\n")
        #expect(upstream.requests(1).count == 1)
        go.open()
        #expect(try client.response()?.text == "first")
        #expect(try client.response()?.status == 400)
        #expect(client.isClosed())
    }

    @Test func `an absolute target and Host that disagree are refused (haproxy 1378, codex 13275)`() throws {
        let bench = try Bench()
        let answer = try bench.once("GET http://gw.test/a HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        #expect(answer?.status == 400)
        #expect(bench.line(of: answer)?["reason"].text == "target.authority_mismatch")
        #expect(try bench.once("GET http://gw.test/a HTTP/1.1\r\nHost: GW.test:80\r\n\r\n")?.status == 200)
        #expect(bench.upstream.requests.map(\.target) == ["/a"])
    }

    @Test func `long fields pass up to the limit, beyond it 431 names it (gatus 636, nui 50, openhab-core 287)`() throws
    {
        let bench = try Bench()
        let cookie = String(repeating: "c", count: 16 << 10)
        #expect(try bench.once(get("/one", fields: "Cookie: \(cookie)\r\n"))?.status == 200)
        let room = (64 << 10) - get("/all").utf8.count
        let lines = { (count: Int) -> String in
            let last = count - 3 * 16_000
            return [16_000, 16_000, 16_000, last]
                .map { "X-A: \(String(repeating: "a", count: $0 - 7))\r\n" }.joined()
        }
        #expect(try bench.once(get("/all", fields: lines(room)))?.status == 200)
        let over = try bench.once(get("/all", fields: lines(room + 1)))
        #expect(over?.status == 431)
        #expect(bench.line(of: over)?["reason"].text == "http.header_too_large")
    }

    @Test func `hundreds of reloads leave descriptors, threads and memory where they were (hitch 203, kibana 10994)`()
        throws
    {
        let bench = try Bench()
        let pid = bench.daemon.child.pid
        func reload(_ range: Range<Int>) {
            for round in range {
                bench.daemon.child.signal(SIGHUP)
                #expect(bench.daemon.event("reload.done", count: round + 1) != nil)
            }
        }
        reload(0..<100)
        #expect(try bench.once(get("/a"))?.status == 200)
        let before = ProcessFacts(pid)
        reload(100..<300)
        #expect(try bench.once(get("/b"))?.status == 200)
        let after = ProcessFacts(pid)
        // One connection may be on its way out or in at either moment.
        #expect(after.descriptors <= before.descriptors + 4)
        // Dispatch may have a thread more or less at any moment.
        #expect(after.threads <= before.threads + 4)
        #expect(after.kibibytes - before.kibibytes < 2048, "grew by \(after.kibibytes - before.kibibytes) KiB")
    }

    @Test func `ten restarts on a socket of the service manager cost no request (wso2 2121)`() throws {
        let bench = try Bench()
        let socket = try Wire.listen(on: .port(0))
        let folder = bench.folder
        let text = Bench.configuration(.init(), url: bench.upstream.url)
            .replacing("127.0.0.1:0\" } ]", with: "fd:http\" } ]")
        let path = try folder.write("restart.yaml", text)
        func start() throws -> DaemonProcess { try DaemonProcess(configuration: path, socket: socket) }
        var daemon = try start()
        let load = RestartLoad(port: socket.port, clients: 8)
        for _ in 0..<10 {
            #expect(load.waits(for: 20))
            daemon.child.signal(SIGTERM)
            #expect(daemon.child.exitCode() == 0)
            daemon = try start()
        }
        #expect(load.waits(for: 20))
        let (answers, faults) = load.stop()
        #expect(faults == [])
        #expect(answers > 200)
    }
}

/// Clients that ask again and again, on one connection as long as the answers allow it.
private final class RestartLoad: Sendable {
    private struct State {
        var answers = 0
        var faults: [String] = []
        var running: Int
        var isOver = false
    }

    private let state: Monitor<State>

    init(port: UInt16, clients: Int) {
        state = Monitor(State(running: clients))
        for _ in 0..<clients {
            Thread.detachNewThread { [state] in
                var client: RawClient?
                while !state.withLock({ $0.isOver }) {
                    do {
                        let current = try client ?? RawClient(.port(port))
                        guard let answer = try current.exchange(get("/restart")) else {
                            throw WireError.malformed("closed without an answer")
                        }
                        client = answer["Connection"]?.lowercased() == "close" ? nil : current
                        state.withLock { state in
                            state.answers += 1
                            if answer.status != 200 { state.faults.append("\(answer.status)") }
                        }
                    } catch {
                        client = nil
                        state.withLock { state in
                            state.faults.append("\(error)")
                            // One is a failure; more would only hide it.
                            if state.faults.count > 20 { state.isOver = true }
                        }
                    }
                }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    /// Whether so many further answers come.
    func waits(for count: Int) -> Bool {
        let start = state.withLock { $0.answers }
        return state.wait { $0.answers >= start + count ? true : nil } ?? false
    }

    func stop() -> (answers: Int, faults: [String]) {
        state.withLock { $0.isOver = true }
        _ = state.wait { $0.running == 0 ? true : nil }
        return state.withLock { ($0.answers, $0.faults) }
    }
}

/// What the kernel says of a process.
struct ProcessFacts {
    let kibibytes: Int
    let threads: Int
    let descriptors: Int

    init(_ pid: Int32) {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        }
        kibibytes = number("VmRSS")
        threads = number("Threads")
        descriptors = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []).count
    }
}
