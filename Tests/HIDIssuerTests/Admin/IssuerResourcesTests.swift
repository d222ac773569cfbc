// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDService
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// What operators see and do.
@Suite(.timeLimit(.minutes(10))) struct IssuerResourcesTests {
    private let world: IssuerWorld
    private let resources: IssuerResources
    private let health = StoreHealth()

    init() throws {
        world = try IssuerWorld()
        resources = IssuerResources(context: world.context, health: health)
    }

    private func ask(_ method: String, _ target: String, _ body: String = "") throws -> IssuerAnswer {
        let request = try #require(
            AdminRequest(method: method, target: Array("/api\(target)".utf8)[...], content: Array(body.utf8)))
        let answers = Monitor<[WholeAnswer]>([])
        resources.answer(request) { answer in answers.withLock { $0.append(answer) } }
        return IssuerAnswer(try #require(answers.wait { $0.first }))
    }

    private func errorCode(_ answer: IssuerAnswer) -> String? { answer.json["error"]["code"].text }

    // MARK: - Surface

    @Test(arguments: ["", "/", "/nothing", "/key", "/keys2", "/metrics"]) func `there is nothing at any other path`(
        target: String
    ) throws {
        for method in ["GET", "POST", "DELETE"] {
            let answer = try ask(method, target)
            #expect((answer.status, errorCode(answer)) == (404, "not_found"))
        }
    }

    @Test(arguments: [
        ("POST", "/keys"), ("DELETE", "/keys"), ("GET", "/keys/rotate"), ("POST", "/keys/other"), ("GET", "/devices"),
        ("POST", "/devices/h"), ("GET", "/devices/h/x"), ("POST", "/events"), ("DELETE", "/denylist"),
        ("GET", "/denylist/h"), ("POST", "/denylist/h"),
    ])
    func `what cannot be done is 405`(method: String, target: String) throws {
        let answer = try ask(method, target, "{}")
        #expect((answer.status, errorCode(answer)) == (405, "method_not_allowed"))
        #expect(world.keys.published(at: world.clock.wall).count == 2)
    }

    // MARK: - Keys

    @Test func `keys are listed with what they do and when`() throws {
        let (first, second) = (
            world.keys.published(at: world.clock.wall)[0].kid, world.keys.published(at: world.clock.wall)[1].kid
        )
        var keys = try ask("GET", "/keys").json["keys"].elements
        #expect(keys.map { $0["kid"].text } == [first, second])
        #expect(keys.map { $0["state"].text } == ["signing", "next"])
        #expect(keys[0]["activates"].text == "2027-01-15T08:00:00.000Z")
        #expect(keys[1]["activates"] == .null)
        #expect(keys[0]["retires"] == .null)
        let rotated = try ask("POST", "/keys/rotate", #"{"overlap":"10m"}"#)
        #expect(rotated.status == 200)
        #expect(rotated.json["kid"].text == second)
        #expect(rotated.json["previous"].text == first)
        #expect(rotated.json["activates"].text == "2027-01-15T08:10:00.000Z")
        keys = try ask("GET", "/keys").json["keys"].elements
        #expect(keys.map { $0["state"].text } == ["signing", "next", "next"])
        world.clock.advance(600)
        keys = try ask("GET", "/keys").json["keys"].elements
        #expect(keys.first?["kid"].text == second)
        #expect(keys.map { $0["state"].text }.sorted { ($0 ?? "") < ($1 ?? "") } == ["next", "retiring", "signing"])
    }

    @Test(arguments: ["", "{}", #"{"reason":"yearly"}"#]) func `a rotation has a usual overlap`(body: String) throws {
        #expect(try ask("POST", "/keys/rotate", body).json["activates"].text == "2027-01-15T08:10:00.000Z")
    }

    @Test(arguments: [
        "x", "[]", "null", "7", #"{"overlap":600}"#, #"{"overlap":null}"#, #"{"overlap":""}"#, #"{"overlap":"soon"}"#,
        #"{"overlap":"-1s"}"#, #"{"overlap":"1s","overlap":"2s"}"#, #"{"overlap":"99999999999999999999s"}"#, "{",
    ])
    func `a rotation that was not understood does not happen`(body: String) throws {
        let before = world.keys.published(at: world.clock.wall).map(\.kid)
        let answer = try ask("POST", "/keys/rotate", body)
        #expect((answer.status, errorCode(answer)) == (400, "bad_request"))
        #expect(world.keys.published(at: world.clock.wall).map(\.kid) == before)
    }

    @Test func `an overlap of nothing signs with the next key at once`() throws {
        let next = world.keys.published(at: world.clock.wall)[1].kid
        // No two keys begin in one second.
        world.clock.advance(1)
        #expect(try ask("POST", "/keys/rotate", #"{"overlap":"0s"}"#).json["kid"].text == next)
        #expect(world.keys.current(at: world.clock.wall)?.kid == next)
    }

    // MARK: - Devices and events

    @Test func `a device is shown with what is known of it, without its key`() throws {
        let phone = try Phone()
        let hid = try world.hid(world.attest(phone, claims: #"{"level":"tee","locked":false}"#))
        let device = try ask("GET", "/devices/\(hid)").json
        #expect(device["hid"].text == hid)
        #expect(device["app_id"].text == "demo-app")
        #expect(device["device_id"].text == "phone-1")
        #expect((device["platform"].text, device["level"].text) == ("test", "tee"))
        #expect((device["environment"].text, device["tier"].text) == ("test", "test"))
        #expect(device["blocked"].text == "bootloader_unlocked")
        #expect(device["registered"].text == "2027-01-15T08:00:00.000Z")
        #expect(device["retired"] == .null)
        #expect(JSONValue(device["facts"].text ?? "")?["attested"].number == Double(ManualClock.start))
        #expect(try world.attest(Phone()).status == 200)
        #expect(try ask("GET", "/devices/\(hid)").json["retired"].text == "2027-01-15T08:00:00.000Z")
        #expect(try ask("GET", "/devices/unknown").status == 404)
    }

    @Test func `events are listed, the last first, of all devices or one`() throws {
        let hid = try world.hid(world.attest(Phone()))
        #expect(try world.attest(Phone(deviceID: "phone-2"), claims: "{}").status == 403)
        let all = try ask("GET", "/events").json["events"].elements
        #expect(all.map { $0["kind"].text } == ["attestation_rejected", "attested"])
        #expect(all[0]["hid"] == .null)
        #expect(all[0]["reason"].text == "software_attestation")
        #expect(all[0]["device_id"].text == "phone-2")
        #expect(all[0]["request_id"].text?.utf8.count == 32)
        #expect(try ask("GET", "/events?hid=\(hid)").json["events"].elements.map { $0["kind"].text } == ["attested"])
        #expect(try ask("GET", "/events?limit=1").json["events"].elements.count == 1)
        #expect(try ask("GET", "/events?hid=none").json["events"].elements.isEmpty)
    }

    @Test(arguments: ["0", "-1", "1001", "x", "", "99999999999999999999", "1.5"])
    func `a limit that is none is refused`(limit: String) throws {
        let answer = try ask("GET", "/events?limit=\(limit)")
        #expect((answer.status, errorCode(answer)) == (400, "bad_request"))
    }

    // MARK: - Denials

    @Test func `a denial takes effect, is listed, and ends when it is lifted`() throws {
        let phone = try Phone()
        let hid = try world.hid(world.attest(phone))
        let denied = try ask("POST", "/denylist", #"{"hid":"\#(hid)","for":"1h","reason":"stolen","by":"eve"}"#)
        #expect(denied.status == 200)
        #expect(denied.json["until"].text == "2027-01-15T09:00:00.000Z")
        #expect((denied.json["reason"].text, denied.json["by"].text) == ("stolen", "eve"))
        #expect(try world.token(world.prove(phone)).isBlocked)
        let listed = try ask("GET", "/denylist").json["denylist"].elements
        #expect(listed.map { $0["hid"].text } == [hid])
        #expect(try ask("DELETE", "/denylist/\(hid)", #"{"reason":"found"}"#).status == 200)
        #expect(try !world.token(world.prove(phone)).isBlocked)
        #expect(try ask("GET", "/denylist").json["denylist"].elements.isEmpty)
        let history = try ask("GET", "/denylist?history=true").json["denylist"].elements
        #expect(history.first?["lifted"].text == "2027-01-15T08:00:00.000Z")
        #expect(try ask("DELETE", "/denylist/\(hid)", #"{"reason":"again"}"#).status == 404)
        let kinds = try ask("GET", "/events?hid=\(hid)").json["events"].elements.map { $0["kind"].text }
        #expect(kinds == ["allowed", "denied", "attested"])
        #expect(world.logged("device.denied").count == 1)
        #expect(world.log.lines.allSatisfy { !$0.contains(hid) })
    }

    @Test func `a denial for ever has no end, one for a time has`() throws {
        let phone = try Phone()
        let hid = try world.hid(world.attest(phone))
        let forever = try ask("POST", "/denylist", #"{"hid":"\#(hid)","for":"forever","reason":"r"}"#)
        #expect(forever.json["until"] == .null)
        #expect(forever.json["by"].text == "operator")
        world.clock.advance(1_000_000_000)
        #expect(try world.token(world.prove(phone)).isBlocked)
        #expect(try ask("POST", "/denylist", #"{"hid":"\#(hid)","for":"10s","reason":"r"}"#).status == 200)
        world.clock.advance(10)
        #expect(try !world.token(world.prove(phone)).isBlocked)
        #expect(try ask("DELETE", "/denylist/\(hid)?reason=over").status == 404)
    }

    @Test(arguments: [
        "", "x", "[]", "{}", #"{"for":"1h","reason":"r"}"#, #"{"hid":"HID","reason":"r"}"#,
        #"{"hid":"HID","for":"1h"}"#,
        #"{"hid":"HID","for":"1h","reason":""}"#, #"{"hid":"HID","for":"ever","reason":"r"}"#,
        #"{"hid":"HID","for":3600,"reason":"r"}"#, #"{"hid":7,"for":"1h","reason":"r"}"#,
        #"{"hid":"HID","for":"1h","reason":7}"#, #"{"hid":"HID","hid":"HID","for":"1h","reason":"r"}"#,
    ])
    func `a denial that was not understood denies nobody`(body: String) throws {
        let hid = try world.hid(world.attest(Phone()))
        let answer = try ask("POST", "/denylist", body.replacing("HID", with: hid))
        #expect((answer.status, errorCode(answer)) == (400, "bad_request"))
        #expect(world.store.calls(.deny) == 0)
    }

    @Test func `nobody unknown is denied, and nothing is lifted without a reason`() throws {
        #expect(try ask("POST", "/denylist", #"{"hid":"none","for":"1h","reason":"r"}"#).status == 404)
        for body in ["", "{}", #"{"reason":""}"#, "x"] {
            #expect(try ask("DELETE", "/denylist/none", body).status == 400)
        }
        #expect(world.store.calls(.allow) == 0)
    }

    @Test func `a carried-over denial never shortens one that stands`() throws {
        let (old, new) = (try Phone(), try Phone())
        let newHID = try world.hid(world.attest(new))
        let oldHID = try world.hid(world.attest(old))
        #expect(try ask("POST", "/denylist", #"{"hid":"\#(newHID)","for":"forever","reason":"a"}"#).status == 200)
        #expect(try ask("POST", "/denylist", #"{"hid":"\#(oldHID)","for":"1m","reason":"b"}"#).status == 200)
        #expect(try world.token(world.attest(new)).isBlocked)
        world.clock.advance(61)
        #expect(try world.token(world.prove(new)).isBlocked)
    }

    // MARK: - Faults

    @Test func `a store that fails is 503, and readiness says why`() throws {
        let hid = try world.hid(world.attest(Phone()))
        world.store.fail(.device, .events, .denials, .deny, .allow)
        let calls = [
            try ask("GET", "/devices/\(hid)"), try ask("GET", "/events"), try ask("GET", "/denylist"),
            try ask("POST", "/denylist", #"{"hid":"\#(hid)","for":"1h","reason":"r"}"#),
            try ask("DELETE", "/denylist/\(hid)?reason=r"),
        ]
        for answer in calls { #expect((answer.status, errorCode(answer)) == (503, "unavailable")) }
        world.store.fail(.deny)
        #expect(try ask("POST", "/denylist", #"{"hid":"\#(hid)","for":"1h","reason":"r"}"#).status == 503)
        #expect(resources.readiness.isReady)
        world.store.fail(.probe)
        world.store.probe { [health] in health.note($0) }
        #expect(resources.readiness == Readiness(isReady: false, detail: "store: the disk is on fire"))
        world.store.fail()
        world.store.probe { [health] in health.note($0) }
        #expect(resources.readiness.isReady)
    }
}
