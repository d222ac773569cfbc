// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Synchronization
import Testing

@testable import HIDHTTP

/// Events that any thread reports.
final class EventBox: Sendable {
    private let events = Monitor<[UpstreamEvent]>([])

    var all: [UpstreamEvent] { events.withLock { $0 } }
    func append(_ event: UpstreamEvent) { events.withLock { $0.append(event) } }

    /// Whether such an event came before the deadline.
    func has(within time: Duration = .seconds(20), _ isWanted: (UpstreamEvent) -> Bool) -> Bool {
        events.wait(Deadline(in: time)) { $0.contains(where: isWanted) ? true : nil } ?? false
    }
}

@Suite struct ResolutionStateTests {
    @Test func `the time to live is held to its bounds`() {
        var state = ResolutionState(ResolverSettings())
        let second: UInt64 = 1_000_000_000
        #expect(state.answered(life: 30).delay == 30 * second)
        #expect(state.answered(life: 0).delay == second)
        #expect(state.answered(life: .max).delay == 300 * second)
        #expect(state.answered(life: 5).note == nil)
    }

    @Test func `stale and recovered are told once each`() {
        var state = ResolutionState(ResolverSettings())
        #expect((0..<3).map { _ in state.failed().note } == [.unresolved, nil, nil])
        #expect(state.answered(life: 1).note == .recovered)
        #expect((0..<9).map { _ in state.failed().note }.compactMap(\.self) == [.stale])
        #expect(state.failed().delay == 5_000_000_000)
        #expect(state.answered(life: 1).note == .recovered)
        #expect(state.answered(life: 1).note == nil)
    }
}

/// The resolver against a name server that says what it is told.
@Suite(.timeLimit(.minutes(10))) struct NameResolverTests {
    /// A resolver on a loop of its own.
    private final class Bench: @unchecked Sendable {
        let loop: EventLoop
        /// Confined to the loop.
        private var resolver: NameResolver?

        init(_ server: ScriptedNameServer, timeout: Duration = .milliseconds(600)) throws {
            loop = try EventLoop(index: 0, label: "test.resolver")
            loop.start()
            var settings = ResolverSettings()
            settings.nameservers = [server.address]
            settings.timeout = timeout
            let given = settings
            loop.enqueue { [self] in resolver = NameResolver(given, loop: loop) }
        }

        func ask(_ name: String = "api.test.") -> NameResolver.Answer? {
            let box = Monitor<NameResolver.Answer?>(nil)
            loop.enqueue { [self] in resolver?.resolve(name) { answer in box.withLock { $0 = answer } } }
            return box.wait { $0 }
        }

        func stop() {
            loop.enqueue { [self] in resolver = nil }
            loop.stop()
        }
    }

    private func address(_ text: String) throws -> PeerAddress {
        try #require(PeerAddress(text: Array(text.utf8)))
    }

    @Test func `all addresses of both families come with the least time to live`() throws {
        let server = try ScriptedNameServer(.addresses(["127.0.0.1", "127.0.0.2", "::1"], life: 7))
        let bench = try Bench(server)
        defer { bench.stop() }
        let found = try #require(try bench.ask()?.get())
        #expect(found.life == 7)
        #expect(Set(found.addresses).isSuperset(of: [try address("127.0.0.1"), try address("127.0.0.2")]))
        server.set(.addresses(["127.0.0.9"], life: 0))
        #expect(try bench.ask()?.get() == ResolvedName(addresses: [try address("127.0.0.9")], life: 0))
    }

    @Test func `no good answer is a fault`() throws {
        let server = try ScriptedNameServer(.failure(2))
        let bench = try Bench(server)
        defer { bench.stop() }
        let replies: [ScriptedNameServer.Reply] = [
            .failure(2), .failure(3), .silence, .garbage, .cut, .addresses([], life: 60), .failure(5),
        ]
        for reply in replies {
            server.set(reply)
            guard case .failure? = bench.ask() else {
                Issue.record("\(reply) gave an answer")
                continue
            }
        }
        server.set(.addresses(["127.0.0.1"], life: 60))
        #expect(try bench.ask()?.get().addresses == [try address("127.0.0.1")], "it does not recover")
    }

    @Test func `localhost and names of the hosts file need no name server`() throws {
        let server = try ScriptedNameServer(.silence)
        let bench = try Bench(server)
        defer { bench.stop() }
        #expect(try bench.ask("localhost")?.get().addresses.contains(try address("127.0.0.1")) == true)
        #expect(server.questions == 0)
    }

    @Test func `a resolver that ends answers what it was asked`() throws {
        let server = try ScriptedNameServer(.silence)
        let bench = try Bench(server, timeout: .seconds(30))
        let box = Monitor<NameResolver.Answer?>(nil)
        let loop = bench.loop
        loop.enqueue {
            let resolver = NameResolver(ResolverSettings(), loop: loop)
            resolver.resolve("api.test.") { answer in box.withLock { $0 = answer } }
            resolver.close()
        }
        let answer = box.wait { $0 }
        guard case .failure? = answer else {
            Issue.record("\(String(describing: answer))")
            return
        }
        bench.stop()
    }
}

/// Addresses of an upstream over time.
@Suite(.timeLimit(.minutes(10))) struct UpstreamControlTests {
    private final class World {
        let server: ScriptedNameServer
        let control: UpstreamControl
        let cluster: UpstreamCluster
        let events = EventBox()

        init(_ reply: ScriptedNameServer.Reply) throws {
            server = try ScriptedNameServer(reply)
            var settings = ResolverSettings()
            settings.nameservers = [server.address]
            settings.timeout = .milliseconds(300)
            control = try UpstreamControl(settings)
            let target = UpstreamTarget(isTLS: false, host: "api.test", port: 80)
            let entry = UpstreamServer(addresses: UpstreamAddresses(target), label: "api")
            cluster = UpstreamCluster(name: "api", policy: UpstreamPolicy(), servers: [entry]) { [events] in
                events.append($0)
            }
            control.start()
            control.adopt([cluster])
        }

        deinit { control.stop() }

        var labels: [String] { cluster.servers[0].addresses.endpoints.map(\.label) }
    }

    @Test func `a new answer is in use within its time to live and a second`() throws {
        let world = try World(.addresses(["127.0.0.1"], life: 1))
        #expect(world.events.has { $0 == .addresses(name: "api.test", ["127.0.0.1"]) })
        let old = world.cluster.servers[0].addresses.endpoints[0]
        world.server.set(.addresses(["127.0.0.2", "127.0.0.1"], life: 1))
        let start = ContinuousClock.now
        #expect(world.events.has { $0 == .addresses(name: "api.test", ["127.0.0.2", "127.0.0.1"]) })
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(world.cluster.servers[0].addresses.endpoints.contains { $0 === old }, "state was lost")
        world.server.set(.addresses(["127.0.0.3"], life: 1))
        #expect(world.events.has { $0 == .addresses(name: "api.test", ["127.0.0.3"]) })
        let isGone = old.isGone.load(ordering: .relaxed)
        #expect(isGone)
    }

    @Test(arguments: [2, 3])
    func `the last good answer stays, told once, until there is a new one`(_ code: UInt8) throws {
        let world = try World(.addresses(["127.0.0.1"], life: 1))
        #expect(world.events.has { if case .addresses = $0 { true } else { false } })
        world.server.set(.failure(code))
        #expect(world.events.has { if case .stale = $0 { true } else { false } })
        #expect(world.server.isAsked(4))
        #expect(world.labels == ["127.0.0.1:80"])
        world.server.set(.addresses(["127.0.0.1"], life: 1))
        #expect(world.events.has { $0 == .recovered(name: "api.test") })
        #expect(world.events.all.filter { if case .stale = $0 { true } else { false } }.count == 1)
    }

    @Test func `a name that never resolved is tried until it does`() throws {
        let world = try World(.silence)
        #expect(world.events.has { if case .unresolved = $0 { true } else { false } })
        #expect(world.labels == [])
        world.server.set(.addresses(["127.0.0.1"], life: 60))
        #expect(world.events.has { if case .addresses = $0 { true } else { false } })
        #expect(world.labels == ["127.0.0.1:80"])
    }
}
