// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDClient
import HIDTesting
import Testing

/// What no phone sends.
@Suite(.timeLimit(.minutes(10))) struct IssuerAbuseTests {
    /// One bad request and what becomes of it.
    struct Case: Sendable, CustomStringConvertible {
        var description: String
        var request: [UInt8]
        var status: Int

        init(_ description: String, _ request: String, _ status: Int) {
            self.init(description, Array(request.utf8), status)
        }

        init(_ description: String, _ request: [UInt8], _ status: Int) {
            (self.description, self.request, self.status) = (description, request, status)
        }

        /// A content for /v1/m/hid/c.
        init(json description: String, _ content: [UInt8], _ status: Int = 400) {
            let head = "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: \(content.count)\r\n\r\n"
            self.init(description, Array(head.utf8) + content, status)
        }
    }

    private static let good = "{\"app_id\":\"app-1\",\"device_id\":\"d\",\"platform\":\"test\"}"

    /// A good content with white space up to a size.
    private static func padded(_ size: Int) -> [UInt8] {
        Array(good.utf8) + [UInt8](repeating: 0x20, count: size - good.utf8.count)
    }

    private static func chunked(_ size: Int) -> [UInt8] {
        let head = "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        return Array("\(head)\(String(size, radix: 16))\r\n".utf8) + padded(size) + Array("\r\n0\r\n\r\n".utf8)
    }

    static let cases: [Case] = [
        Case(json: "64 KiB", padded(65_536), 200), Case(json: "64 KiB and one", padded(65_537), 413),
        Case("64 KiB in chunks", chunked(65_536), 200), Case("64 KiB and one in chunks", chunked(65_537), 413),
        Case(
            "a length of 2^63 - 1",
            "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
            413),
        Case(
            "a length of 2^64", "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
            400),
        Case("no content", "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Case("GET", "GET /v1/m/hid/c HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        Case("POST to the keys", "POST /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405),
        Case("a query", "POST /v1/m/hid/c?x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 404),
        Case("dots", "POST /v1/m/hid/../hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 404),
        Case("another path", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        Case("no host", "POST /v1/m/hid/c HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),
        Case(
            "two lengths", "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            400),
        Case(
            "length and chunks",
            "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400),
        Case("a long head", "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
        Case("no HTTP", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n", 400),
        Case(json: "nothing", []), Case(json: "no JSON", Array("{".utf8)), Case(json: "an array", Array("[]".utf8)),
        Case(json: "a text", Array("\"a\"".utf8)),
        Case(json: "a comma at the end", Array((good.dropLast() + ",}").utf8)),
        Case(json: "two objects", Array((good + good).utf8)),
        Case(json: "a byte order mark", [0xEF, 0xBB, 0xBF] + Array(good.utf8)),
        Case(json: "no UTF-8", Array(good.utf8).map { $0 == UInt8(ascii: "1") ? 0xFF : $0 }),
        Case(json: "a NUL", Array(good.utf8) + [0]),
        Case(json: "depth", Array("{\"a\":\(nested(20)),".utf8) + good.utf8.dropFirst()),
        Case(json: "a member twice", Array((good.dropLast() + ",\"app_id\":\"app-1\"}").utf8)),
        Case(json: "an escaped twin", Array((good.dropLast() + ",\"app_i\\u0064\":\"app-1\"}").utf8)),
        Case(json: "another type", Array(good.replacing("\"d\"", with: "1").utf8)),
        Case(json: "null", Array(good.replacing("\"d\"", with: "null").utf8)),
        Case(json: "an empty device_id", Array(good.replacing("\"d\"", with: "\"\"").utf8)),
        Case(
            json: "a long device_id",
            Array(good.replacing("\"d\"", with: "\"\(String(repeating: "d", count: 129))\"").utf8)),
        Case(json: "a path for a device_id", Array(good.replacing("\"d\"", with: "\"../d\"").utf8)),
        Case(json: "another platform", Array(good.replacing("\"test\"", with: "\"Test\"").utf8)),
        Case(json: "an app nobody knows", Array(good.replacing("app-1", with: "app-9").utf8), 404),
        Case(json: "a platform that is off", Array(good.replacing("\"test\"", with: "\"ios\"").utf8), 403),
    ]

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test func `each bad request has the answer of the protocol`() throws {
        let his = try IssuerBench()
        for item in Self.cases {
            let answer = try his.client().exchange(item.request)
            #expect(answer?.status == item.status, "\(item)")
            #expect(answer?.isComplete == true, "\(item)")
            guard item.status != 200 else { continue }
            #expect(answer?["Content-Type"] == "application/json", "\(item)")
            let json = answer.flatMap { JSONValue($0.text) }
            #expect(json?["error"]["code"].text != nil, "\(item): \(answer?.text ?? "")")
            if item.status == 400 || item.status == 413 {
                #expect(json?["error"]["code"].text == "bad_request", "\(item)")
                #expect(json?["error"]["request_id"].text == answer?["X-Request-Id"], "\(item)")
            }
            if item.status == 405 { #expect(answer?["Allow"] != nil, "\(item)") }
        }
        #expect(try his.admin("/readyz")?.status == 200)
    }

    @Test func `100-continue is sent only for a content that will be read`() throws {
        let his = try IssuerBench()
        func head(_ length: Int) -> String {
            "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(length)\r\n\r\n"
        }
        let client = try his.client()
        try client.send(head(Self.good.utf8.count))
        #expect(try client.responseHead()?.status == 100)
        #expect(try client.exchange(Self.good)?.status == 200)
        #expect(try his.client().exchange(head(65_537))?.interim.isEmpty == true)
    }

    @Test func `garbage behind good requests ends the connection after their answers`() throws {
        let his = try IssuerBench()
        let client = try his.client()
        let request = ScriptedPhone.post("/v1/m/hid/c", Self.good)
        try client.send(String(repeating: request, count: 20) + "\u{0}\u{1}garbage\r\n\r\n" + request)
        for _ in 0..<20 { #expect(try client.response()?.status == 200) }
        #expect(try client.response()?.status == 400)
        #expect(client.isClosed())
    }

    @Test func `slow heads and bodies are 408, and hold up nobody`() throws {
        let his = try IssuerBench(.init(sections: "timeouts: { header: 500ms, body_idle: 500ms, keep_alive: 500ms }"))
        let slow = try (0..<50).map { index in
            let client = try his.client()
            let head = "POST /v1/m/hid/c HTTP/1.1\r\nHost: a\r\nContent-Length: 60\r\n"
            try client.send(index % 2 == 0 ? head : head + "\r\n{")
            return client
        }
        #expect(try IssuerReply(his.client().exchange(ScriptedPhone.post("/v1/m/hid/c", Self.good))).status == 200)
        for client in slow {
            #expect(try client.response()?.status == 408)
            #expect(client.isClosed())
        }
        #expect(try his.client().isClosed(), "a silent connection")
        #expect(try IssuerBench.eventually { try his.metric("hisd_connections") == 0 })
    }

    // MARK: - Many

    private func resident(_ his: IssuerBench) -> (kibibytes: Int, descriptors: Int) {
        let status = (try? String(contentsOfFile: "/proc/\(his.pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? ""
        let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(his.pid)/fd")) ?? []
        return (number, files.count)
    }

    @Test func `twenty thousand bad requests leave memory and descriptors where they were`() throws {
        let his = try IssuerBench()
        let verify = "{\"type\":\"key_proof\",\"challenge_id\":\"none\",\"signature\":\"MEUC\",\(Self.good.dropFirst())"
        let batch = [
            ScriptedPhone.post("/v1/m/hid/c", "{\"app_id\":1}"), ScriptedPhone.post("/v1/m/hid/v", verify),
            ScriptedPhone.post("/v1/m/hid/v", "{\"challenge_id\":\"x\"}"), ScriptedPhone.post("/v1/m/hid/x", "{}"),
            "GET /v1/m/hid/v HTTP/1.1\r\nHost: a\r\n\r\n", ScriptedPhone.post("/v1/m/hid/c", "not JSON"),
            ScriptedPhone.post("/v1/m/hid/c", Self.good.replacing("app-1", with: "app-2")),
            ScriptedPhone.post("/v1/m/hid/c", Self.good.replacing("\"test\"", with: "\"android\"")),
        ]
        let expected = [400, 409, 400, 404, 405, 400, 404, 403]
        let text = String(repeating: batch.joined(), count: 5)
        func round(_ count: Int) throws {
            var client = try his.client()
            for index in 0..<count / (5 * batch.count) {
                if index % 50 == 49 {
                    // One of a kind that costs the connection, too.
                    #expect(try client.exchange("GET / HTTP/1.1\r\n bad\r\n\r\n")?.status == 400)
                    client = try his.client()
                }
                try client.send(text)
                var statuses: [Int] = []
                for _ in 0..<5 * batch.count { statuses.append(try client.response()?.status ?? 0) }
                #expect(statuses == Array(repeating: expected, count: 5).flatMap { $0 })
            }
        }
        try round(4_000)
        let before = resident(his)
        try round(20_000)
        let after = resident(his)
        #expect(IssuerBench.eventually { resident(his).descriptors <= before.descriptors })
        #expect(after.kibibytes - before.kibibytes < 4096, "grew by \(after.kibibytes - before.kibibytes) KiB")
        #expect(try SDKPhone(his).token().verdict == "human")
    }

    /// Octets that are nearly a request.
    private struct RandomRequests {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }

        mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

        mutating func request(_ seeds: [[UInt8]]) -> [UInt8] {
            if below(4) == 0 { return (0..<below(400)).map { _ in UInt8(truncatingIfNeeded: next()) } }
            var bytes = seeds[below(seeds.count)]
            for _ in 0...below(6) where !bytes.isEmpty {
                let place = below(bytes.count)
                switch below(5) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
                case 1: bytes.removeLast(below(bytes.count))
                case 2: bytes.insert(contentsOf: bytes.suffix(below(40)), at: place)
                case 3: bytes.remove(at: place)
                default: bytes += seeds[below(seeds.count)].prefix(below(200))
                }
            }
            return bytes
        }
    }

    @Test func `two thousand random requests are answered or closed`() throws {
        let his = try IssuerBench(.init(loops: 2))
        let phone = try ScriptedPhone("d", AuthorityEvidence(authority: his.authority))
        let client = try his.client()
        let seeds = [
            Array(ScriptedPhone.post("/v1/m/hid/c", Self.good).utf8),
            Array(try phone.attestation(phone.challenge(client)).utf8),
            Array(try phone.keyProof(phone.challenge(client)).utf8), Self.chunked(300),
            Array("GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
        ]
        let before = resident(his).descriptors
        let board = Monitor((faults: [String](), answers: 0, ended: 0))
        let address = his.address
        for thread in 0..<4 {
            Thread.detachNewThread {
                var random = RandomRequests(state: UInt64(thread))
                for index in 0..<500 {
                    let fault = Self.send(random.request(seeds), address)
                    board.withLock { board in
                        if let fault { board.faults.append("\(thread).\(index): \(fault)") } else { board.answers += 1 }
                    }
                }
                board.withLock { $0.ended += 1 }
            }
        }
        #expect(board.wait(Deadline(in: .seconds(60))) { $0.ended == 4 ? true : nil } == true)
        #expect(board.withLock { $0.faults } == [])
        #expect(board.withLock { $0.answers } == 2_000)
        #expect(try his.admin("/readyz")?.status == 200)
        #expect(IssuerBench.eventually { resident(his).descriptors <= before })
        #expect(try SDKPhone(his).token().verdict == "human")
    }

    /// What is wrong with the server's reaction; nil: it answered in HTTP, or ended the connection.
    private static func send(_ bytes: [UInt8], _ address: WireAddress) -> String? {
        var answer: [UInt8] = []
        do {
            let wire = try Wire.connect(to: address)
            try wire.send(bytes)
            wire.halfClose()
            while true {
                let more = try wire.receive()
                if more.isEmpty { break }
                answer += more
            }
        } catch WireError.reset {
        } catch {
            return "\(error)"
        }
        let isHTTP = answer.isEmpty || answer.starts(with: "HTTP/1.1 ".utf8)
        return isHTTP ? nil : "no HTTP: \(String(decoding: answer.prefix(80), as: UTF8.self))"
    }
}
