// SPDX-License-Identifier: Apache-2.0
import Glibc
import HIDCrypto
import HIDService
import HIDTesting
import HIDVerifier
import Testing

@testable import hidctl

/// A server for one request after the other on one thread; it remembers what came.
private final class OneAnswerServer: @unchecked Sendable {
    let port: UInt16
    private let listener: Int32
    private var thread = pthread_t()
    private let count: Int
    /// Written by the thread, read after `join`.
    private var received: [[UInt8]] = []

    init(count: Int) throws {
        self.count = count
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let fd = listener
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(fd, $0, length) == 0 && getsockname(fd, $0, &length) == 0
            }
        }
        guard isBound, listen(fd, 8) == 0 else { throw SystemFault(code: errno) }
        port = UInt16(bigEndian: address.sin_port)
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        _ = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<OneAnswerServer>.fromOpaque(context).takeRetainedValue().serve()
                }
                return nil
            }, context)
    }

    func requests() -> [[UInt8]] {
        pthread_join(thread, nil)
        close(listener)
        return received
    }

    private func serve() {
        for _ in 0..<count {
            let fd = accept(listener, nil, nil)
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while !Self.isComplete(bytes) {
                let count = unsafe read(fd, &chunk, chunk.count)
                guard count > 0 else { break }
                bytes += chunk[..<count]
            }
            received.append(bytes)
            let body = "{\"error\":{\"code\":\"blocked\",\"support_code\":\"S1\"}}"
            let head = "HTTP/1.1 403 Forbidden\r\nX-Request-Id: r1\r\nConnection: close\r\n"
            let answer = Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
            _ = unsafe write(fd, answer, answer.count)
            close(fd)
        }
    }

    private static func isComplete(_ bytes: [UInt8]) -> Bool {
        let request = SentRequest(bytes)
        return request.isWhole && request.body.count >= Int(request.field("content-length") ?? "0") ?? 0
    }
}

/// A request as it came over the wire.
private struct SentRequest {
    var isWhole = false
    var line: [String] = []
    var body: [UInt8] = []
    private var fields: [String: String] = [:]

    init(_ bytes: [UInt8]) {
        let end = Array("\r\n\r\n".utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return }
        isWhole = true
        body = Array(bytes[(start + 4)...])
        let lines = String(decoding: bytes[..<start], as: UTF8.self).split(separator: "\r\n").map(String.init)
        line = (lines.first ?? "").split(separator: " ").map(String.init)
        for text in lines.dropFirst() {
            guard let colon = text.firstIndex(of: ":") else { continue }
            fields[text[..<colon].lowercased()] = String(text[text.index(after: colon)...].drop { $0 == " " })
        }
    }

    func field(_ name: String) -> String? { fields[name] }
}

@Suite(.timeLimit(.minutes(10))) struct DeviceSimulateTests {
    private let folder: ConfigurationFolder

    init() throws {
        folder = try ConfigurationFolder([:])
    }

    private func simulate(_ options: [String], requests: Int = 1) throws -> (ControlOutcome, [SentRequest]) {
        let server = try OneAnswerServer(count: requests)
        let path = folder.path
        let environment = ControlEnvironment(now: { 1_800_000_000 }, readInput: { _ in [] })
        let outcome = HidctlProgram.run(
            arguments: [
                "device", "simulate", "--issuer-key", "\(path)/issuer.pem", "--jwks-out", "\(path)/jwks.json",
                "--device-key", "\(path)/device.pem", "--url", "http://127.0.0.1:\(server.port)/a/../b?x=%2f", "--json",
            ] + options, environment: environment)
        return (outcome, server.requests().map(SentRequest.init))
    }

    private func reason(_ sent: SentRequest) throws -> Reason? {
        let keys = try KeySet(jwks: FileSystem.contents(of: "\(folder.path)/jwks.json", limit: 65_536))
        let policy = IssuerPolicy(issuer: "https://his.example.com", audience: ["demo-app"], keys: keys)
        let verifier = try #require(RequestVerifier(tokens: TokenVerifier(issuers: [policy])))
        let request = SignedRequest(
            method: Array(sent.line[0].utf8), authority: Array((sent.field("host") ?? "").utf8),
            target: Array(sent.line[1].utf8))
        return verifier.check(
            request, token: sent.field("x-hid-token").map { Array($0.utf8) },
            signature: sent.field("x-hid-signature").map { Array($0.utf8) }, body: sent.body, now: 1_800_000_000
        ).reason
    }

    @Test(arguments: ["v1", "v2"])
    func `a simulated request verifies, its target untouched`(profile: String) throws {
        let (outcome, sent) = try simulate(["--profile", profile, "--body", "{\"a\":1}", "--expect", "403"])
        #expect(outcome.exit == 0)
        #expect(sent[0].line == ["POST", "/a/../b?x=%2f", "HTTP/1.1"])
        #expect(try reason(sent[0]) == nil)
        let json = try PrintedJSON(outcome.stdout)
        #expect(json.integer("requests", "0", "status") == 403)
        #expect(json.text("requests", "0", "request_id") == "r1")
        #expect(json.text("requests", "0", "support_code") == "S1")
        #expect(json.text("hid")?.utf8.count == 32)
    }

    @Test(arguments: [
        ("body", "v1", Reason.signatureInvalid), ("body", "v2", .signatureBinding),
        ("signature", "v2", .signatureBinding), ("token", "v2", .tokenSignatureInvalid),
    ])
    func `what is spoilt is refused for it`(part: String, profile: String, expected: Reason) throws {
        let (_, sent) = try simulate(["--tamper", part, "--profile", profile, "--body", "abc"])
        #expect(try reason(sent[0]) == expected)
    }

    @Test(arguments: ["suspicious", "bot", "blocked"])
    func `the verdict is that of the option`(verdict: String) throws {
        let (_, sent) = try simulate(["--verdict", verdict])
        #expect(try reason(sent[0]) == .verdictBlock)
    }

    @Test func `a repeated request has the same token, and none has none`() throws {
        let (outcome, sent) = try simulate(["--repeat", "2", "--method", "GET", "--host", "API.test"], requests: 2)
        #expect(outcome.exit == 0 && sent[0].field("host") == "API.test")
        #expect(sent[0].field("x-hid-token") == sent[1].field("x-hid-token"))
        #expect(try reason(sent[1]) == nil)
        let (_, bare) = try simulate(["--no-token"])
        #expect(try reason(bare[0]) == .tokenMissing)
        let (_, unsigned) = try simulate(["--no-signature"])
        #expect(try reason(unsigned[0]) == .signatureMissing)
    }

    @Test func `an unexpected status or no answer is exit 1`() throws {
        #expect(try simulate(["--expect", "200"]).0.exit == 1)
        let silent = hidctl(
            "device", "simulate", "--issuer-key", "\(folder.path)/i.pem", "--url", "http://127.0.0.1:1/", "--json")
        #expect(silent.exit == 1)
    }

    @Test func `keys are made for their owner only and never shown`() throws {
        let path = "\(folder.path)/issuer.pem"
        let outcome = hidctl(
            "device", "simulate", "--issuer-key", path, "--jwks-out", "\(folder.path)/jwks.json")
        #expect(outcome.exit == 0)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let pem = String(decoding: try FileSystem.contents(of: path, limit: 4096), as: UTF8.self)
        let line = try #require(pem.split(separator: "\n").dropFirst().first)
        #expect(!(outcome.stdout + outcome.stderr).contains(line))
        let printed = hidctl("device", "simulate", "--issuer-key", path, "--url", "http://x/", "--print-headers")
        #expect(printed.stdout.hasPrefix("X-HID-Token: ") && printed.stdout.contains("\nX-HID-Signature: v2."))
    }
}
