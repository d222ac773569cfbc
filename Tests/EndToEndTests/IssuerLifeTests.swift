// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import HIDCrypto
import HIDTesting
import Testing

/// Start, stop and reload of hisd.
@Suite(.timeLimit(.minutes(10))) struct IssuerLifeTests {
    /// Starts hisd with a configuration that it cannot serve; exit code and all that it said.
    private func failure(
        _ folder: TestFolder, _ change: (inout IssuerBench.Setup) -> Void = { _ in }
    ) throws -> (code: Int32?, text: String) {
        var setup = IssuerBench.Setup()
        change(&setup)
        try IssuerBench.writeAuthority(.init(), to: folder)
        let path = try folder.write("his.yaml", IssuerBench.configuration(setup))
        let child = try ChildProcess(IssuerBench.program, ["--config", path])
        return (child.exitCode(), child.allLines().joined(separator: "\n"))
    }

    @Test(arguments: [[], ["--config"], ["--nonsense"], ["--config", "a", "b"], ["--config", "a", "--config", "b"]])
    func `bad usage is exit 64`(_ arguments: [String]) throws {
        let child = try ChildProcess(IssuerBench.program, arguments)
        #expect(child.exitCode() == 64)
        #expect(child.allLines().contains { $0.contains("hisd") })
    }

    @Test(arguments: ["--help", "--version"]) func `help and version are exit 0`(_ option: String) throws {
        let child = try ChildProcess(IssuerBench.program, [option])
        #expect(child.exitCode() == 0)
        #expect(child.allLines().first?.hasPrefix("hisd") == true)
    }

    @Test func `a bad configuration is exit 78 with every fault`() throws {
        let folder = try TestFolder()
        let path = try folder.write(
            "bad.yaml",
            """
            version: 1
            listeners: [ { address: nonsense } ]
            issuer: https://his.test
            signing_key: { directory: keys }
            store: { kind: sqlit, path: registry.db }
            apps:
              - { app_id: app-1, test: { authority_keys: [none.pem] } }
            """)
        let child = try ChildProcess(IssuerBench.program, ["--config", path])
        #expect(child.exitCode() == 78)
        let text = child.allLines().joined(separator: "\n")
        for fault in ["bad.yaml:2:", "bad.yaml:4:", "'signing_keys'", "bad.yaml:5:", "'sqlite'", "bad.yaml:7:"] {
            #expect(text.contains(fault), "\(fault) is not in \(text)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/keys"))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/registry.db"))
        let missing = try ChildProcess(IssuerBench.program, ["--config", folder.path + "/none.yaml"])
        #expect(missing.exitCode() == 78)
        #expect(missing.allLines().joined().contains("none.yaml"))
    }

    @Test func `what the machine refuses is exit 1 and named`() throws {
        let taken = try Wire.listen(on: .port(0))
        let port = try failure(TestFolder()) { $0.listener = "{ address: \"127.0.0.1:\(taken.port)\" }" }
        #expect(port.code == 1)
        #expect(port.text.contains("127.0.0.1:\(taken.port)"))

        let folder = try TestFolder()
        try folder.write("file", "")
        for (keys, word) in [("file", "not a directory"), ("none/keys", "no such file or directory")] {
            let found = try failure(folder) { $0.keys = keys }
            #expect(found.code == 1)
            #expect(found.text.contains("signing_keys"), "\(found.text)")
            #expect(found.text.contains(word), "\(found.text)")
            #expect(found.text.contains(folder.path + "/" + keys), "\(found.text)")
        }

        let store = try failure(folder) { $0.store = "{ kind: sqlite, path: none/registry.db }" }
        #expect(store.code == 1)
        #expect(store.text.contains("none/registry.db: the directory of the registry does not exist"), "\(store.text)")
        for line in [port.text, store.text].flatMap({ $0.split(separator: "\n") }) where line.hasPrefix("{") {
            #expect(JSONValue(String(line)) != nil)
        }
    }

    @Test(arguments: ["readable", "empty", "garbage", "ring"])
    func `a key directory that is not right is exit 1 and stays as it is`(_ kind: String) throws {
        let folder = try TestFolder()
        let keys = folder.path + "/keys"
        try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: false)
        let pem = String(decoding: try P256PrivateKey().pem(), as: UTF8.self)
        try folder.write("keys/a.pem", kind == "empty" ? "" : kind == "garbage" ? "-----BEGIN X-----\n" : pem)
        let mode = kind == "readable" ? 0o644 : 0o600
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: keys + "/a.pem")
        if kind == "ring" { try folder.write("keys/ring.json", "{") }
        let found = try failure(folder)
        #expect(found.code == 1)
        #expect(found.text.contains(kind == "ring" ? "ring.json" : "a.pem"), "\(found.text)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).count == (kind == "ring" ? 2 : 1))
    }

    @Test(arguments: ["text", "cut", "page"])
    func `a damaged database is exit 1 and stays as it is`(_ kind: String) throws {
        let his = try IssuerBench()
        let evidence = AuthorityEvidence(authority: his.authority)
        for index in 0..<5 {
            #expect(try ScriptedPhone("d\(index)", evidence).register(his.client()).status == 200)
        }
        #expect(his.stop() == 0)
        let path = URL(fileURLWithPath: his.folder.path + "/registry.db")
        var bytes = try Data(contentsOf: path)
        switch kind {
        case "text": bytes = Data("this is no database, but it is longer than a header of one hundred octets is".utf8)
        case "cut": bytes = bytes.prefix(bytes.count / 2)
        default: bytes.replaceSubrange(100..<4096, with: Data(repeating: 0x5A, count: 3996))
        }
        try bytes.write(to: path)
        let child = try ChildProcess(IssuerBench.program, ["--config", his.folder.path + "/his.yaml"])
        #expect(child.exitCode() == 1)
        let text = child.allLines().joined(separator: "\n")
        #expect(text.contains("start.failed"), "\(text)")
        #expect(text.contains("store: "), "\(text)")
        #expect(try Data(contentsOf: path) == bytes)
    }

    @Test func `a second server on the same registry is exit 1`() throws {
        let his = try IssuerBench()
        let child = try ChildProcess(IssuerBench.program, ["--config", his.folder.path + "/his.yaml"])
        #expect(child.exitCode() == 1)
        #expect(child.allLines().joined().contains("another program has the registry open"))
        let phone = try ScriptedPhone("d", AuthorityEvidence(authority: his.authority))
        #expect(try phone.register(his.client()).status == 200)
    }

    @Test func `the ready line names what was bound, and the service manager hears of it`() throws {
        let folder = try TestFolder()
        let manager = try NotifySocket(folder.path + "/notify")
        let his = try IssuerBench(.init(environment: ["NOTIFY_SOCKET": folder.path + "/notify"]))
        let ready = try #require(his.daemon.event("ready"))
        #expect(ready["level"].text == "info")
        #expect(ready["apps"].number == 1)
        #expect(ready["pid"].number == Double(his.pid))
        #expect(ready["version"].text != nil)
        #expect(his.address != .port(0))
        #expect(his.daemon.admin != .port(0))
        #expect(manager.next()?.hasPrefix("READY=1\nSTATUS=serving on 127.0.0.1:") == true)
        #expect(try his.admin("/healthz")?.status == 200)
        #expect(try his.admin("/readyz")?.status == 200)
        // A test authority is nothing for production, and says so.
        #expect(his.daemon.event("app.test_enabled")?["app_id"].text == "app-1")
        his.daemon.child.signal(SIGHUP)
        #expect(manager.next()?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
        #expect(manager.next() == "READY=1")
        his.daemon.child.signal(SIGUSR1)
        #expect(try his.admin("/healthz")?.status == 200)
        #expect(his.stop() == 0)
        #expect(manager.next() == "STOPPING=1")
        #expect(his.daemon.event("stopped")?["cut"].number == 0)
    }

    @Test func `SIGTERM lets what is under way finish and exits 0, a second one cuts`() throws {
        let his = try IssuerBench()
        let phone = try ScriptedPhone("d", AuthorityEvidence(authority: his.authority))
        let client = try his.client()
        let idle = try his.client()
        let challenge = try phone.challenge(client)
        let request = Array(try phone.attestation(challenge).utf8)
        try client.send(Array(request.dropLast(50)))
        #expect(try idle.exchange("GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
        his.daemon.child.signal(SIGTERM)
        #expect(his.daemon.event("stop.draining") != nil)
        #expect(idle.isClosed())
        #expect(throws: WireError.self) { _ = try his.client() }
        try client.send(Array(request.suffix(50)))
        let answer = try IssuerReply(client.response())
        #expect(answer.status == 200)
        #expect(answer.message["Connection"] == "close")
        #expect(his.daemon.child.exitCode() == 0)
        try his.restart()
        #expect(try phone.comeBack(his.client()).hid == answer.hid)

        let slow = try his.client()
        try slow.send(Array(request.dropLast(50)))
        #expect(try IssuerBench.eventually { try his.metric("hisd_connections") ?? 0 >= 1 })
        his.daemon.child.signal(SIGTERM)
        #expect(his.daemon.event("stop.draining") != nil)
        his.daemon.child.signal(SIGTERM)
        #expect(his.daemon.child.exitCode(within: .seconds(10)) == 0)
        #expect(slow.isClosed())
    }

    @Test func `the drain deadline cuts and says so`() throws {
        let his = try IssuerBench(.init(sections: "timeouts: { drain: 300ms }"))
        let slow = try his.client()
        try slow.send("POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{")
        #expect(try IssuerBench.eventually { try his.metric("hisd_connections") == 1 })
        #expect(his.stop() == 0)
        #expect(his.daemon.event("stopped")?["cut"].number == 1)
    }

    @Test func `signing keys are for their owner only and the same after a restart`() throws {
        let his = try IssuerBench()
        let keys = his.folder.path + "/keys"
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(keys) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: keys)
        #expect(names.filter { $0.hasSuffix(".pem") }.count == 2)
        for name in names { #expect(try mode(keys + "/" + name) == 0o600, "\(name)") }
        for name in try FileManager.default.contentsOfDirectory(atPath: his.folder.path)
        where name.hasPrefix("registry.db") { #expect(try mode(his.folder.path + "/" + name) == 0o600, "\(name)") }
        let before = try his.publishedKeys()
        #expect(Set(before.map { $0 + ".pem" }).isSubset(of: names))
        his.daemon.child.signal(SIGKILL)
        #expect(his.daemon.child.exitCode() == -9)
        try his.restart()
        #expect(try his.publishedKeys() == before)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: keys)) == Set(names))
    }
}

/// Where a service manager would listen for sd_notify(3).
private final class NotifySocket {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw WireError.system("bind", errno) }
    }

    deinit { close(descriptor) }

    /// The next message; nil when none came in time.
    func next() -> String? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, 20_000) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
