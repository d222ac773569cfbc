// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting
import Testing

@testable import HIDHTTP

/// Requests of HTTP/2 begin in the order of their coming, and not more in a turn than those of HTTP/1 would.
@Suite(.timeLimit(.minutes(10))) struct HTTP2AdmissionTests {
    /// Streams that one connection may have.
    private static let streams = 100

    /// Connections that have sent so many requests each, all of them before the loop looks at the first.
    private func flood(_ server: HTTP2Server, _ connections: Int, path: (Int) -> String) throws -> [HTTP2Client] {
        let clients = try (0..<connections).map { _ in try server.connect() }
        for client in clients { try client.greet() }
        let go = Gate()
        server.loop.enqueue { _ = go.wait() }
        for (number, client) in clients.enumerated() {
            let octets = (0..<Self.streams).flatMap { index in
                HTTP2ConnectionTests.get(
                    UInt32(2 * index + 1), path(number * Self.streams + index))
            }
            try client.send(octets)
        }
        go.open()
        return clients
    }

    private func paths(_ server: HTTP2Server, _ what: String) -> [String] {
        server.log.withLock { lines in
            lines.filter { $0.hasSuffix(what) }.map { String($0.prefix { $0 != " " }) }
        }
    }

    @Test func `a turn begins so many of them, the others wait and keep their order`() throws {
        let server = try HTTP2Server()
        let clients = try flood(server, 4) { "/turn/\($0)" }
        for client in clients {
            for index in 0..<Self.streams as Range<Int> {
                #expect(try client.response(UInt32(2 * index + 1)).status == 200)
            }
        }
        let begun = server.log.withLock { lines in
            lines.filter { $0.contains(" turn ") }.compactMap { Int($0.drop { $0 != " " }.dropFirst(6)) }
        }
        #expect(begun.count == 400)
        let most = Dictionary(begun.map { ($0, 1) }, uniquingKeysWith: +).values.max() ?? 0
        #expect(most <= 256 + AdmissionQueue.perTurn)
        #expect(Set(begun).count >= (400 - most) / AdmissionQueue.perTurn)
        // The order of connections in one turn is the kernel's; that within a connection is the client's.
        let order = paths(server, "began http2").compactMap { Int($0.dropFirst(6)) }
        for number in 0..<4 {
            let own = order.filter { $0 / Self.streams == number }
            #expect(own == own.sorted())
        }
    }

    @Test func `one that is reset while it waits never begins, and its place is free`() throws {
        let server = try HTTP2Server()
        // The 257th is the first that waits: while it holds the loop, those behind it are reset.
        let clients = try flood(server, 4) { "/wait/\($0)" }
        #expect(server.logged("held at 257"))
        let waiting = Set((0..<400).map { "/wait/\($0)" }).subtracting(paths(server, "began http2"))
        let last = try #require(
            clients.indices.max { left, right in count(waiting, left) < count(waiting, right) })
        #expect(count(waiting, last) == Self.streams)
        for index in 50..<Self.streams { try clients[last].send(HTTP2Wire.reset(UInt32(2 * index + 1))) }
        server.gate.open()
        for index in 0..<50 as Range<Int> {
            #expect(try clients[last].response(UInt32(2 * index + 1)).status == 200)
        }
        #expect(try clients[last].synchronise())
        let begun = Set(paths(server, "began http2"))
        for index in 50..<Self.streams { #expect(!begun.contains("/wait/\(last * Self.streams + index)")) }
        // Had one of them kept its place, the last of these were refused.
        for index in 0..<Self.streams as Range<Int> {
            try clients[last].send(HTTP2ConnectionTests.get(UInt32(201 + 2 * index), "/again"))
        }
        for index in 0..<Self.streams as Range<Int> {
            #expect(try clients[last].response(UInt32(201 + 2 * index)).status == 200)
        }
    }

    private func count(_ paths: Set<String>, _ connection: Int) -> Int {
        paths.count { (Int($0.dropFirst(6)) ?? 0) / Self.streams == connection }
    }

    @Test func `a connection that ends while its requests wait leaves nothing behind`() throws {
        let server = try HTTP2Server()
        let clients = try flood(server, 4) { "/wait/\($0)" }
        #expect(server.logged("held at 257"))
        let begun = paths(server, "began http2").count
        // Not only closed: a child that starts in another test may hold a copy for a moment.
        for client in clients { (client.link as? Wire)?.shutDown() }
        server.gate.open()
        server.drain()
        #expect(server.emptied.wait())
        // How many of those that were not read yet still begin depends on what one read brings.
        #expect(begun == 257)
    }

    @Test func `content that comes while a request waits is told once it has begun`() throws {
        let server = try HTTP2Server()
        let clients = try (0..<3).map { _ in try server.connect() }
        for client in clients { try client.greet() }
        let go = Gate()
        server.loop.enqueue { _ = go.wait() }
        for client in clients {
            let octets = (0..<Self.streams).flatMap { index -> [UInt8] in
                let id = UInt32(2 * index + 1)
                return HTTP2ConnectionTests.post(id, "/content") + HTTP2Wire.data(id, "body \(id)", end: true)
            }
            try client.send(octets)
        }
        go.open()
        for client in clients {
            for index in 0..<Self.streams as Range<Int> {
                let id = UInt32(2 * index + 1)
                #expect(try client.response(id).text == "body \(id)")
            }
        }
    }
}
