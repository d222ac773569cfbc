// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// How a device comes back.
@Suite(.timeLimit(.minutes(10))) struct KeyProofTests {
    private let world: IssuerWorld
    private let phone: Phone

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
        #expect(try world.attest(phone).status == 200)
    }

    private func prove(_ signature: String, _ challenge: GivenChallenge) throws -> String {
        try world.verify(phone.keyProof(challenge, signature: signature)).code
    }

    /// The order of the group minus s: the other signature that verifies as well.
    private func mirrored(_ raw: [UInt8]) -> [UInt8] {
        let order = Vectors.hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        var borrow = 0
        var result = raw
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(raw[32 + index]) - borrow
            borrow = difference < 0 ? 1 : 0
            result[32 + index] = UInt8((difference + 256) % 256)
        }
        return result
    }

    @Test(arguments: ["DER base64", "DER base64url", "raw base64", "raw base64url", "high or low s"])
    func `every form of a right signature is taken`(form: String) throws {
        let challenge = try world.challenge(phone)
        let raw = try phone.key.sign(digest: SHA256.digest(phone.keyProofStatement(challenge)))
        let der = try #require(ECDSASignature.encodeDER(raw))
        let signature =
            switch form {
            case "DER base64": TestDevice.base64(der)
            case "DER base64url": TestDevice.base64URL(der)
            case "raw base64": TestDevice.base64(raw)
            case "raw base64url": TestDevice.base64URL(raw)
            default: TestDevice.base64(mirrored(raw))
            }
        #expect(try prove(signature, challenge) == "ok")
        #expect(try world.metric("hisd_key_proofs_total{result=\"accepted\"}") == 1)
    }

    @Test(arguments: ["another key", "zero r", "the order", "a tail", "v2", "no base64", "63 octets", "blank"])
    func `a wrong signature is refused`(form: String) throws {
        let challenge = try world.challenge(phone)
        let raw = try phone.key.sign(digest: SHA256.digest(phone.keyProofStatement(challenge)))
        let order = Vectors.hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let signature: String
        switch form {
        case "another key":
            let digest = SHA256.digest(phone.keyProofStatement(challenge))
            signature = TestDevice.base64(try P256PrivateKey().signDER(digest: digest))
        case "zero r": signature = TestDevice.base64([UInt8](repeating: 0, count: 32) + raw[32...])
        case "the order": signature = TestDevice.base64(raw[..<32] + order)
        case "a tail": signature = TestDevice.base64(try #require(ECDSASignature.encodeDER(raw)) + [0])
        case "v2": signature = "v2." + TestDevice.base64URL(raw)
        case "no base64": signature = TestDevice.base64(raw).dropLast() + "*"
        case "63 octets": signature = TestDevice.base64(Array(raw.dropLast()))
        default: signature = " "
        }
        #expect(try prove(signature, challenge) == "key_proof_rejected")
        #expect(try world.metric("hisd_key_proofs_total{result=\"rejected\"}") == 1)
        #expect(try world.store.inner.eventsNow().first?.kind == "key_proof_rejected")
        #expect(try world.prove(phone).code == "ok")
    }

    @Test(arguments: ["app_id", "device_id", "nonce", "no prefix", "body", "test attestation"])
    func `the statement covers app, device and nonce, and nothing else that the key signs passes for it`(
        part: String
    ) throws {
        let challenge = try world.challenge(phone)
        var statement = phone.keyProofStatement(challenge)
        switch part {
        case "app_id": statement = Array("hid-key-proof-v1\nother-app\nphone-1\n\(challenge.nonce)".utf8)
        case "device_id": statement = Array("hid-key-proof-v1\ndemo-app\nphone-2\n\(challenge.nonce)".utf8)
        case "nonce": statement = Array("hid-key-proof-v1\ndemo-app\nphone-1\n\(another(challenge.nonce))".utf8)
        case "no prefix": statement = Array("demo-app\nphone-1\n\(challenge.nonce)".utf8)
        case "body": statement = Array(#"{"pay":"all of it"}"#.utf8)
        default: statement = Array("hid-test-attestation-v1\ndemo-app\nphone-1\n\(challenge.nonce)".utf8)
        }
        let signature = try phone.key.signDER(digest: SHA256.digest(statement))
        #expect(try prove(TestDevice.base64(signature), challenge) == "key_proof_rejected")
    }

    /// The same nonce but for its first character.
    private func another(_ nonce: String) -> String {
        (nonce.first == "A" ? "B" : "A") + nonce.dropFirst()
    }

    @Test func `a device that never attested must attest`() throws {
        let stranger = try Phone(deviceID: "phone-2")
        let answer = try world.prove(stranger)
        #expect((answer.status, answer.code) == (409, "key_unknown"))
        #expect(try world.metric("hisd_key_proofs_total{result=\"unknown\"}") == 1)
    }

    @Test func `tokens of one key differ in their identifiers`() throws {
        let tokens = try (0..<20).map { _ in try world.token(world.prove(phone)).tokenID }
        #expect(Set(tokens).count == 20)
    }
}

/// Devices that are known and not wanted.
@Suite(.timeLimit(.minutes(10))) struct BlockedDeviceTests {
    private let world: IssuerWorld
    private let phone: Phone
    private static let unlocked = #"{"level":"tee","locked":false}"#

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
    }

    private func deny(_ hid: String, until: Int64? = nil) throws {
        try world.store.inner.denyNow(
            Denial(hid: hid, until: until, reason: "stolen", by: "test", created: world.clock.wall))
    }

    @Test func `a block ends with an attestation that is in order`() throws {
        let first = try world.attest(phone, claims: Self.unlocked)
        #expect(try world.token(first).isBlocked)
        let second = try world.attest(phone)
        #expect(try !world.token(second).isBlocked)
        #expect(try world.hid(first) == world.hid(second))
        #expect(try !world.token(world.prove(phone)).isBlocked)
    }

    @Test func `a block by policy is judged anew after a day`() throws {
        #expect(try world.token(world.attest(phone, claims: Self.unlocked)).isBlocked)
        world.clock.advance(86_399)
        #expect(try world.token(world.prove(phone)).isBlocked)
        world.clock.advance(1)
        #expect(try world.prove(phone).code == "key_unknown")
        #expect(try world.token(world.attest(phone, claims: Self.unlocked)).isBlocked)
        #expect(try world.token(world.prove(phone)).isBlocked, "judged a moment ago")
        world.clock.advance(86_400)
        #expect(try world.prove(phone).code == "key_unknown")
        #expect(try !world.token(world.attest(phone)).isBlocked)
        world.clock.advance(200_000)
        #expect(try !world.token(world.prove(phone)).isBlocked)
    }

    @Test func `a revoked device stays blocked`() throws {
        #expect(try world.token(world.attest(phone, claims: #"{"level":"tee","revoked":true}"#)).isBlocked)
        world.clock.advance(10 * 86_400)
        #expect(try world.token(world.prove(phone)).isBlocked)
    }

    @Test func `a denied device gets blocked tokens until the denial is over`() throws {
        let hid = try world.hid(world.attest(phone))
        try deny(hid, until: world.clock.wall + 100)
        #expect(try world.token(world.prove(phone)).isBlocked)
        #expect(try world.token(world.attest(phone)).isBlocked)
        world.clock.advance(99)
        #expect(try world.token(world.prove(phone)).isBlocked)
        world.clock.advance(1)
        #expect(try !world.token(world.prove(phone)).isBlocked)
    }

    @Test func `a denial goes over to the next keys of the device, and not to its neighbours`() throws {
        try deny(world.hid(world.attest(phone)))
        for _ in 0..<3 {
            let renewed = try Phone()
            #expect(try world.token(world.attest(renewed)).isBlocked)
            #expect(try world.token(world.prove(renewed)).isBlocked)
        }
        #expect(try world.store.inner.denialsNow(at: world.clock.wall).count == 4)
        #expect(try !world.token(world.attest(Phone(deviceID: "phone-2"))).isBlocked)
        #expect(try world.store.inner.denialsNow(at: world.clock.wall).allSatisfy { $0.reason == "stolen" })
    }

    @Test func `a denied key stays denied under another device_id`() throws {
        try deny(world.hid(world.attest(phone)))
        var moved = phone
        moved.deviceID = "phone-2"
        #expect(try world.token(world.attest(moved)).isBlocked)
        #expect(try world.token(world.prove(moved)).isBlocked)
    }

    @Test func `when a denial cannot be carried over no new key is registered`() throws {
        try deny(world.hid(world.attest(phone)))
        world.store.fail(.deny)
        let renewed = try Phone()
        #expect(try world.attest(renewed).code == "unavailable")
        world.store.fail()
        #expect(try world.prove(renewed).code == "key_proof_rejected")
        #expect(try world.token(world.attest(renewed)).isBlocked)
        #expect(try world.token(world.prove(renewed)).isBlocked)
    }
}
