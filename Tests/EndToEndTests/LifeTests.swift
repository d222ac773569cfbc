// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Start, stop and reload of the daemon.
@Suite(.timeLimit(.minutes(10))) struct LifeTests {
    /// An upstream that answers each request when its gate opens.
    private struct Slow {
        let gate = Gate()
        let upstream: ScriptedUpstream

        init() throws {
            let gate = gate
            upstream = try ScriptedUpstream { peer in
                while try peer.request() != nil {
                    gate.wait()
                    try peer.send(ScriptedUpstream.ok("late"))
                }
            }
        }
    }

    @Test func `the ready line names what was bound`() throws {
        let bench = try Bench()
        let ready = try #require(bench.daemon.event("ready"))
        #expect(ready["level"].text == "info")
        #expect(bench.daemon.listeners.count == 1)
        #expect(bench.daemon.listeners[0] != .port(0))
        #expect(try bench.admin("/healthz")?.status == 200)
    }

    @Test func `a unix socket is listened on and forwarded to`() throws {
        let folder = try TestFolder()
        let upstream = try ScriptedUpstream(on: .unix("\(folder.path)/up.sock"))
        let bench = try Bench(.init(admin: "{ address: \"unix:\(folder.path)/admin.sock\" }"), upstream: upstream)
        #expect(try bench.once(get("/a"))?.text == "ok")
        #expect(try bench.once(try bench.good())?.status == 200)
        #expect(bench.daemon.admin == .unix("\(folder.path)/admin.sock"))
        #expect(try bench.admin("/api/sessions")?.status == 200)
    }

    @Test func `a bad configuration is exit 78 with every fault`() throws {
        let folder = try TestFolder()
        let path = try folder.write(
            "bad.yaml",
            "version: 1\nlisteners: [ { address: nonsense } ]\nupstream: {}\ndefaults: { upstream: api, mode: blok }\n")
        let child = try ChildProcess(DaemonProcess.program, ["--config", path])
        #expect(child.exitCode() == 78)
        let text = child.allLines().joined(separator: "\n")
        for fault in ["bad.yaml:2:", "bad.yaml:3:", "bad.yaml:4:", "'block'"] {
            #expect(text.contains(fault), "\(text)")
        }
        let missing = try ChildProcess(DaemonProcess.program, ["--config", folder.path + "/none.yaml"])
        #expect(missing.exitCode() == 78)
    }

    @Test(arguments: [[], ["--config"], ["--nonsense"], ["--config", "a", "b"]])
    func `bad usage is exit 64`(_ arguments: [String]) throws {
        let child = try ChildProcess(DaemonProcess.program, arguments)
        #expect(child.exitCode() == 64)
        #expect(!child.allLines().isEmpty)
    }

    @Test func `a taken port is exit 1 and named`() throws {
        let folder = try TestFolder()
        let taken = try Wire.listen(on: .port(0))
        try folder.write("rules.yaml", "routes: []")
        try folder.write("jwks.json", String(decoding: try TestIssuer().jwks, as: UTF8.self))
        let text = Bench.configuration(.init(), url: "http://127.0.0.1:9")
            .replacing(
                "listeners: [ { address: \"127.0.0.1:0\" } ]",
                with: "listeners: [ { address: \"127.0.0.1:\(taken.port)\" } ]")
        let child = try ChildProcess(DaemonProcess.program, ["--config", folder.write("gateway.yaml", text)])
        #expect(child.exitCode() == 1)
        #expect(child.allLines().joined().contains("\(taken.port)"))
    }

    @Test func `SIGTERM lets what is under way finish and exits 0`() throws {
        let slow = try Slow()
        let bench = try Bench(upstream: slow.upstream)
        let idle = try bench.client()
        let client = try bench.client()
        try client.send(get("/under-way"))
        #expect(slow.upstream.requests(1).count == 1)
        bench.daemon.child.signal(SIGTERM)
        #expect(bench.daemon.event("stop.draining") != nil)
        #expect(idle.isClosed())
        #expect(throws: WireError.self) { _ = try bench.client() }
        slow.gate.open()
        let answer = try client.response()
        #expect(answer?.text == "late")
        #expect(answer?["Connection"] == "close")
        #expect(bench.daemon.child.exitCode() == 0)
        #expect(bench.line(of: answer)?["end"] == .null)
    }

    @Test func `a second SIGTERM cuts`() throws {
        let slow = try Slow()
        let bench = try Bench(upstream: slow.upstream)
        let client = try bench.client()
        try client.send(get("/under-way"))
        #expect(slow.upstream.requests(1).count == 1)
        bench.daemon.child.signal(SIGTERM)
        #expect(bench.daemon.event("stop.draining") != nil)
        bench.daemon.child.signal(SIGTERM)
        #expect(bench.daemon.child.exitCode(within: .seconds(5)) == 0)
        #expect(client.isClosed())
    }

    @Test func `the drain deadline cuts and says so`() throws {
        let slow = try Slow()
        let bench = try Bench(.init(sections: "timeouts: { drain: 300ms }"), upstream: slow.upstream)
        let client = try bench.client()
        try client.send(get("/under-way"))
        #expect(slow.upstream.requests(1).count == 1)
        bench.daemon.child.signal(SIGTERM)
        #expect(bench.daemon.child.exitCode(within: .seconds(5)) == 0)
        #expect(client.isClosed())
        let line = bench.daemon.accessLine { $0["path"].text == "/under-way" }
        #expect(line?["end"].text == "drain_deadline")
        #expect(bench.daemon.event("stopped")?["cut"].number == 1)
    }

    @Test func `SIGHUP with a bad file keeps the old rules, with a good one changes them`() throws {
        let bench = try Bench()
        #expect(try bench.once(get("/api/v1/login"))?.status == 405)
        try bench.folder.write("rules.yaml", "routes: [ { name: x, match: { path: nonsense } } ]")
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.failed") != nil)
        #expect(try bench.once(get("/api/v1/login"))?.status == 405)
        #expect(try bench.once(try bench.good())?.status == 200)
        let client = try bench.client()
        #expect(try client.exchange(get("/new"))?.status == 200)
        try bench.folder.write("rules.yaml", "routes: [ { name: new, match: { path: /new }, critical: true } ]")
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.done") != nil)
        #expect(try client.exchange(get("/new"))?.status == 403, "an open connection keeps the old rules")
        #expect(try bench.once(get("/api/v1/login"))?.status == 200)
    }

    @Test func `SIGHUP does not take over what needs a restart`() throws {
        let bench = try Bench()
        let text = Bench.configuration(.init(sections: "timeouts: { header: 1s }"), url: bench.upstream.url)
        try bench.folder.write("gateway.yaml", text)
        bench.daemon.child.signal(SIGHUP)
        #expect(bench.daemon.event("reload.needs_restart")?["section"].text == "timeouts")
        #expect(try bench.once(try bench.good())?.status == 200)
    }

    @Test func `SIGHUP takes over limits of connections and of failed verifications`() throws {
        let bench = try Bench(.init(sections: "limits: { per_client: 1000 }"))
        var reloads = 0
        func limit(_ text: String) throws {
            let text = Bench.configuration(.init(sections: "limits: { \(text) }"), url: bench.upstream.url)
            try bench.folder.write("gateway.yaml", text)
            bench.daemon.child.signal(SIGHUP)
            reloads += 1
            #expect(bench.daemon.event("reload.done", count: reloads) != nil)
        }
        let clients = try (0..<4).map { _ in try bench.client() }
        for client in clients { #expect(try client.exchange(get("/a"))?.status == 200) }
        for key in ["per_client", "connections"] {
            try limit("\(key): 3")
            #expect(try bench.client().response()?.status == 503)
            #expect(try bench.refused(key) == 1)
            for client in clients {
                #expect(try client.exchange(get("/open"))?.status == 200, "those that are open stay")
            }
            try limit("\(key): 1000")
            #expect(try bench.once(get("/a"))?.status == 200)
        }
        try limit("failed_verifications: { per_client: 1, when: always }")
        let other = try bench.signature([1])
        var status: Int?
        for _ in 0..<60 where status != 429 {
            status = try bench.once(Bench.post(token: try bench.token(), signature: other, body: [2]))?.status
        }
        #expect(status == 429)
        try limit("failed_verifications: { per_client: 1, when: \"off\" }")
        for _ in 0..<10 {
            let answer = try bench.once(Bench.post(token: try bench.token(), signature: other, body: [2]))
            #expect(answer?.status == 403)
        }
        try limit("header_fields: 5")
        #expect(try bench.once(get("/a", fields: String(repeating: "X-A: 1\r\n", count: 6)))?.status == 431)
    }

    @Test func `replay marks survive a clean restart and not an unclean one`() throws {
        let folder = try TestFolder()
        let issuer = try TestIssuer()
        let setup = Bench.Setup(environment: ["STATE_DIRECTORY": folder.path])
        let first = try Bench(setup, folder: folder, issuer: issuer)
        let used = try first.good()
        let unused = try first.good()
        #expect(try first.once(used)?.status == 200)
        first.daemon.child.signal(SIGTERM)
        #expect(first.daemon.child.exitCode() == 0)
        let second = try Bench(setup, folder: folder, issuer: issuer)
        #expect(second.daemon.event("replay.loaded")?["marks"].number == 1)
        let again = try second.once(used)
        #expect(again?.status == 403)
        #expect(second.line(of: again)?["reason"].text == "hid.replay")
        #expect(try second.once(unused)?.status == 200)
        let old = try second.token {
            $0["iat"] = "\(Bench.now - 5)"
            $0["exp"] = "\(Bench.now + 20)"
        }
        second.daemon.child.signal(SIGKILL)
        #expect(second.daemon.child.exitCode() == -9)
        let third = try Bench(setup, folder: folder, issuer: issuer)
        let late = try third.once(Bench.post(token: old, signature: try second.signature([1]), body: [1]))
        #expect(late?.status == 403)
        #expect(third.line(of: late)?["reason"].text == "hid.before_start")
        #expect(try third.once(try third.good())?.status == 200)
    }

    @Test func `an access log in a file is opened again on SIGUSR1`() throws {
        let folder = try TestFolder()
        let path = folder.path + "/access.log"
        let bench = try Bench(.init(sections: "access_log: { to: \"\(path)\" }"))
        #expect(try bench.once(get("/before"))?.status == 200)
        func wait(for text: String, in file: String) -> Bool {
            let deadline = Deadline(in: .seconds(10))
            while deadline.milliseconds > 0 {
                if let found = try? String(contentsOfFile: file, encoding: .utf8), text.isEmpty || found.contains(text)
                {
                    return true
                }
            }
            return false
        }
        #expect(wait(for: "/before", in: path))
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        bench.daemon.child.signal(SIGUSR1)
        #expect(wait(for: "", in: path), "the file was not made again")
        #expect(try bench.once(get("/after"))?.status == 200)
        #expect(wait(for: "/after", in: path))
    }
}
