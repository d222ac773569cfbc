// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDService
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// Attestations of the platform `test`, which can play every outcome, and what holds for all platforms.
@Suite(.timeLimit(.minutes(10))) struct AttestationFlowTests {
    private let world: IssuerWorld
    private let phone: Phone

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
    }

    private func text(_ octets: [UInt8]?) -> String? { octets.map { String(decoding: $0, as: UTF8.self) } }

    @Test func `a token says what was proven, and a verifier takes it`() throws {
        let answer = try world.attest(phone)
        #expect(answer.json.names == ["status", "token", "token_type", "expires_in", "hid"])
        #expect(answer.json["status"].text == "ok")
        #expect(answer.json["token_type"].text == "hid+jwt")
        #expect(answer.json["expires_in"].number == 30)
        #expect(answer.field("Cache-Control") == "no-store")
        let token = try world.token(answer)
        #expect(token.verdict == .human)
        #expect(!token.isBlocked)
        #expect(!token.isMonitoring)
        #expect(token.issuedAt == ManualClock.start)
        #expect(token.expiresAt == ManualClock.start + 30)
        #expect(token.deviceKey == phone.key.publicKey.point)
        #expect(text(token.hid) == answer.json["hid"].text)
        #expect(token.hid.count == 32)
        #expect(text(token.platform) == "test")
        #expect(text(token.level) == "tee")
        #expect(text(token.environment) == "test")
        #expect(token.tokenID.count == 22)
        #expect(try world.metric("hisd_tokens_total{verdict=\"human\"}") == 1)
    }

    @Test(arguments: ["tee", "strongbox", "secure_enclave"])
    func `every hardware level is as good`(level: String) throws {
        let token = try world.token(world.attest(phone, claims: "{\"level\":\"\(level)\"}"))
        #expect(token.verdict == .human)
        #expect(text(token.level) == level)
    }

    @Test(arguments: [
        (#"{"level":"tee","locked":false}"#, "bootloader_unlocked"),
        (#"{"boot":"self_signed","level":"tee"}"#, "boot_self_signed"),
        (#"{"boot":"unverified","level":"tee"}"#, "boot_unverified"),
        (#"{"boot":"failed","level":"tee"}"#, "boot_failed"), (#"{"level":"tee","revoked":true}"#, "revoked"),
    ])
    func `proven hardware that is not wanted gets a token that says blocked, with a registered key`(
        claims: String, reason: String
    ) throws {
        let answer = try world.attest(phone, claims: claims)
        let token = try world.token(answer)
        #expect(token.isBlocked)
        #expect(token.verdict == .blocked)
        #expect(token.deviceKey == phone.key.publicKey.point)
        let record = try #require(try world.store.inner.deviceNow(world.hid(answer)))
        #expect(record.blocked == reason)
        #expect(!answer.text.contains(reason))
        #expect(try world.metric("hisd_tokens_total{verdict=\"blocked\"}") == 1)
        #expect(try world.metric("hisd_attestation_reasons_total{reason=\"\(reason)\"}") == 1)
        #expect(try world.token(world.prove(phone)).isBlocked)
    }

    @Test(arguments: [#"{}"#, #"{"level":"software"}"#, #"{"level":"TEE"}"#, #"{"level":"moon"}"#, #"{"locked":true}"#])
    func `no hardware level, no token and no registration`(claims: String) throws {
        let answer = try world.attest(phone, claims: claims)
        #expect((answer.status, answer.code) == (403, "attestation_rejected"))
        #expect(world.store.calls(.register) == 0)
        #expect(try world.prove(phone).code == "key_unknown")
    }

    @Test(arguments: ["app_id", "device_id", "nonce", "key", "claims", "prefix", "stranger"])
    func `the authority's signature covers every line`(part: String) throws {
        let challenge = try world.challenge(phone)
        var signer = phone
        var signed = challenge
        switch part {
        case "app_id": signer.appID = "other-app"
        case "device_id": signer.deviceID = "phone-2"
        case "nonce": signed.nonce = (challenge.nonce.first == "A" ? "B" : "A") + challenge.nonce.dropFirst()
        case "key": signer = try Phone()
        default: break
        }
        let claims = part == "claims" ? #"{"level":"strongbox"}"# : #"{"level":"tee"}"#
        let authority = part == "stranger" ? try P256PrivateKey() : world.authority
        var signature = try signer.testAttestation(signed, by: authority, claims: claims)["signature"]
        if part == "prefix" {
            let raw = try world.authority.sign(digest: SHA256.digest(phone.keyProofStatement(challenge)))
            signature = "\"\(TestDevice.base64(raw))\""
        }
        let request = try phone.testAttestation(challenge, by: world.authority).with("signature", signature)
        #expect(try world.verify(request).code == "attestation_rejected")
        #expect(world.store.calls(.register) == 0)
    }

    @Test(arguments: ["compressed", "other curve", "not on the curve", "with a tail", "a point alone"])
    func `a key that is no P-256 is refused`(form: String) throws {
        let challenge = try world.challenge(phone)
        var octets = phone.publicKey
        switch form {
        case "compressed": octets = Array(octets.prefix(26)) + [2] + phone.key.publicKey.x
        case "other curve": octets = try TestSigningKey(.p384).subjectPublicKeyInfo
        case "not on the curve": octets[90] ^= 1
        case "with a tail": octets.append(0)
        default: octets = phone.key.publicKey.point
        }
        let lines = [
            "hid-test-attestation-v1", phone.appID, phone.deviceID, challenge.nonce,
            TestDevice.base64URL(SHA256.digest(octets)),
            TestDevice.base64URL(SHA256.digest(Array("{\"level\":\"tee\"}".utf8))),
        ]
        let signature = try world.authority.sign(digest: SHA256.digest(Array(lines.joined(separator: "\n").utf8)))
        let request = try phone.testAttestation(challenge, by: world.authority)
            .with("public_key", "\"\(TestDevice.base64(octets))\"")
            .with("signature", "\"\(TestDevice.base64(signature))\"")
        #expect(try world.verify(request).code == "attestation_rejected")
    }

    // MARK: - Keys and identifiers

    @Test func `a hid is that of the key: the same again, another for another key or app`() throws {
        let first = try world.hid(world.attest(phone))
        #expect(try world.hid(world.attest(phone)) == first)
        #expect(try world.hid(world.prove(phone)) == first)
        var other = phone
        other.appID = "other-app"
        #expect(try world.hid(world.attest(other)) != first)
        #expect(try world.hid(world.attest(Phone(deviceID: "phone-2"))) != first)
        var moved = phone
        moved.deviceID = "phone-3"
        #expect(try world.hid(world.attest(moved)) == first)
    }

    /// Registries hold these names: they must be the same in every version.
    @Test(arguments: [
        ("demo-app", "NkWD3NxpeCGSxOzAwyijHQF38-JxOpTT"), ("other-app", "P35N0hT-tT5oNOJF4oTtlbNZaN0iMuan"),
    ])
    func `a hid is half of a digest over app_id and point`(app: String, hid: String) throws {
        let key = try P256PrivateKey(scalar: [UInt8](repeating: 0, count: 31) + [1])
        #expect(DeviceIdentifier.hid(appID: app, publicKey: key.publicKey.point) == hid)
    }

    @Test func `a new key retires the old one of its device and no other`() throws {
        let first = try world.hid(world.attest(phone))
        let neighbour = try Phone(deviceID: "phone-2")
        #expect(try world.attest(neighbour).status == 200)
        let renewed = try Phone()
        let second = try world.hid(world.attest(renewed))
        #expect(second != first)
        #expect(try world.prove(renewed).code == "ok")
        #expect(try world.prove(phone).code == "key_proof_rejected")
        #expect(try world.prove(neighbour).code == "ok")
        let old = try #require(try world.store.inner.deviceNow(first))
        #expect(old.retired == ManualClock.start)
        #expect(try #require(try world.store.inner.deviceNow(second)).retired == nil)
        #expect(try world.metric("hisd_recoveries_total") == 1)
        let kinds = try world.store.inner.eventsNow().map(\.kind)
        #expect(kinds.filter { $0 == "attested" }.count == 3)
        #expect(kinds.contains("recovered"))
        #expect(kinds.contains("retired"))
    }

    @Test func `a key proof belongs to the platform of its key`() throws {
        #expect(try world.attest(phone).status == 200)
        var other = phone
        other.platform = Phone.android
        #expect(try world.prove(other).code == "key_unknown")
    }

    // MARK: - Answers to refusals

    @Test func `all refused attestations of a platform look alike`() throws {
        var answers: [String] = []
        for change in 0..<5 {
            let challenge = try world.challenge(phone)
            var request = try phone.testAttestation(challenge, by: world.authority)
            switch change {
            case 0: request = try phone.testAttestation(challenge, by: P256PrivateKey())
            case 1:
                request = try phone.testAttestation(challenge, by: world.authority, claims: #"{"level":"software"}"#)
            case 2: request = request.with("signature", "\"!!\"")
            case 3: request = request.with("public_key", "\"AAAA\"")
            default: request = request.with("claims", "{\"level\":\"strongbox\"}")
            }
            let answer = try world.verify(request)
            #expect(answer.status == 403)
            answers.append(answer.anonymous)
        }
        #expect(Set(answers).count == 1, "\(answers)")
        #expect(try world.metric("hisd_errors_total{code=\"attestation_rejected\"}") == 5)
        let events = try world.store.inner.eventsNow()
        #expect(events.filter { $0.kind == "attestation_rejected" && $0.reason != nil }.count == 5)
    }

    @Test func `what is logged names device and reason, and holds neither token nor signature nor the whole hid`()
        throws
    {
        let answer = try world.attest(phone)
        let hid = try world.hid(answer)
        let token = try #require(answer.json["token"].text)
        #expect(try world.attest(phone, claims: #"{"level":"software"}"#).status == 403)
        #expect(try world.prove(Phone()).status == 403)
        let lines = world.logged("attestation")
        #expect(lines.count == 2)
        #expect(lines[0].contains("\"outcome\":\"human\""))
        #expect(lines[1].contains("\"reason\":\"software_attestation\""))
        #expect(world.logged("key_proof.rejected").count == 1)
        for line in world.log.lines {
            #expect(!line.contains(hid))
            #expect(!line.contains(token.split(separator: ".").last ?? ""))
        }
    }
}
