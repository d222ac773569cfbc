// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// `proxy_protocol: v2` on an upstream.
@Suite(.timeLimit(.minutes(10))) struct UpstreamProxyHeaderTests {
    /// Reads the header of each connection, then serves requests.
    private final class Server: Sendable {
        let headers = Monitor<[[UInt8]]>([])
        let upstream: ScriptedUpstream

        init() throws {
            let headers = headers
            upstream = try ScriptedUpstream { peer in
                var octets: [UInt8] = []
                while octets.count < 16 { octets += try peer.wire.more(limit: 16 - octets.count) }
                let length = Int(octets[14]) << 8 | Int(octets[15])
                while octets.count < 16 + length { octets += try peer.wire.more(limit: 16 + length - octets.count) }
                let header = octets
                headers.withLock { $0.append(header) }
                while let request = try peer.request() { try peer.send(ScriptedUpstream.ok(request.target)) }
            }
        }
    }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    @Test func `each connection tells its client and serves no other`() throws {
        let server = try Server()
        let bench = try Bench(.init(upstream: ", proxy_protocol: v2"), upstream: server.upstream)
        for _ in 0..<3 {
            let client = try bench.client()
            for path in ["/a", "/b"] { #expect(try client.exchange(get(path))?.text == path) }
            #expect(try client.exchange(Bench.post("/c", body: pattern(100_000)))?.text == "/c")
        }
        let headers = server.headers.withLock { $0 }
        #expect(headers.count == 9)
        guard case .port(let port) = bench.address else { return }
        for header in headers {
            #expect(Array(header.prefix(16)) == Self.signature + [0x21, 0x11, 0, 12])
            #expect(Array(header[16..<24]) == [127, 0, 0, 1, 127, 0, 0, 1])
            #expect(UInt16(header[26]) << 8 | UInt16(header[27]) == port)
        }
        // The ports of three clients, three times each.
        let ports = Dictionary(grouping: headers) { UInt16($0[24]) << 8 | UInt16($0[25]) }
        #expect(ports.count == 3)
        #expect(ports.values.allSatisfy { $0.count == 3 })
        #expect(!ports.keys.contains(0))
    }

    @Test func `health checks are the gateway's own`() throws {
        let server = try Server()
        let bench = try Bench(
            .init(upstream: ", proxy_protocol: v2, health: { path: /up, interval: 1h }"), upstream: server.upstream)
        #expect(server.upstream.requests(1).first?.target == "/up")
        #expect(server.headers.withLock { $0.first } == Self.signature + [0x20, 0, 0, 0])
        #expect(try bench.once(get("/a"))?.text == "/a")
    }

    @Test func `the header comes before a request that moved on from a dead server`() throws {
        let server = try Server()
        let bench = try Bench(
            .init(
                upstream: ", proxy_protocol: v2, ejection: off",
                servers: [try deadServer(), "{ url: \"\(server.upstream.url)\" }"]),
            upstream: server.upstream)
        for _ in 0..<4 { #expect(try bench.once(Bench.post("/c", body: pattern(50_000)))?.text == "/c") }
        #expect(server.headers.withLock { $0.count } == 4)
    }
}
