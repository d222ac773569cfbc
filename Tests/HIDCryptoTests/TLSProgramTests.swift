// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import HIDCrypto
import HIDTesting
import Synchronization
import Testing

/// Programs that a machine with the libraries alone lacks.
private enum TLSPrograms {
    static func path(of name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// Programs that others wrote, against a session on a TCP socket.
@Suite(.timeLimit(.minutes(10))) struct TLSProgramTests {
    /// Serves connections one after the other: reads to the end of a head, answers, closes in order.
    private final class Server: Sendable {
        let port: UInt16
        private let listener: Int32
        private let context: TLSServerContext
        /// What each session was, in words.
        let seen = Mutex<[String]>([])

        init(_ context: TLSServerContext) throws {
            self.context = context
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            self.listener = listener
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                    unsafe bind(listener, raw, size) == 0 && listen(listener, 16) == 0
                        && getsockname(listener, raw, &size) == 0
                }
            }
            try #require(isBound)
            port = UInt16(bigEndian: address.sin_port)
            let thread = Thread { [self] in
                while true {
                    let client = accept(listener, nil, nil)
                    guard client >= 0 else { return }
                    serve(client)
                    close(client)
                }
            }
            thread.start()
        }

        /// Ends the thread.
        func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

        deinit { close(listener) }

        private func wait(_ descriptor: Int32, _ events: Int32) {
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            _ = unsafe poll(&entry, 1, 20_000)
        }

        private func serve(_ client: Int32) {
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            guard let session = try? TLSServerSession(context: context, descriptor: client) else { return }
            var (head, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
            reading: while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                switch session.receive(into: &buffer) {
                case .bytes(let count): head += buffer[..<count]
                case .again: wait(client, POLLIN)
                case .endOfStream, .failed: break reading
                }
            }
            let words = [
                session.version?.rawValue, session.applicationProtocol?.rawValue, session.serverName,
                session.isResumed ? "resumed" : "full", session.peerCertificate?.subject,
                session.fault?.reason.rawValue,
            ]
            seen.withLock { $0.append(words.compactMap { $0 }.joined(separator: " ")) }
            let body = String(repeating: "hello ", count: 20_000)
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
            var offset = 0
            while offset < answer.count {
                switch session.send(answer, from: offset) {
                case .bytes(let count): offset += count
                case .again: wait(client, POLLOUT)
                case .endOfStream, .failed: return
                }
            }
            while session.closeWrite() == .again { wait(client, POLLOUT) }
            shutdown(client, Int32(SHUT_WR))
            // Until the client is gone, or its last octets would turn the close into a reset.
            while true {
                switch session.receive(into: &buffer) {
                case .bytes: continue
                case .again: wait(client, POLLIN)
                case .endOfStream, .failed: return
                }
            }
        }
    }

    private func folder() throws -> ConfigurationFolder {
        let folder = try ConfigurationFolder()
        try folder.write("root.pem", TLSFixture.root.get().pem)
        try folder.write("phone.pem", TLSFixture.phone.get().certificate)
        try folder.write("phone.key", TLSFixture.phone.get().key)
        return folder
    }

    @Test(.enabled(if: TLSPrograms.path(of: "curl") != nil, "no curl in PATH"))
    func `curl verifies the name and gets all octets`() throws {
        let folder = try folder()
        let server = try Server(
            TLSFixture.context {
                $0.clientAuthorities = try TLSFixture.clientRoot.get().pem
                $0.protocols = [.http1]
            })
        defer { server.stop() }
        let program = try #require(TLSPrograms.path(of: "curl"))
        let runs: [([String], String, Int)] = [
            (["--tlsv1.3"], "1.3 http/1.1 api.example.com full", 120_000),
            (["--tls-max", "1.2"], "1.2 http/1.1 api.example.com full", 120_000),
            (
                ["--cert", "\(folder.path)/phone.pem", "--key", "\(folder.path)/phone.key"],
                "1.3 http/1.1 api.example.com full CN=phone", 120_000
            ),
            (["--tlsv1.0", "--tls-max", "1.1"], "api.example.com full unsupported_version", 0),
        ]
        for (options, words, size) in runs {
            let output = "\(folder.path)/out"
            try? FileManager.default.removeItem(atPath: output)
            let child = try ChildProcess(
                program,
                [
                    "--silent", "--noproxy", "*", "--cacert", "\(folder.path)/root.pem", "--output", output,
                    "--ciphers", "DEFAULT@SECLEVEL=0",
                    "--resolve", "api.example.com:\(server.port):127.0.0.1", "https://api.example.com:\(server.port)/",
                ] + options)
            #expect(child.exitCode() == (size > 0 ? 0 : 35), "\(options) \(child.allLines())")
            #expect(server.seen.withLock { $0.last } == words)
            let got = (try? FileManager.default.attributesOfItem(atPath: output)[.size] as? Int) ?? 0
            #expect(got == size)
        }
    }

    @Test(
        .enabled(if: TLSPrograms.path(of: "openssl") != nil, "no openssl in PATH"), arguments: ["-tls1_3", "-tls1_2"])
    func `openssl s_client resumes its session`(version: String) throws {
        let folder = try folder()
        let server = try Server(TLSFixture.context())
        defer { server.stop() }
        let program = try #require(TLSPrograms.path(of: "openssl"))
        let request = "\(folder.path)/request"
        try folder.write("request", "GET / HTTP/1.0\r\n\r\n")
        let session = "\(folder.path)/session"
        for option in ["-sess_out", "-sess_in"] {
            let line =
                "exec '\(program)' s_client \(version) -connect 127.0.0.1:\(server.port) -servername main.example "
                + "-verify_return_error -CAfile '\(folder.path)/root.pem' -ign_eof -quiet \(option) '\(session)' "
                + "-alpn h2 < '\(request)'"
            let child = try ChildProcess("/bin/sh", ["-c", line])
            #expect(child.exitCode() == 0, "\(child.allLines())")
        }
        let number = version == "-tls1_3" ? "1.3" : "1.2"
        #expect(
            server.seen.withLock { $0 }
                == ["\(number) h2 main.example full", "\(number) h2 main.example resumed"])
    }
}
