// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

/// Attestation objects made in code under a root of our own.
@Suite struct AppAttestShapeTests {
    private static let nonce = [UInt8](repeating: 0xA5, count: 32)

    private let service: TestAppAttest
    private let key: TestSigningKey
    private let deviceKey: [UInt8]
    private let policy: AppAttestPolicy
    private let shape: TestAppAttest.Shape

    init() throws {
        service = try TestAppAttest()
        key = try TestSigningKey()
        deviceKey = try TestSigningKey().subjectPublicKeyInfo
        policy = AppAttestPolicy(
            nonce: Self.nonce, deviceKey: deviceKey, keyID: SHA256.digest(key.point), appIDs: [TestAppAttest.appID],
            environment: .production, extraRoots: [try service.anchor])
        shape = TestAppAttest.Shape(clientDataHash: SHA256.digest(Self.nonce + deviceKey))
    }

    private func verify(
        _ object: [UInt8], _ policy: AppAttestPolicy? = nil, now: Int64 = TestAppAttest.now
    ) -> AttestationReport {
        AppAttestVerifier().verifyAttestation(object, policy: policy ?? self.policy, now: now)
    }

    /// The report on a shape with one change.
    private func report(_ change: (inout TestAppAttest.Shape) -> Void) throws -> AttestationReport {
        var changed = shape
        change(&changed)
        return verify(try service.object(changed, key: key))
    }

    private func parts() throws -> (leaf: [UInt8], data: [UInt8]) {
        let data = TestAppAttest.authenticatorData(shape, point: key.point)
        return (try service.leaf(shape, key: key, authenticatorData: data), data)
    }

    // MARK: - What passes

    @Test func `an attestation binds the second key of the device`() throws {
        let report = try report { _ in }
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.names(.skipped) == ["validation_category"])
        #expect(report.tier == .secureEnclave)
        let attested = try #require(report.key)
        #expect(attested.subjectPublicKeyInfo == deviceKey)
        #expect(attested.level == .secureEnclave)
        #expect(attested.keyID == SHA256.digest(key.point))
        #expect(attested.assertionKey == key.point)
        #expect(attested.batchID == nil)
        #expect(report.fact("flags") == "40")
        #expect(report.fact("app_id") == TestAppAttest.appID)
        #expect(report.fact("environment") == "production")
    }

    @Test func `with nothing given nothing but the evidence itself is judged`() throws {
        var policy = AppAttestPolicy()
        policy.extraRoots = [try service.anchor]
        let report = verify(try service.object(shape, key: key), policy)
        #expect(report.outcome == .human, "\(report.text)")
        #expect(
            report.names(.skipped)
                == ["nonce", "key_id", "app_id", "environment", "validation_category", "device_key"])
        #expect(report.key?.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
    }

    @Test func `one of several apps is enough, and flags mean nothing`() throws {
        var policy = policy
        policy.appIDs = ["OTHER.app", TestAppAttest.appID]
        #expect(verify(try service.object(shape, key: key), policy).outcome == .human)
        policy.appIDs = []
        #expect(verify(try service.object(shape, key: key), policy).reasons == [.wrongApp])
        for flags in [0x00, 0x01, 0x80, 0xC0, 0xFF] as [UInt8] {
            #expect(try report { $0.flags = flags }.outcome == .human)
        }
    }

    @Test func `coordinates with leading zeros pass`() throws {
        for offset in [1, 33] {
            var key = try TestSigningKey()
            for _ in 0..<20_000 where key.point[offset] != 0 { key = try TestSigningKey() }
            try #require(key.point[offset] == 0)
            var policy = policy
            policy.keyID = SHA256.digest(key.point)
            #expect(verify(try service.object(shape, key: key), policy).outcome == .human)
            // The same coordinate without its zero is another key.
            var short = shape
            let (x, y) = (Array(key.point[1..<33]), Array(key.point[33..<65]))
            short.credentialKey =
                offset == 1
                ? TestAppAttest.coseKey(x: Array(x.dropFirst()), y: y)
                : TestAppAttest.coseKey(x: x, y: Array(y.dropFirst()))
            #expect(verify(try service.object(short, key: key), policy).reasons == [.malformed])
        }
    }

    @Test func `the extensions of iOS 27 are facts and a policy may ask for them`() throws {
        var changed = shape
        changed.extensions = TestAppAttest.systemExtensions(category: 4, bundleVersion: "1.2.3")
        let object = try service.object(changed, key: key)
        #expect(TestAppAttest.authenticatorData(changed, point: key.point).count == 164 + 66)
        var report = verify(object)
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.fact("validation_category") == "4")
        #expect(report.fact("bundle_version") == "1.2.3")
        #expect(report.fact("unknown_extensions") == nil)
        var policy = policy
        policy.validationCategories = [2, 4]
        #expect(verify(object, policy).names(.skipped).isEmpty)
        policy.validationCategories = [2]
        report = verify(object, policy)
        #expect(report.reasons == [.validationCategory])
        #expect(report.outcome == .blocked)
        // Systems before state none.
        #expect(verify(try service.object(shape, key: key), policy).outcome == .human)
    }

    @Test func `unknown extensions are counted`() throws {
        let report = try report {
            $0.extensions =
                CBORValue.map([
                    (.text("apple_later_02"), .array([.map([])])), (.unsigned(7), .text("x")),
                    (.text("apple_validation_category_01"), .bytes([0xFF, 0xFF, 0xFF, 0xFF])),
                ]).encoded
        }
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.fact("unknown_extensions") == "2")
        #expect(report.fact("validation_category") == "4294967295")
    }

    // MARK: - What is refused

    @Test(arguments: [
        ("a0f6", "two items"), ("f6", "null"), ("80", "array"), ("01", "integer"), ("a1", "cut off"),
        ("bfff", "indefinite"),
        ("a1616101ff", "an octet behind"), ("a2616101616102", "a key twice"),
        ("a1781c6170706c655f76616c69646174696f6e5f63617465676f72795f30314301" + "0000", "category of 3 octets"),
        ("a1781c6170706c655f76616c69646174696f6e5f63617465676f72795f303101", "category as integer"),
        ("a1776170706c655f62756e646c655f76657273696f6e5f303101", "version as integer"),
    ])
    func `what follows the key must be one map`(_ hex: String, _ name: String) throws {
        let report = try report { $0.extensions = Vectors.hex(hex) }
        #expect(report.reasons == [.malformed])
        #expect(report.names(.fail) == ["authenticator_data"])
        #expect(report.outcome == .rejected)
    }

    @Test func `a bundle version has at most 255 octets`() throws {
        let text = String(repeating: "9", count: 255)
        let fits = try report { $0.extensions = TestAppAttest.systemExtensions(category: 1, bundleVersion: text) }
        #expect(fits.fact("bundle_version") == text)
        let over = try report { $0.extensions = TestAppAttest.systemExtensions(category: 1, bundleVersion: text + "9") }
        #expect(over.reasons == [.malformed])
    }

    @Test func `a counter that is not zero is refused, also where a sign bit would be`() throws {
        for counter in [1, 255, 0x7FFF_FFFF, 0x8000_0000, .max] as [UInt32] {
            let report = try report { $0.counter = counter }
            #expect(report.reasons == [.counterNotZero])
            #expect(report.checks.contains { $0.result == .fail && $0.detail == "\(counter)" })
        }
    }

    @Test func `environments are told apart`() throws {
        let development = try report { $0.aaguid = Array("appattestdevelop".utf8) }
        #expect(development.reasons == [.wrongEnvironment])
        #expect(development.outcome == .blocked)
        #expect(development.fact("environment") == "development")
        for aaguid in [Array("appattest\0\0\0\0\0\0\u{1}".utf8), [UInt8](repeating: 0, count: 16)] {
            #expect(try report { $0.aaguid = aaguid }.reasons == [.attestationFormat])
        }
    }

    @Test func `another app, key identifier or key is told by its reason`() throws {
        #expect(try report { $0.appID = "ABCDE12345.com.example.other" }.reasons == [.wrongApp])
        #expect(try report { $0.appID = "ABCDE12345.com.example.app " }.outcome == .blocked)
        let other = try TestSigningKey()
        #expect(try report { $0.keyID = SHA256.digest(other.point) }.reasons == [.keyIDMismatch])
        let cose = TestAppAttest.coseKey(x: Array(other.point[1..<33]), y: Array(other.point[33..<65]))
        #expect(try report { $0.credentialKey = cose }.names(.fail) == ["credential_key"])
        var policy = policy
        policy.keyID = SHA256.digest(other.point)
        let report = verify(try service.object(shape, key: key), policy)
        #expect(report.reasons == [.keyIDMismatch])
        #expect(report.outcome == .rejected)
        policy.keyID = []
        #expect(verify(try service.object(shape, key: key), policy).reasons == [.keyIDMismatch])
    }

    @Test func `an attestation for another challenge or another device key is refused`() throws {
        let object = try service.object(shape, key: key)
        var policy = policy
        policy.clientDataHash = AppAttestPolicy.clientDataHash(nonce: [1], deviceKey: deviceKey)
        #expect(verify(object, policy).reasons == [.nonceMismatch])
        policy.clientDataHash = AppAttestPolicy.clientDataHash(nonce: Self.nonce, deviceKey: key.subjectPublicKeyInfo)
        #expect(verify(object, policy).reasons == [.nonceMismatch])
        // The raw rule of Apple's samples: the challenge in the place of its hash.
        policy.clientDataHash = Self.nonce
        #expect(verify(object, policy).reasons == [.nonceMismatch])
        var raw = shape
        raw.clientDataHash = Self.nonce
        #expect(verify(try service.object(raw, key: key), policy).outcome == .human)
        #expect(verify(try service.object(raw, key: key)).reasons == [.nonceMismatch])
    }

    @Test func `a device key must be a P-256 key in its one form`() throws {
        let large = try TestSigningKey(.p384).subjectPublicKeyInfo
        for wrong in [[], [1, 2, 3], large, deviceKey + [0], Array(deviceKey.dropLast())] as [[UInt8]] {
            var policy = policy
            policy.deviceKey = wrong
            policy.clientDataHash = AppAttestPolicy.clientDataHash(nonce: Self.nonce, deviceKey: wrong)
            var bound = shape
            bound.clientDataHash = SHA256.digest(Self.nonce + wrong)
            let report = verify(try service.object(bound, key: key), policy)
            #expect(report.reasons == [.keyNotP256])
            #expect(report.key == nil)
            #expect(report.outcome == .rejected)
        }
    }

    @Test(arguments: [[0, 31], [0, 33], [1, 32], [0, 0], [255, 255]] as [[UInt8]])
    func `a key identifier of another length is refused`(_ length: [UInt8]) throws {
        let report = try report { $0.keyIDLength = length }
        #expect(report.reasons == [.malformed])
        #expect(report.key == nil)
    }

    @Test func `a COSE key of any other form is refused`() throws {
        let (x, y) = (Array(key.point[1..<33]), Array(key.point[33..<65]))
        guard case .map(let right) = TestAppAttest.coseKey(x: x, y: y) else { return }
        for index in right.indices {
            var missing = right
            missing.remove(at: index)
            #expect(try report { $0.credentialKey = .map(missing) }.reasons == [.malformed])
            var twice = right
            twice.append(right[index])
            #expect(try report { $0.credentialKey = .map(twice) }.reasons == [.malformed])
            var wrong = right
            wrong[index].1 = .unsigned(3)
            #expect(try report { $0.credentialKey = .map(wrong) }.reasons == [.malformed])
        }
        #expect(try report { $0.credentialKey = .map(right + [(.unsigned(2), .bytes([1]))]) }.reasons == [.malformed])
        #expect(try report { $0.credentialKey = .map(right.reversed()) }.outcome == .human)
        let long = TestAppAttest.coseKey(x: [0] + x, y: y)
        #expect(try report { $0.credentialKey = long }.reasons == [.malformed])
        #expect(
            try report { $0.credentialKey = .map(right.dropLast() + [(.negative(2), .raw([0xF5]))]) }
                .reasons == [.malformed])
    }

    @Test func `the nonce extension is parsed and not sliced`() throws {
        let (_, data) = try parts()
        let nonce = SHA256.digest(data + shape.clientDataHash)
        let right = DERWriter.explicit(1, DERWriter.octetString(nonce))
        #expect(try report { $0.nonceExtension = DERWriter.sequence(right) }.outcome == .human)
        let wrong: [[UInt8]] = [
            [], nonce, DERWriter.octetString(nonce), DERWriter.sequence(DERWriter.octetString(nonce)),
            DERWriter.sequence(right, right), DERWriter.sequence(right) + [0],
            DERWriter.sequence(right, DERWriter.null),
            DERWriter.sequence(DERWriter.explicit(0, DERWriter.octetString(nonce))),
            DERWriter.sequence(DERWriter.explicit(2, DERWriter.octetString(nonce))),
            DERWriter.sequence(DERWriter.explicit(1, DERWriter.octetString([0] + nonce))),
            DERWriter.sequence(DERWriter.explicit(1, DERWriter.octetString(Array(nonce.dropLast())))),
            DERWriter.sequence(DERWriter.explicit(1, DERWriter.bitString(nonce))),
            DERWriter.sequence(DERWriter.null, right), DERWriter.set(right),
            [0x30, 0x81, 0x24] + right,
        ]
        for value in wrong {
            let report = try report { $0.nonceExtension = value }
            #expect(report.reasons == [.attestationFormat], "\(Hex.octets(value))")
        }
    }

    @Test func `the life of the leaf counts to the second`() throws {
        let object = try service.object(shape, key: key)
        #expect(verify(object, now: shape.notBefore).outcome == .human)
        #expect(verify(object, now: shape.notAfter).outcome == .human)
        #expect(verify(object, now: shape.notBefore - 1).reasons == [.notYetValid])
        #expect(verify(object, now: shape.notAfter + 1).reasons == [.certificateExpired])
        #expect(verify(object, now: shape.notAfter + 1).outcome == .rejected)
    }
}
