// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

@testable import HIDIssuer

/// Lists from a URL.
@Suite(.timeLimit(.minutes(10))) struct RevocationFetchTests {
    private let folder: ConfigurationFolder
    private let server: ListServer
    private let fixture: KeeperFixture
    private var keeper: RevocationKeeper { fixture.keeper }

    init() throws {
        folder = try ConfigurationFolder()
        server = try ListServer()
        fixture = try KeeperFixture(url: server.url, folder: folder)
    }

    private func file() -> [UInt8]? {
        FileManager.default.contents(atPath: "\(folder.path)/list.json").map { Array($0) }
    }

    @Test func `the first fetch makes list and file, and ends the alarm`() throws {
        #expect(try fixture.alarm == 1)
        #expect(try fixture.age == -1)
        #expect(keeper.isStale(at: fixture.clock.wall))
        #expect(fixture.start())
        #expect(keeper.list?.count == 20)
        #expect(try (fixture.alarm, fixture.entries, fixture.age) == (0, 20, 0))
        #expect(!keeper.isStale(at: fixture.clock.wall))
        #expect(file() == Array(ListServer.list(20).utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/list.json")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
        #expect(server.upstream.requests.first?.startLine == "GET /attestation/status HTTP/1.1")
        #expect(server.upstream.requests.first?["If-None-Match"] == nil)
        #expect(keeper.status.failures == 0)
    }

    private static let faults: [(name: String, answer: String)] = [
        ("no JSON", ListServer.ok("<html>")), ("nothing", ListServer.ok("")),
        ("empty", ListServer.ok("{\"entries\":{}}")),
        ("cut off", ListServer.ok(String(ListServer.list(20).dropLast(2)))),
        ("less than half", ListServer.ok(ListServer.list(9))), ("another shape", ListServer.ok("{\"items\":[]}")),
        ("a bad serial", ListServer.ok(ListServer.list(20, "xyz"))),
        ("a double entry", ListServer.ok(ListServer.list(20, "f00d1000"))),
        ("500", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
        ("404", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
        ("redirect", "HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
        ("304 unasked", "HTTP/1.1 304 Not Modified\r\n\r\n"), ("206", "HTTP/1.1 206 No\r\nContent-Length: 0\r\n\r\n"),
        ("too long", ListServer.ok(String(repeating: " ", count: 8 << 20) + "{}")), ("no HTTP", "hello\r\n\r\n"),
        ("short of its length", "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{}"),
    ]

    @Test(arguments: faults.map(\.name)) func `a bad answer leaves the old list and its file, and raises the alarm`(
        name: String
    ) throws {
        let fault = try #require(Self.faults.first { $0.name == name })
        #expect(fixture.start())
        let loaded = keeper.status.loaded
        server.serve(fault.answer)
        #expect(fixture.fetch())
        #expect(keeper.status.failures == 1)
        #expect(keeper.status.fault != nil)
        #expect(keeper.list?.count == 20)
        #expect(keeper.status.loaded == loaded)
        #expect(file() == Array(ListServer.list(20).utf8))
        #expect(try (fixture.alarm, fixture.entries, fixture.age) == (1, 20, 90_000))
        #expect(try fixture.world.metric("hisd_revocation_failures_total") == 1)
        #expect(fixture.world.logged("revocations.not_loaded").count == 1)
        server.serve(ListServer.ok(ListServer.list(21)))
        #expect(fixture.fetch(after: 40), "a retry comes soon")
        #expect(keeper.list?.count == 21)
        #expect(try (fixture.alarm, fixture.age) == (0, 0))
    }

    @Test func `before the first list a bad answer makes none`() throws {
        for answer in ["HTTP/1.1 304 Not Modified\r\n\r\n", ListServer.ok("{\"entries\":{}}"), ListServer.ok("{")] {
            server.serve(answer)
            let fresh = try KeeperFixture(url: server.url, folder: try ConfigurationFolder())
            #expect(fresh.start())
            #expect(fresh.keeper.list == nil)
            #expect(fresh.keeper.isStale(at: fresh.clock.wall))
            #expect(try fresh.world.attest(Phone(Phone.android)).code == "unavailable")
        }
    }

    @Test func `retries come later and later, up to a quarter of an hour`() throws {
        server.serve("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        #expect(fixture.start())
        for delay in [30, 60, 120, 240, 480, 900, 900] as [Int64] {
            let before = server.count
            #expect(fixture.fetch(after: delay - 1))
            #expect(server.count == before, "not before \(delay)")
            #expect(fixture.fetch(after: 2 + delay / 10))
            #expect(server.count == before + 1)
        }
        #expect(keeper.status.failures == 8)
    }

    @Test(arguments: [
        ("", 3600 as Int64), ("Cache-Control: max-age=1000\r\n", 1000), ("Cache-Control: max-age=1\r\n", 600),
        ("Cache-Control: public, max-age=7200\r\nAge: 3000\r\n", 4200), ("Cache-Control: max-age=9999999\r\n", 86_400),
        ("Cache-Control: max-age=1000\r\nAge: 2147483648\r\n", 600),
    ])
    func `the next fetch comes when the answer is old, within bounds`(fields: String, age: Int64) throws {
        server.serve(ListServer.ok(ListServer.list(20), fields: fields))
        #expect(fixture.start())
        #expect(fixture.fetch(after: age - 1))
        #expect(server.count == 1)
        #expect(fixture.fetch(after: 2 + age / 10))
        #expect(server.count == 2)
    }

    @Test func `an unchanged list is fresh again without its octets, also after a restart`() throws {
        server.serve(ListServer.ok(ListServer.list(20), fields: "ETag: \"v1\"\r\n"))
        #expect(fixture.start())
        try fixture.date("list.json", age: 6 * 86_400)
        server.serve("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n")
        #expect(fixture.fetch())
        #expect(server.upstream.requests.last?["If-None-Match"] == "\"v1\"")
        #expect(keeper.status.loaded == fixture.clock.wall)
        #expect(try (fixture.alarm, fixture.entries, fixture.age) == (0, 20, 0))
        let restarted = try KeeperFixture(url: "http://127.0.0.1:1/", folder: folder)
        #expect(restarted.start())
        #expect(restarted.keeper.list?.count == 20)
        #expect(try restarted.age < 3600)
    }

    @Test func `a server that never answers holds up nobody`() throws {
        #expect(fixture.start())
        let gate = Gate()
        let silent = try ScriptedUpstream { peer in
            _ = try peer.request()
            gate.wait()
        }
        defer { gate.open() }
        let folder = try ConfigurationFolder(["list.json": ListServer.list(30)])
        let waiting = try KeeperFixture(url: silent.url, folder: folder)
        waiting.keeper.start()
        #expect(silent.requests(1).count == 1)
        #expect(waiting.keeper.isFetching)
        for _ in 0..<5 { waiting.keeper.tick() }
        #expect(waiting.keeper.list?.count == 30)
        #expect(try waiting.world.attest(Phone(Phone.android)).code == "ok")
        #expect(silent.accepted == 1)
        gate.open()
        #expect(Eventually.holds { !waiting.keeper.isFetching })
        #expect(waiting.keeper.status.failures == 1)
        #expect(try (waiting.alarm, waiting.entries) == (1, 30))
    }

    @Test func `after a stop nothing is fetched any more`() throws {
        #expect(fixture.start())
        keeper.stop()
        #expect(fixture.fetch())
        #expect(server.count == 1)
    }

    @Test func `a reload fetches at once`() throws {
        #expect(fixture.start())
        server.serve(ListServer.ok(ListServer.list(25)))
        keeper.reload()
        #expect(Eventually.holds { keeper.list?.count == 25 })
    }

    @Test func `a file that cannot be written is told, and the list holds`() throws {
        let fixture = try KeeperFixture(url: server.url, folder: folder, file: "no/such/place.json")
        #expect(fixture.start())
        #expect(fixture.keeper.list?.count == 20)
        #expect(fixture.world.logged("revocations.not_saved").count == 1)
    }
}
