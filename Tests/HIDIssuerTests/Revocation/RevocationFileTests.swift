// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDDaemon
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// Lists from files, and what a list does to phones that are registered.
@Suite(.timeLimit(.minutes(10))) struct RevocationFileTests {
    private let folder: ConfigurationFolder

    init() throws {
        folder = try ConfigurationFolder(["list.json": ListServer.list(20)])
    }

    /// Ticks until the file was looked at.
    private func tick(_ fixture: KeeperFixture, until condition: () -> Bool) -> Bool {
        fixture.keeper.tick()
        return Eventually.holds(condition)
    }

    // MARK: - Loading

    @Test func `a start loads the file, before anything is fetched`() throws {
        let fixture = try KeeperFixture(url: "http://127.0.0.1:1/", folder: folder)
        try fixture.date("list.json", age: 1000)
        fixture.keeper.start()
        #expect(fixture.keeper.list?.count == 20)
        #expect(try fixture.age == 1000)
        #expect(Eventually.holds { fixture.keeper.status.failures == 1 })
        #expect(try (fixture.alarm, fixture.entries) == (1, 20))
    }

    @Test func `without a file the snapshot is taken, and a damaged file is told`() throws {
        let empty = try ConfigurationFolder(["snapshot.json": ListServer.list(12)])
        var fixture = try KeeperFixture(url: "http://127.0.0.1:1/", folder: empty, snapshot: "snapshot.json")
        fixture.keeper.start()
        #expect(fixture.keeper.list?.count == 12)
        try empty.write("list.json", "{\"entries\":")
        fixture = try KeeperFixture(folder: empty, snapshot: "snapshot.json")
        fixture.keeper.start()
        #expect(fixture.keeper.list?.count == 12)
        #expect(fixture.world.logged("revocations.not_loaded").count == 1)
        fixture = try KeeperFixture(folder: empty)
        fixture.keeper.start()
        #expect(fixture.keeper.list == nil)
        #expect(try fixture.alarm == 1)
    }

    @Test func `a file that changes is picked up, and one that breaks is not`() throws {
        let fixture = try KeeperFixture(folder: folder)
        fixture.keeper.start()
        #expect(fixture.keeper.list?.count == 20)
        try folder.write("list.json", ListServer.list(22))
        #expect(tick(fixture) { fixture.keeper.list?.count == 22 })
        try folder.write("list.json", "{")
        #expect(tick(fixture) { fixture.keeper.status.failures == 1 })
        #expect(fixture.keeper.list?.count == 22)
        #expect(try fixture.alarm == 1)
        // In the same second, as a program does that writes slowly.
        try folder.write("list.json", ListServer.list(23))
        #expect(tick(fixture) { fixture.keeper.list?.count == 23 })
        #expect(try fixture.alarm == 0)
        try FileManager.default.removeItem(atPath: "\(folder.path)/list.json")
        fixture.keeper.tick()
        try folder.write("list.json", ListServer.list(24))
        #expect(tick(fixture) { fixture.keeper.list?.count == 24 })
        try folder.write("list.json", ListServer.list(11))
        #expect(tick(fixture) { fixture.keeper.status.failures == 2 })
        #expect(fixture.keeper.list?.count == 24, "less than half is not believed")
    }

    @Test func `an unchanged file is read once, and again on a reload`() throws {
        let fixture = try KeeperFixture(folder: folder)
        fixture.keeper.start()
        for _ in 0..<20 { fixture.keeper.tick() }
        fixture.keeper.reload()
        #expect(Eventually.holds { fixture.world.logged("revocations.loaded").count == 2 })
    }

    // MARK: - Age

    @Test(arguments: [RevocationListConfiguration.Staleness.closed, .open])
    func `an old list closes the door to new Android phones, or not, as the configuration says`(
        staleness: RevocationListConfiguration.Staleness
    ) throws {
        let fixture = try KeeperFixture(folder: folder, whenStale: staleness, maximumAge: .seconds(1000))
        try fixture.date("list.json", age: 900)
        fixture.keeper.start()
        let phone = try Phone(Phone.android)
        #expect(try fixture.world.attest(phone).code == "ok")
        fixture.clock.advance(100)
        #expect(try fixture.world.attest(phone).code == "ok")
        #expect(try fixture.alarm == 0)
        fixture.clock.advance(1)
        #expect(try fixture.alarm == 1)
        let challenge = try fixture.world.challenge(phone)
        let answer = try fixture.world.verify(phone.androidAttestation(challenge))
        #expect(answer.code == (staleness == .closed ? "unavailable" : "ok"))
        #expect(try fixture.world.prove(phone).code == "ok", "who is registered comes back")
        let resources = IssuerResources(context: fixture.world.context, health: StoreHealth())
        #expect(resources.readiness.isReady == (staleness == .open))
    }

    @Test func `a file from the future is not fresh for ever`() throws {
        let fixture = try KeeperFixture(folder: folder, maximumAge: .seconds(1000))
        try fixture.date("list.json", age: -1_000_000)
        fixture.keeper.start()
        #expect(try (fixture.age, fixture.alarm) == (0, 0))
        fixture.clock.advance(1001)
        #expect(try fixture.alarm == 1)
    }

    // MARK: - What it does

    @Test(arguments: [("REVOKED", "revoked"), ("SUSPENDED", "suspended"), ("MISLAID", "revoked")])
    func `a phone whose batch is named gets a token that says blocked`(status: String, reason: String) throws {
        try folder.write("list.json", ListServer.list(20, "abcdef012", status: status))
        let fixture = try KeeperFixture(folder: folder)
        fixture.keeper.start()
        let answer = try fixture.world.attest(Phone(Phone.android))
        #expect(try fixture.world.token(answer).isBlocked)
        #expect(try fixture.world.store.inner.deviceNow(fixture.world.hid(answer))?.blocked == reason)
        #expect(try !fixture.world.token(fixture.world.attest(Phone(deviceID: "phone-2"))).isBlocked)
    }

    @Test(arguments: [("REVOKED", "revoked"), ("SUSPENDED", "suspended")])
    func `a phone that is registered loses its standing with the next list`(status: String, reason: String) throws {
        let fixture = try KeeperFixture(folder: folder)
        fixture.keeper.start()
        let phone = try Phone(Phone.android)
        let hid = try fixture.world.hid(fixture.world.attest(phone))
        #expect(try !fixture.world.token(fixture.world.prove(phone)).isBlocked)
        try folder.write("list.json", ListServer.list(20, "abcdef012", status: status))
        #expect(tick(fixture) { fixture.keeper.list?.count == 21 })
        #expect(Eventually.holds { (try? fixture.world.store.inner.deviceNow(hid)?.blocked) == reason })
        #expect(try fixture.world.token(fixture.world.prove(phone)).isBlocked)
        #expect(Eventually.holds { (try? fixture.world.metric("hisd_revoked_devices_total")) == 1 })
        #expect(fixture.world.logged("device.revoked").count == 1)
        #expect(try fixture.world.store.inner.eventsNow().contains { $0.kind == "revoked" && $0.hid == hid })
        fixture.clock.advance(86_400)
        #expect(try fixture.world.token(fixture.world.prove(phone)).isBlocked, "no new judgement makes it good")
    }

    @Test func `a check of the stored phones that failed is made again, and frees nobody until then`() throws {
        let store = FailingIssuerStore()
        let fixture = try KeeperFixture(folder: folder, store: store)
        fixture.keeper.start()
        let phone = try Phone(Phone.android)
        #expect(try fixture.world.attest(phone).code == "ok")
        store.fail(.block)
        try folder.write("list.json", ListServer.list(20, "abcdef012"))
        #expect(tick(fixture) { !fixture.world.logged("revocations.devices_not_checked").isEmpty })
        let proof = try fixture.world.prove(phone)
        #expect(try fixture.world.token(proof).isBlocked)
        let hid = try fixture.world.hid(proof)
        #expect(try store.inner.deviceNow(hid)?.blocked == nil)
        store.fail()
        fixture.clock.advance(10)
        #expect(tick(fixture) { (try? store.inner.deviceNow(hid)?.blocked) == "revoked" })
        #expect(try fixture.world.token(fixture.world.prove(phone)).isBlocked)
    }
}
