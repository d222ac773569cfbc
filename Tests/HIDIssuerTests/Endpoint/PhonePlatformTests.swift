// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDStore
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// The platforms of real phones, from their evidence to the token: the verifiers themselves have tests of their own.
@Suite(.timeLimit(.minutes(10))) struct PhonePlatformTests {
    private let world: IssuerWorld

    init() throws {
        world = try IssuerWorld()
    }

    private func text(_ octets: [UInt8]?) -> String? { octets.map { String(decoding: $0, as: UTF8.self) } }

    /// The outcome as section 2 of the protocol has it: `human`, `blocked` or the code of the error.
    private func outcome(_ answer: IssuerAnswer) throws -> String {
        guard answer.status == 200 else { return answer.code }
        return try world.token(answer).isBlocked ? "blocked" : "human"
    }

    // MARK: - Android

    private func attest(_ phone: Phone, _ change: (inout AndroidTestChain) -> Void = { _ in }) throws -> IssuerAnswer {
        try world.verify(phone.androidAttestation(world.challenge(phone), change))
    }

    @Test func `an Android phone attests and returns`() throws {
        let phone = try Phone(Phone.android)
        let answer = try attest(phone)
        let token = try world.token(answer)
        #expect(token.verdict == .human)
        #expect(text(token.platform) == "android")
        #expect(text(token.level) == "tee")
        #expect(text(token.environment) == "production")
        #expect(token.deviceKey == phone.key.publicKey.point)
        #expect(try world.hid(world.prove(phone)) == world.hid(answer))
        let record = try #require(try world.store.inner.deviceNow(world.hid(answer)))
        #expect(record.tier == "tee-factory")
        #expect(record.serials.contains("abcdef012"))
        #expect(record.batchID?.utf8.count == 64)
        #expect(record.facts.contains("os_version=160000"))
        let strong = try Phone(Phone.android, deviceID: "phone-2")
        let challenge = try world.challenge(strong)
        var chain = try AndroidTestChain(level: "StrongBox")
        chain.leaf.publicKey = strong.publicKey
        chain.description.challenge = DERWriter.octetString(challenge.nonceOctets)
        let second = try world.token(world.verify(strong.androidAttestation(challenge, chain: chain.signed())))
        #expect(text(second.level) == "strongbox")
    }

    private static let androidRows:
        [(name: String, outcome: String, change: @Sendable (inout AndroidTestChain) -> Void)] = [
            ("unlocked", "blocked", { $0.description.set(704, KeyDescriptionWriter.root(locked: [1, 1, 0])) }),
            ("self-signed", "blocked", { $0.description.set(704, KeyDescriptionWriter.root(state: 1)) }),
            ("unverified", "blocked", { $0.description.set(704, KeyDescriptionWriter.root(state: 2)) }),
            ("failed", "blocked", { $0.description.set(704, KeyDescriptionWriter.root(state: 3)) }),
            (
                "wrong package", "blocked",
                { setApplication(&$0, KeyDescriptionWriter.application(packages: ["com.evil"])) }
            ),
            (
                "wrong signer", "blocked",
                {
                    setApplication(&$0, KeyDescriptionWriter.application(digests: [[UInt8](repeating: 1, count: 32)]))
                }
            ),
            ("software", "attestation_rejected", { $0.description.setLevels(0) }),
            (
                "wrong nonce", "attestation_rejected",
                {
                    $0.description.challenge = DERWriter.octetString([UInt8](repeating: 9, count: 32))
                }
            ),
            ("imported", "attestation_rejected", { $0.description.set(702, DERWriter.integer(2)) }),
            (
                "key that encrypts", "attestation_rejected",
                { $0.description.set(1, DERWriter.set(DERWriter.integer(0))) }
            ),
            ("signed by another", "attestation_rejected", { $0.leafSigner = $0.keys.attest }),
            (
                "expired remote certificate", "attestation_rejected",
                {
                    if let remote = try? AndroidTestChain(remote: "TEE") {
                        let (key, description) = ($0.leaf.publicKey, $0.description)
                        $0 = remote
                        ($0.leaf.publicKey, $0.description) = (key, description)
                    }
                }
            ),
        ]

    private static func setApplication(_ chain: inout AndroidTestChain, _ value: [UInt8]) {
        chain.description.software = [(709, DERWriter.octetString(value))]
    }

    @Test(arguments: androidRows.map(\.name))
    func `every row of the table of outcomes, Android`(name: String) throws {
        let row = try #require(Self.androidRows.first { $0.name == name })
        let phone = try Phone(Phone.android)
        let answer = try attest(phone, row.change)
        #expect(try outcome(answer) == row.outcome)
        #expect(try outcome(world.prove(phone)) == (row.outcome == "blocked" ? "blocked" : "key_unknown"))
    }

    @Test func `refused Android attestations look alike`() throws {
        let phone = try Phone(Phone.android)
        var answers: Set<String> = []
        for row in Self.androidRows where row.outcome == "attestation_rejected" {
            answers.insert(try attest(phone, row.change).anonymous)
        }
        for chain in [[], [[]], [[1, 2, 3]], [[UInt8]](repeating: [0x30, 0], count: 9)] as [[[UInt8]]] {
            answers.insert(try world.verify(phone.androidAttestation(world.challenge(phone), chain: chain)).anonymous)
        }
        #expect(answers.count == 1, "\(answers)")
    }

    @Test func `a level that the app does not take, and an allowed boot key`() throws {
        let strict = try IssuerWorld { configuration in
            configuration.apps["demo-app"]?.android?.securityLevels = [.strongbox]
            configuration.apps["demo-app"]?.android?.verifiedBootKeys = [[UInt8](repeating: 0x5A, count: 32)]
        }
        let phone = try Phone(Phone.android)
        #expect(try strict.token(strict.attest(phone)).isBlocked)
        let open = try IssuerWorld { configuration in
            configuration.apps["demo-app"]?.android?.verifiedBootKeys = [[UInt8](repeating: 0x5A, count: 32)]
        }
        let answer = try open.verify(
            phone.androidAttestation(open.challenge(phone)) {
                $0.description.set(704, KeyDescriptionWriter.root(state: 1))
            })
        #expect(try !open.token(answer).isBlocked)
    }

    @Test func `ATTEST_KEY chains, foreign roots and keys for more than signing are what the configuration says`()
        throws
    {
        for isAllowed in [false, true] {
            let world = try IssuerWorld { $0.attestation.allowsAttestKey = isAllowed }
            let phone = try Phone(Phone.android)
            let challenge = try world.challenge(phone)
            var chain = try AndroidTestChain()
            chain.leaf.publicKey = phone.publicKey
            chain.description.challenge = DERWriter.octetString(challenge.nonceOctets)
            let answer = try world.verify(
                phone.androidAttestation(challenge, chain: chain.signedWithAttestKey()))
            #expect(answer.code == (isAllowed ? "ok" : "attestation_rejected"))
        }
        for isStrict in [false, true] {
            let world = try IssuerWorld { $0.attestation.sdkKeysOnly = isStrict }
            let phone = try Phone(Phone.android)
            let answer = try world.verify(
                phone.androidAttestation(world.challenge(phone)) {
                    $0.description.set(1, DERWriter.set(DERWriter.integer(2), DERWriter.integer(3)))
                })
            #expect(answer.code == (isStrict ? "attestation_rejected" : "ok"))
        }
        let world = try IssuerWorld { $0.attestation.androidRoots.extra = [] }
        #expect(try world.attest(Phone(Phone.android)).code == "attestation_rejected")
    }

    // MARK: - iOS

    private func attestApple(
        _ phone: Phone, key: TestSigningKey? = nil, _ change: (inout TestAppAttest.Shape) -> Void
    ) throws -> IssuerAnswer {
        let challenge = try world.challenge(phone)
        return try world.verify(
            phone.appleAttestation(challenge, by: world.apple, key: key ?? TestSigningKey(), change))
    }

    @Test func `an iPhone attests and returns`() throws {
        let phone = try Phone(Phone.ios)
        let answer = try attestApple(phone) { _ in }
        let token = try world.token(answer)
        #expect(token.verdict == .human)
        #expect(text(token.platform) == "ios")
        #expect(text(token.level) == "secure_enclave")
        #expect(text(token.environment) == "production")
        #expect(token.deviceKey == phone.key.publicKey.point)
        #expect(try world.hid(world.prove(phone)) == world.hid(answer))
        let record = try #require(try world.store.inner.deviceNow(world.hid(answer)))
        #expect(record.keyID?.count == 32)
        #expect(record.assertionKey?.count == 65)
    }

    private static let appleRows:
        [(name: String, outcome: String, change: @Sendable (inout TestAppAttest.Shape) -> Void)] = [
            ("wrong app", "blocked", { $0.appID = "ABCDE12345.com.evil" }),
            ("wrong environment", "blocked", { $0.aaguid = Array("appattestdevelop".utf8) }),
            ("wrong nonce", "attestation_rejected", { $0.clientDataHash = [UInt8](repeating: 1, count: 32) }),
            ("used key", "attestation_rejected", { $0.counter = 1 }),
            ("other key identifier", "attestation_rejected", { $0.keyID = [UInt8](repeating: 1, count: 32) }),
            ("other format", "attestation_rejected", { $0.format = "packed" }),
        ]

    @Test(arguments: appleRows.map(\.name))
    func `every row of the table of outcomes, iOS`(name: String) throws {
        let row = try #require(Self.appleRows.first { $0.name == name })
        let phone = try Phone(Phone.ios)
        #expect(try outcome(attestApple(phone, row.change)) == row.outcome)
        #expect(try outcome(world.prove(phone)) == (row.outcome == "blocked" ? "blocked" : "key_unknown"))
    }

    @Test func `an App Attest key is used once, whoever comes with it, and the refusal looks like any other`() throws {
        let key = try TestSigningKey()
        let phone = try Phone(Phone.ios)
        #expect(try attestApple(phone, key: key) { _ in }.code == "ok")
        let again = try attestApple(phone, key: key) { _ in }
        #expect(again.code == "attestation_rejected")
        let other = try attestApple(Phone(Phone.ios, deviceID: "phone-2"), key: key) { _ in }
        #expect(other.code == "attestation_rejected")
        let plain = try attestApple(phone) { $0.counter = 1 }
        #expect(again.anonymous == plain.anonymous)
        #expect(try world.prove(phone).code == "ok")
        #expect(try world.metric("hisd_attestation_reasons_total{reason=\"key_reused\"}") == 2)
        #expect(try world.store.inner.eventsNow().filter { $0.reason == "key_reused" }.count == 2)
    }

    @Test func `the Secure Enclave key is bound to the attestation`() throws {
        let phone = try Phone(Phone.ios)
        let challenge = try world.challenge(phone)
        let request = try phone.appleAttestation(challenge, by: world.apple, key: TestSigningKey())
        let other = try Phone(Phone.ios)
        let answer = try world.verify(request.with("public_key", "\"\(TestDevice.base64(other.publicKey))\""))
        #expect(answer.code == "attestation_rejected")
    }

    @Test func `the same key attested with a new App Attest key keeps its hid`() throws {
        let phone = try Phone(Phone.ios)
        let first = try world.hid(attestApple(phone) { _ in })
        #expect(try world.hid(attestApple(phone) { _ in }) == first)
    }
}
