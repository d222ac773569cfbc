// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// The command-line program, which a machine with the library alone lacks.
enum OpenSSLProgram {
    static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/openssl" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// An https upstream: `openssl s_server` with certificates made by `openssl req`.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: OpenSSLProgram.path != nil, "no openssl program in PATH; install it to run this test"))
struct TLSUpstreamTests {
    /// A server with a self-signed certificate for `localhost`.
    private final class Server {
        let child: ChildProcess
        let port: Int
        let certificate: String

        init(_ folder: TestFolder, _ name: String) throws {
            let program = try #require(OpenSSLProgram.path)
            certificate = "\(folder.path)/\(name).pem"
            let key = "\(folder.path)/\(name).key"
            let made = try ChildProcess(
                program,
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                    certificate,
                ])
            try #require(made.exitCode() == 0, "\(made.allLines())")
            child = try ChildProcess(
                program, ["s_server", "-www", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key])
            port = try #require(
                child.firstLine { line in
                    line.hasPrefix("ACCEPT") ? line.split(separator: ":").last.flatMap { Int($0) } : nil
                })
        }
    }

    private func bench(_ port: Int, _ tls: String) throws -> Bench {
        try Bench(.init(upstream: ", tls: { \(tls) }"), url: "https://127.0.0.1:\(port)")
    }

    @Test func `a certificate of the given authority passes`() throws {
        let folder = try TestFolder()
        let server = try Server(folder, "right")
        let bench = try bench(server.port, "ca: \"\(server.certificate)\", server_name: localhost")
        for _ in 0..<3 {
            let answer = try bench.once(get("/a"))
            #expect(answer?.status == 200)
            #expect(answer?.text.contains("s_server") == true)
        }
    }

    @Test func `a name that a resolver knows keeps its own name in the handshake`() throws {
        let folder = try TestFolder()
        let server = try Server(folder, "right")
        let names = try ScriptedNameServer(.addresses(["127.0.0.1"], life: 60))
        let tls = { (name: String) in
            Bench.Setup(
                upstream: ", tls: { ca: \"\(server.certificate)\"\(name) }",
                sections: "resolver: { nameservers: [\"\(names.address)\"] }")
        }
        let good = try Bench(tls(", server_name: localhost"), url: "https://api.test:\(server.port)")
        #expect(try good.once(get("/a"))?.status == 200)
        let bad = try Bench(tls(""), url: "https://api.test:\(server.port)")
        let answer = try bad.once(get("/a"))
        #expect(answer?.status == 502)
        #expect(bad.line(of: answer)?["reason"].text == "dep.upstream_tls")
    }

    @Test func `health checks verify the certificate as well`() throws {
        let folder = try TestFolder()
        let server = try Server(folder, "right")
        for (name, isGood) in [("localhost", true), ("other.test", false)] {
            let tls = "tls: { ca: \"\(server.certificate)\", server_name: \(name) }"
            let health = "health: { path: /, interval: 100ms, fall: 1 }"
            let bench = try Bench(
                .init(upstream: ", \(tls), \(health)"), url: "https://127.0.0.1:\(server.port)")
            if isGood {
                let deadline = Deadline()
                var text = ""
                while deadline.milliseconds > 0, !text.contains(/checks_total\{.*result="good"\} [1-9]/) {
                    text = try bench.admin("/metrics")?.text ?? ""
                }
                #expect(text.contains(/checks_total\{.*result="bad"\} 0/))
            } else {
                #expect(bench.daemon.event("upstream.down")?["cause"].text?.contains("TLS") == true)
            }
        }
    }

    @Test func `another authority or another name is 502`() throws {
        let folder = try TestFolder()
        let server = try Server(folder, "right")
        let other = try Server(folder, "other")
        for tls in [
            "ca: \"\(other.certificate)\", server_name: localhost",
            "ca: \"\(server.certificate)\", server_name: other.test", "ca: \"\(server.certificate)\"",
            "server_name: localhost",
        ] {
            let bench = try bench(server.port, tls)
            let answer = try bench.once(get("/a"))
            #expect(answer?.status == 502, "\(tls)")
            #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_tls", "\(tls)")
        }
        let unverified = try bench(server.port, "verify: false")
        #expect(try unverified.once(get("/a"))?.status == 200)
    }

    @Test func `an upstream that speaks no TLS is 502`() throws {
        let upstream = try ScriptedUpstream { peer in try peer.send("hello, this is plain text\r\n") }
        let port = try #require(upstream.url.split(separator: ":").last.flatMap { Int($0) })
        let bench = try bench(port, "verify: false")
        let answer = try bench.once(get("/a"))
        #expect(answer?.status == 502)
        #expect(bench.line(of: answer)?["reason"].text == "dep.upstream_tls")
    }
}
