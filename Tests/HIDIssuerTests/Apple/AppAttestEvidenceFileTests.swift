// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

@Suite struct AppAttestEvidenceFileTests {
    private static let challenge = Array("challenge".utf8)

    private let service: TestAppAttest
    private let key: TestSigningKey

    init() throws {
        service = try TestAppAttest()
        key = try TestSigningKey()
    }

    private func base64(_ octets: [UInt8]) -> String { "\"\(TestDevice.base64(octets))\"" }

    /// A file of raw JSON values; nil leaves a member out.
    private func file(_ members: [(String, String?)]) -> [UInt8] {
        let texts = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return Array("{\(texts.joined(separator: ","))}".utf8)
    }

    private func attestationMembers(hash: [UInt8]) throws -> [(String, String?)] {
        let object = try service.object(TestAppAttest.Shape(clientDataHash: hash), key: key)
        return [
            ("kind", "\"attestation\""), ("attestationObject", base64(object)),
            ("keyId", base64(SHA256.digest(key.point))), ("teamId", "\"ABCDE12345\""),
            ("bundleId", "\"com.example.app\""), ("environment", "\"production\""),
            ("clientDataUtf8OrB64", "\"challenge\""), ("clientDataHash", "\"sha256(clientData)\""),
        ]
    }

    private func expectations() throws -> AppAttestExpectations {
        var expectations = AppAttestExpectations(now: TestAppAttest.now)
        expectations.extraRoots = [try service.anchor]
        return expectations
    }

    @Test func `the members of a file are its expectations`() throws {
        let members = try attestationMembers(hash: SHA256.digest(Self.challenge))
        let parsed = try AppAttestEvidenceFile.parse(file(members))
        #expect(parsed.kind == .attestation)
        #expect(parsed.appID == TestAppAttest.appID)
        #expect(parsed.environment == .production)
        #expect(parsed.clientData == Self.challenge)
        #expect(parsed.hashRule == .sha256)
        #expect(parsed.keyID == SHA256.digest(key.point))
        #expect(parsed.explain(try expectations()).outcome == .human)
        #expect(parsed.explain(AppAttestExpectations(now: TestAppAttest.now)).reasons == [.untrustedRoot])
    }

    @Test func `what is given wins over what the file says`() throws {
        let members = try attestationMembers(hash: SHA256.digest(Self.challenge))
        let parsed = try AppAttestEvidenceFile.parse(file(members))
        var expectations = try expectations()
        expectations.challenge = [1]
        #expect(parsed.explain(expectations).reasons == [.nonceMismatch])
        expectations.challenge = Self.challenge
        expectations.appID = "X.y"
        #expect(parsed.explain(expectations).reasons == [.wrongApp])
        expectations.appID = TestAppAttest.appID
        expectations.environment = .development
        #expect(parsed.explain(expectations).reasons == [.wrongEnvironment])
        expectations.environment = .production
        #expect(parsed.explain(expectations).outcome == .human)
        var bare = members.filter { ["kind", "attestationObject"].contains($0.0) }
        #expect(
            try AppAttestEvidenceFile.parse(file(bare)).explain(expectations).names(.skipped)
                == ["key_id", "validation_category", "device_key"])
        bare.append(("clientDataUtf8OrB64", "null"))
        let report = try AppAttestEvidenceFile.parse(file(bare)).explain(self.expectations())
        #expect(report.names(.skipped).prefix(4) == ["nonce", "key_id", "app_id", "environment"])
        // A file that says its client data is not known proves nothing; one that does not speak of it leaves it open.
        #expect(report.names(.fail) == ["challenge"])
        #expect(report.reasons == [.nonceMismatch])
    }

    @Test func `client data is text, or base64 behind its prefix, and hashed or not`() throws {
        func outcome(_ data: String, _ rule: String, _ hash: [UInt8]) throws -> AttestationOutcome {
            var members = try attestationMembers(hash: hash)
            members.removeAll { $0.0.hasPrefix("clientData") }
            members += [("clientDataUtf8OrB64", data), ("clientDataHash", rule)]
            return try AppAttestEvidenceFile.parse(file(members)).explain(expectations()).outcome
        }
        let hash = SHA256.digest(Self.challenge)
        #expect(try outcome("\"base64:Y2hhbGxlbmdl\"", "\"sha256(clientData)\"", hash) == .human)
        #expect(try outcome("\"challenge\"", "null", hash) == .human)
        #expect(try outcome("\"challenge\"", "\"raw challenge\"", hash) == .rejected)
        #expect(try outcome("\"challenge\"", "\"raw challenge\"", Self.challenge) == .human)
        #expect(try outcome("\"challenge\"", "\"sha256\"", Self.challenge) == .rejected)
    }

    @Test func `an attestation may bind a second key`() throws {
        let second = try TestSigningKey().subjectPublicKeyInfo
        var members = try attestationMembers(hash: SHA256.digest(Self.challenge + second))
        #expect(try AppAttestEvidenceFile.parse(file(members)).explain(expectations()).reasons == [.nonceMismatch])
        members.append(("publicKeySpkiDer", base64(second)))
        let report = try AppAttestEvidenceFile.parse(file(members)).explain(expectations())
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.key?.subjectPublicKeyInfo == second)
    }

    @Test(arguments: [
        ("kind", "\"passport\""), ("kind", "null"), ("kind", "1"), ("attestationObject", "null"),
        ("attestationObject", "\"AB==\""),
        ("attestationObject", "\"####\""), ("keyId", "\"A\""), ("keyId", "5"), ("teamId", "7"),
        ("environment", "\"staging\""),
        ("environment", "{}"), ("clientDataUtf8OrB64", "\"base64:A\""), ("clientDataUtf8OrB64", "[]"),
        ("clientDataHash", "\"md5\""), ("clientDataHash", "4"), ("counter", "-1"), ("counter", "4294967296"),
        ("counter", "\"1\""), ("publicKeySpkiDer", "\"=\""),
    ])
    func `a member of another form is named`(_ name: String, _ value: String) throws {
        var members = try attestationMembers(hash: [])
        members.removeAll { $0.0 == name }
        members.append((name, value))
        #expect(throws: EvidenceFileFault.member(name)) { try AppAttestEvidenceFile.parse(file(members)) }
    }

    @Test func `only strict JSON objects are read`() throws {
        for text in ["", "[]", "1", "{", "{\"kind\":\"receipt\",\"kind\":\"receipt\"}", "null"] {
            #expect(throws: EvidenceFileFault.self) { try AppAttestEvidenceFile.parse(Array(text.utf8)) }
        }
        let fault = EvidenceFileFault.json(.duplicateMember)
        #expect("\(fault)" == "no strict JSON object: duplicateMember")
        #expect(throws: EvidenceFileFault.member("publicKeySpkiDer")) {
            try AppAttestEvidenceFile.parse(Array("{\"kind\":\"assertion\",\"assertion\":\"AAAA\"}".utf8))
        }
        let octets = try file(attestationMembers(hash: []))
        for length in stride(from: 0, to: octets.count, by: 3) {
            #expect(throws: EvidenceFileFault.self) { try AppAttestEvidenceFile.parse(Array(octets.prefix(length))) }
        }
    }

    @Test func `an assertion is judged by key, app, client data and counter`() throws {
        let hash = SHA256.digest(Self.challenge)
        let octets = try TestAppAttest.assertion(clientDataHash: hash, counter: 5, key: key)
        func report(_ changes: [(String, String?)] = []) throws -> AttestationReport {
            var members: [(String, String?)] = [
                ("kind", "\"assertion\""), ("assertion", base64(octets)),
                ("publicKeySpkiDer", base64(key.subjectPublicKeyInfo)), ("teamId", "\"ABCDE12345\""),
                ("bundleId", "\"com.example.app\""), ("clientDataUtf8OrB64", "\"challenge\""), ("counter", "5"),
            ]
            for (name, value) in changes {
                members.removeAll { $0.0 == name }
                members.append((name, value))
            }
            return try AppAttestEvidenceFile.parse(file(members)).explain(AppAttestExpectations(now: 0))
        }
        #expect(try report().outcome == .human)
        #expect(try report().fact("counter") == "5")
        #expect(try report([("counter", "4")]).reasons == [.counterReplayed])
        #expect(try report([("counter", nil)]).names(.skipped) == ["counter"])
        #expect(try report([("teamId", nil)]).names(.skipped) == ["app_id"])
        #expect(try report([("teamId", "\"X\"")]).reasons == [.wrongApp])
        #expect(try report([("clientDataUtf8OrB64", "null")]).names(.skipped) == ["signature"])
        #expect(try report([("clientDataUtf8OrB64", "\"other\"")]).reasons == [.badSignature])
        let other = try TestSigningKey().subjectPublicKeyInfo
        #expect(try report([("publicKeySpkiDer", base64(other))]).reasons == [.badSignature])
        #expect(try report([("publicKeySpkiDer", "\"AAAA\"")]).reasons == [.keyNotP256])
        #expect(try report([("assertion", "\"AAAA\"")]).reasons == [.malformed])
        #expect(try report([("assertion", "\"AAAA\"")]).outcome == .rejected)
    }
}
