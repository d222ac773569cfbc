// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting

@testable import HIDIssuer

/// A web server with a revocation list on it.
final class ListServer: Sendable {
    private let answer: Monitor<String>
    let upstream: ScriptedUpstream

    init(_ first: String = ListServer.ok(ListServer.list(20))) throws {
        let answer = Monitor(first)
        self.answer = answer
        // One request a connection, so that an answer that is too short has an end.
        upstream = try ScriptedUpstream { peer in
            if try peer.request() != nil { try peer.send(answer.withLock { $0 }) }
        }
    }

    deinit { upstream.stop() }

    var url: String { upstream.url + "/attestation/status" }
    var count: Int { upstream.requests.count }

    /// What every request from now on is answered.
    func serve(_ text: String) { answer.withLock { $0 = text } }

    static func ok(_ body: String, fields: String = "") -> String { ScriptedUpstream.ok(body, fields: fields) }

    /// A list of so many certificates that nobody has, and of some more.
    static func list(_ count: Int, _ serials: String..., status: String = "REVOKED") -> String {
        let names = (0..<count).map { "f00d\(String($0 + 4096, radix: 16))" } + serials
        let entries = names.map { "\"\($0)\":{\"status\":\"\(status)\",\"reason\":\"KEY_COMPROMISE\"}" }
        return "{\"entries\":{\(entries.joined(separator: ","))}}"
    }
}

/// A keeper in a world whose clock starts at the time of the machine, because files carry that.
struct KeeperFixture {
    let world: IssuerWorld
    let keeper: RevocationKeeper
    let clock: ManualClock
    let folder: ConfigurationFolder

    init(
        url: String? = nil, folder: ConfigurationFolder, file: String? = "list.json", snapshot: String? = nil,
        store: FailingIssuerStore = FailingIssuerStore(), whenStale: RevocationListConfiguration.Staleness = .closed,
        maximumAge: Duration = .seconds(7 * 86_400)
    ) throws {
        self.folder = folder
        clock = ManualClock()
        clock.step(to: Int64(Date().timeIntervalSince1970))
        var configuration = RevocationListConfiguration()
        configuration.url = url
        configuration.file = file.map { "\(folder.path)/\($0)" }
        configuration.snapshot = snapshot.map { "\(folder.path)/\($0)" }
        configuration.whenStale = whenStale
        configuration.maximumAge = maximumAge
        world = try IssuerWorld(store: store, clock: clock, revocations: configuration)
        guard let keeper = world.context.revocations else { throw IssuerWorldFault() }
        self.keeper = keeper
    }

    /// Has a fetch that is due happen, and waits for its end.
    func fetch(after seconds: Int64 = 90_000) -> Bool {
        clock.advance(seconds)
        keeper.tick()
        return Eventually.holds { !keeper.isFetching }
    }

    /// Starts, and waits for the first fetch.
    func start() -> Bool {
        keeper.start()
        return Eventually.holds { !keeper.isFetching }
    }

    var alarm: Double { get throws { try world.metric("hisd_revocation_alarm") } }
    var entries: Double { get throws { try world.metric("hisd_revocation_entries") } }
    var age: Double { get throws { try world.metric("hisd_revocation_age_seconds") } }

    /// Dates a file so many seconds before the clock's present.
    func date(_ name: String, age: Int64) throws {
        let date = Date(timeIntervalSince1970: Double(clock.wall - age))
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(folder.path)/\(name)")
    }
}
