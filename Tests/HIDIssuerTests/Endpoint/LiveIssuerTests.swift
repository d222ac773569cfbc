// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDService
import HIDTesting
import Testing

@testable import HIDIssuer

/// A whole server in this process, behind real sockets: what the in-process tests leave out.
@Suite(.timeLimit(.minutes(10))) struct LiveIssuerTests {
    private let folder: ConfigurationFolder
    private let log = MemoryLog()

    init() throws {
        folder = try ConfigurationFolder.issuer()
    }

    private static let configuration = """
        version: 1
        listeners: [{ address: 127.0.0.1:0 }]
        issuer: https://his.test
        signing_keys: { directory: keys }
        store: { kind: sqlite, path: registry.db }
        apps: [{ app_id: demo-app, test: { authority_keys: [authority.pem] } }]
        admin: { address: 127.0.0.1:0 }
        rate_limits: { per_client: 1000/s, per_device: 1000/s }
        loops: 1

        """

    private func start() throws -> Issuer {
        let (configuration, faults) = try folder.load(Self.configuration)
        #expect(faults == "")
        let wanted = try #require(configuration)
        return try Issuer(
            configuration: wanted, path: "\(folder.path)/his.yaml", log: Log(sink: .memory(log)))
    }

    private func client(_ issuer: Issuer) throws -> RawClient {
        try client(issuer.addresses.first)
    }

    private func client(_ address: String?) throws -> RawClient {
        let address = try #require(address.flatMap { WireAddress($0) })
        return try RawClient(address)
    }

    private func post(_ path: String, _ body: [UInt8]) -> [UInt8] {
        Array("POST \(path) HTTP/1.1\r\nHost: his.test\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    private func drain(_ issuer: Issuer) -> Int? {
        let cut = Monitor<Int?>(nil)
        issuer.drain(within: .seconds(10)) { count in cut.withLock { $0 = count } }
        return cut.wait { $0 }
    }

    /// A challenge request of exactly so many octets.
    private func challengeRequest(_ count: Int) -> [UInt8] {
        let start = #"{"app_id":"demo-app","device_id":"d","platform":"test","pad":""#
        return Array(start.utf8) + [UInt8](repeating: 0x61, count: count - start.utf8.count - 2) + Array("\"}".utf8)
    }

    @Test func `content ends at 64 KiB, with a length or in chunks, and the error is an error object`() throws {
        let issuer = try start()
        for (count, status) in [(65_536, 200), (65_537, 413)] {
            let body = challengeRequest(count)
            let first = try client(issuer).exchange(post("/v1/m/hid/c", body))
            let answer = try #require(first)
            #expect(answer.status == status)
            let chunked = try client(issuer)
            try chunked.send("POST /v1/m/hid/c HTTP/1.1\r\nHost: his.test\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: body.count, by: 4099) {
                let part = body[start..<min(body.count, start + 4099)]
                try chunked.send("\(String(part.count, radix: 16))\r\n")
                try chunked.send(Array(part))
                try chunked.send("\r\n")
            }
            try? chunked.send("0\r\n\r\n")
            let other = try chunked.response()
            let second = try #require(other)
            #expect(second.status == status)
            for text in [answer.text, second.text] where status == 413 {
                let error = try #require(JSONValue(text))["error"]
                #expect(error["code"].text == "bad_request")
                #expect(error["request_id"].text?.utf8.count == 32)
            }
        }
        #expect(drain(issuer) == 0)
    }

    @Test(arguments: [
        "GET\r\n\r\n", "POST /v1/m/hid/c HTTP/1.1\r\n\r\n", "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", "\u{16}\u{3}\u{1}",
        "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ])
    func `what is no HTTP gets an error object and the end of the connection`(octets: String) throws {
        let issuer = try start()
        let client = try client(issuer)
        let received = try client.exchange(octets)
        let answer = try #require(received)
        #expect((400..<500).contains(answer.status))
        #expect(JSONValue(answer.text)?["error"]["code"].text == "bad_request")
        #expect(client.isClosed())
        #expect(drain(issuer) == 0)
    }

    @Test func `one connection carries many requests, in order`() throws {
        let issuer = try start()
        let client = try client(issuer)
        let body = challengeRequest(200)
        try client.send((0..<20).flatMap { _ in post("/v1/m/hid/c", body) })
        var seen: Set<String> = []
        for _ in 0..<20 {
            let received = try client.response()
            let answer = try #require(received)
            #expect(answer.status == 200)
            #expect(answer["X-Content-Type-Options"] == "nosniff")
            seen.insert(JSONValue(answer.text)?["nonce"].text ?? "")
        }
        #expect(seen.count == 20)
        #expect(drain(issuer) == 0)
    }

    @Test func `a reload takes over apps and limits, and keeps what needs a restart`() throws {
        let issuer = try start()
        func code(_ app: String) throws -> Int {
            let body = Array(#"{"app_id":"\#(app)","device_id":"d","platform":"test"}"#.utf8)
            return try client(issuer).exchange(post("/v1/m/hid/c", body))?.status ?? 0
        }
        #expect(try (code("demo-app"), code("new-app")) == (200, 404))
        try folder.write("his.yaml", Self.configuration.replacing("demo-app", with: "new-app"))
        issuer.reload()
        #expect(try (code("demo-app"), code("new-app")) == (404, 200))
        for broken in ["apps: []", "issuer: https://other.test", "store: { kind: memory }", "token: { life: 20s }"] {
            let key = broken.prefix { $0 != ":" }
            let lines = Self.configuration.split(separator: "\n").filter { !$0.hasPrefix("\(key):") }
            try folder.write("his.yaml", lines.joined(separator: "\n") + "\n" + broken + "\n")
            issuer.reload()
            #expect(try (code("demo-app"), code("new-app")) == (404, 200), "\(broken)")
        }
        #expect(log.lines.filter { $0.contains("reload.needs_restart") }.count == 3)
        #expect(log.lines.filter { $0.contains("reload.failed") }.count == 1)
        #expect(drain(issuer) == 0)
    }

    @Test func `metrics, health and keys are on the admin listener, and nowhere else`() throws {
        let issuer = try start()
        let admin = try client(issuer.adminAddress)
        func get(_ path: String) throws -> HTTPMessage {
            let answer = try admin.exchange("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return try #require(answer)
        }
        let metrics = try get("/metrics").text
        for name in [
            "hisd_connections", "hisd_worker_jobs", "hisd_signing_keys 2", "hisd_store_writable 1", "hisd_tokens_total",
        ] {
            #expect(metrics.contains("\n\(name)"), "\(name)")
        }
        #expect(try get("/healthz").status == 200)
        #expect(try get("/readyz").status == 200)
        #expect(JSONValue(try get("/api/keys").text)?["keys"].elements.count == 2)
        for path in ["/metrics", "/healthz", "/api/keys"] {
            let answer = try client(issuer).exchange("GET \(path) HTTP/1.1\r\nHost: his.test\r\n\r\n")
            #expect(answer?.status == 404)
        }
        #expect(drain(issuer) == 0)
    }
}
