// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

/// The certificates and the outer form of attestation objects.
@Suite struct AppAttestChainTests {
    private let service: TestAppAttest
    private let key: TestSigningKey
    private let shape: TestAppAttest.Shape
    private let policy: AppAttestPolicy
    private let leaf: [UInt8]
    private let data: [UInt8]

    init() throws {
        service = try TestAppAttest()
        key = try TestSigningKey()
        shape = TestAppAttest.Shape(clientDataHash: [UInt8](repeating: 7, count: 32))
        data = TestAppAttest.authenticatorData(shape, point: key.point)
        leaf = try service.leaf(shape, key: key, authenticatorData: data)
        var policy = AppAttestPolicy()
        policy.clientDataHash = shape.clientDataHash
        policy.appIDs = [TestAppAttest.appID]
        policy.environment = .production
        policy.extraRoots = [try service.anchor]
        self.policy = policy
    }

    private func verify(_ object: [UInt8]) -> AttestationReport {
        AppAttestVerifier().verifyAttestation(object, policy: policy, now: TestAppAttest.now)
    }

    private func verify(chain: [[UInt8]]) -> AttestationReport {
        verify(TestAppAttest.object(chain: chain, authenticatorData: data))
    }

    private static let authorityName = CertificateBuilder.name("Test App Attestation CA 1", organization: "Test")
    private static let rootName = CertificateBuilder.name("Test App Attestation Root CA", organization: "Test")

    private func authority(_ change: (inout CertificateBuilder) -> Void) throws -> [UInt8] {
        var builder = CertificateBuilder.authority(
            Self.authorityName, issuer: Self.rootName, key: service.authorityKey)
        change(&builder)
        return try builder.signed(by: service.rootKey)
    }

    // MARK: - Certificates

    @Test func `a chain has an authority between leaf and root, with or without the root`() throws {
        #expect(verify(chain: [leaf, service.authority]).outcome == .human)
        #expect(verify(chain: [leaf, service.authority, service.root]).outcome == .human)
        for chain in [[], [leaf], [leaf, service.authority, service.root, service.root]] {
            let report = verify(chain: chain)
            #expect(report.reasons.contains(.chainLength))
            #expect(report.outcome == .rejected)
        }
        #expect(verify(chain: [leaf, service.root]).reasons == [.chainLength])
        #expect(verify(chain: [leaf, leaf, service.authority]).outcome == .rejected)
        #expect(verify(chain: [service.authority, leaf]).outcome == .rejected)
        #expect(verify(chain: [leaf, leaf]).reasons.contains(.chainOrder))
        #expect(verify(chain: [leaf, service.authority, service.authority]).outcome == .rejected)
    }

    @Test func `a chain under another root is not trusted`() throws {
        let other = try TestAppAttest()
        let data = TestAppAttest.authenticatorData(shape, point: key.point)
        let chain = [try other.leaf(shape, key: key, authenticatorData: data), other.authority]
        #expect(verify(chain: chain).reasons == [.untrustedRoot])
        #expect(verify(chain: chain + [other.root]).outcome == .rejected)
        // Names are the same, so only the signature tells the authorities apart.
        #expect(verify(chain: [chain[0], service.authority]).reasons == [.badSignature])
        #expect(verify(chain: [leaf, other.authority]).reasons == [.badSignature])
        var policy = AppAttestPolicy()
        policy.clientDataHash = shape.clientDataHash
        let report = AppAttestVerifier().verifyAttestation(
            TestAppAttest.object(chain: [leaf, service.authority], authenticatorData: data), policy: policy,
            now: TestAppAttest.now)
        #expect(report.reasons == [.untrustedRoot])
    }

    @Test func `two authorities need the room that constraints leave`() throws {
        let middleKey = try TestSigningKey(.p384)
        let middleName = CertificateBuilder.name("Middle")
        func chain(_ pathLength: Int64?) throws -> [[UInt8]] {
            var upper = CertificateBuilder.authority(middleName, issuer: Self.rootName, key: middleKey)
            upper.extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: pathLength)
            var lower = CertificateBuilder.authority(Self.authorityName, issuer: middleName, key: service.authorityKey)
            lower.extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: 0)
            return [leaf, try lower.signed(by: middleKey), try upper.signed(by: service.rootKey)]
        }
        #expect(verify(chain: try chain(1)).outcome == .human)
        #expect(verify(chain: try chain(nil)).outcome == .human)
        #expect(verify(chain: try chain(0)).reasons == [.issuerConstraints])
    }

    @Test func `an authority must be one`() throws {
        let wrong: [[[UInt8]]] = [
            [], [CertificateBuilder.keyCertSign], [CertificateBuilder.basicConstraints(authority: false)],
            [CertificateBuilder.basicConstraints(authority: true), CertificateBuilder.keyUsage([0x80], unused: 7)],
            [
                CertificateBuilder.basicConstraints(authority: true),
                CertificateBuilder.extension("1.2.3.4", critical: true, [5, 0]),
            ],
        ]
        for extensions in wrong {
            let changed = try authority { $0.extensions = extensions }
            #expect(verify(chain: [leaf, changed]).reasons == [.issuerConstraints])
        }
        #expect(
            verify(chain: [
                leaf, try authority { $0.extensions = [CertificateBuilder.basicConstraints(authority: true)] },
            ])
            .outcome == .human)
        #expect(
            verify(chain: [leaf, try authority { $0.notAfter = TestAppAttest.now - 1 }]).reasons == [
                .certificateExpired
            ])
        #expect(
            verify(chain: [leaf, try authority { $0.notBefore = TestAppAttest.now + 1 }]).reasons == [.notYetValid])
        let order = try authority { $0.subject = CertificateBuilder.name("test app attestation ca 1") }
        #expect(verify(chain: [leaf, order]).reasons == [.chainOrder])
    }

    @Test func `a leaf must be a P-256 key that may sign and is no authority`() throws {
        func report(_ change: (inout CertificateBuilder) -> Void, key: TestSigningKey) throws -> AttestationReport {
            var builder = CertificateBuilder(
                subject: CertificateBuilder.name("leaf"), issuer: Self.authorityName,
                publicKey: key.subjectPublicKeyInfo)
            let nonce = SHA256.digest(data + shape.clientDataHash)
            builder.extensions = [
                CertificateBuilder.extension(
                    "1.2.840.113635.100.8.2", DERWriter.sequence(DERWriter.explicit(1, DERWriter.octetString(nonce))))
            ]
            change(&builder)
            return verify(chain: [try builder.signed(by: service.authorityKey), service.authority])
        }
        #expect(try report({ _ in }, key: key).outcome == .human)
        #expect(
            try report({ $0.extensions.append(CertificateBuilder.basicConstraints(authority: true)) }, key: key).reasons
                == [.issuerConstraints])
        #expect(
            try report({ $0.extensions.append(CertificateBuilder.keyCertSign) }, key: key).reasons
                == [.issuerConstraints])
        #expect(
            try report({ $0.extensions.append(CertificateBuilder.extension("1.2.3", critical: true, [])) }, key: key)
                .reasons == [.issuerConstraints])
        #expect(try report({ $0.extensions = [] }, key: key).reasons == [.attestationFormat])
        for kind in [TestSigningKey.Kind.p384, .rsa(bits: 2048)] {
            let report = try report({ _ in }, key: TestSigningKey(kind))
            #expect(report.reasons == [.keyNotP256])
            #expect(report.key == nil)
        }
        var offCurve = key.subjectPublicKeyInfo
        offCurve[offCurve.count - 1] ^= 1
        #expect(try report({ $0.publicKey = offCurve }, key: key).reasons == [.keyNotP256])
    }

    @Test func `the system's version is told when it is printable`() throws {
        func report(_ fields: [[UInt8]]) throws -> AttestationReport {
            var changed = shape
            changed.leafExtensions = [
                CertificateBuilder.extension("1.2.840.113635.100.8.7", DERWriter.sequence(fields))
            ]
            return verify(try service.object(changed, key: key))
        }
        let version = DERWriter.explicit(1400, DERWriter.octetString(Array("26.2".utf8)))
        let build = DERWriter.explicit(1403, DERWriter.octetString(Array("23C55".utf8)))
        let other = DERWriter.explicit(1401, DERWriter.integer(1))
        let full = try report([other, version, build])
        #expect(full.outcome == .human)
        #expect(full.fact("os_version") == "26.2")
        #expect(full.fact("os_build") == "23C55")
        let odd = DERWriter.explicit(1400, DERWriter.octetString(Array("2\n6".utf8)))
        #expect(try report([odd]).fact("os_version") == nil)
        #expect(try report([odd]).outcome == .human)
        #expect(try report([[0xFF]]).outcome == .human)
    }

    // MARK: - Outer form

    @Test func `the object is one map of three members and nothing behind it`() throws {
        let object = TestAppAttest.object(chain: [leaf, service.authority], authenticatorData: data)
        #expect(verify(object).outcome == .human)
        let format = (CBORValue.text("fmt"), CBORValue.text("apple-appattest"))
        let chain = (CBORValue.text("x5c"), CBORValue.array([.bytes(leaf), .bytes(service.authority)]))
        let receipt = (CBORValue.text("receipt"), CBORValue.bytes([1]))
        let statement = (CBORValue.text("attStmt"), CBORValue.map([chain, receipt]))
        let rest = (CBORValue.text("authData"), CBORValue.bytes(data))
        #expect(verify(CBORValue.map([rest, statement, format]).encoded).outcome == .human)
        let extra = (CBORValue.text("x"), CBORValue.unsigned(1))
        let wrong: [CBORValue] = [
            .map([format, statement]), .map([format, statement, rest, extra]), .map([format, statement, rest, rest]),
            .array([.text("fmt")]), .map([format, (.text("attStmt"), .map([chain])), rest]),
            .map([format, (.text("attStmt"), .map([chain, receipt, extra])), rest]),
            .map([format, (.text("attStmt"), .map([chain, (.text("receipt"), .text("x"))])), rest]),
            .map([format, (.text("attStmt"), .map([(.text("x5c"), .bytes(leaf)), receipt])), rest]),
            .map([
                format, (.text("attStmt"), .map([(.text("x5c"), .array([.bytes(leaf), .text("x")])), receipt])), rest,
            ]),
            .map([format, statement, (.text("authData"), .text("x"))]),
            .map([(.text("fmt"), .bytes(Array("apple-appattest".utf8))), statement, rest]),
            .raw([0xBF] + CBORValue.map([format, statement, rest]).encoded.dropFirst() + [0xFF]),
            .raw(object + [0]), .raw(object + object), .tag(55799, .raw(object)), .raw([]),
        ]
        for value in wrong {
            let report = verify(value.encoded)
            #expect(report.reasons == [.malformed])
            #expect(report.names(.fail) == ["object"])
            #expect(report.outcome == .rejected)
        }
        for name in ["packed", "apple", "apple-appattest ", "Apple-appattest"] {
            let report = verify(
                TestAppAttest.object(format: name, chain: [leaf, service.authority], authenticatorData: data))
            #expect(report.reasons == [.attestationFormat])
        }
        let large = TestAppAttest.object(
            chain: [leaf, service.authority], receipt: [UInt8](repeating: 0, count: 16_384), authenticatorData: data)
        #expect(verify(large).reasons == [.malformed])
    }

    @Test func `every truncation is refused`() throws {
        let object = TestAppAttest.object(chain: [leaf, service.authority], authenticatorData: data)
        for length in object.indices { #expect(verify(Array(object.prefix(length))).outcome == .rejected) }
        for length in data.indices {
            let report = verify(
                TestAppAttest.object(
                    chain: [leaf, service.authority], authenticatorData: Array(data.prefix(length))))
            #expect(report.outcome == .rejected, "\(length)")
            #expect(report.reasons.contains(.malformed))
        }
        for length in stride(from: 0, to: leaf.count, by: 7) {
            #expect(verify(chain: [Array(leaf.prefix(length)), service.authority]).reasons.contains(.malformed))
        }
    }

    @Test func `no change of an octet outside the receipt is human`() throws {
        let object = TestAppAttest.object(
            chain: [leaf, service.authority], receipt: Array("RRRRRRRR".utf8), authenticatorData: data)
        let receipt = try #require(object.firstRange(of: Array("RRRRRRRR".utf8)))
        var changed = object
        for index in object.indices {
            for mask in [0x01, 0x80, UInt8.random(in: 2...0x7F)] as [UInt8] {
                changed[index] = object[index] ^ mask
                let isHuman = verify(changed).outcome == .human
                #expect(isHuman == receipt.contains(index), "octet \(index), mask \(mask)")
            }
            changed[index] = object[index]
        }
    }

    @Test func `ten thousand random changes end in a report`() throws {
        let object = TestAppAttest.object(chain: [leaf, service.authority], authenticatorData: data)
        for _ in 0..<10_000 {
            var changed = object
            for _ in 0..<Int.random(in: 1...4) {
                let index = Int.random(in: changed.indices)
                switch Int.random(in: 0..<4) {
                case 0: changed[index] = UInt8.random(in: 0...255)
                case 1: changed.remove(at: index)
                case 2: changed.insert(UInt8.random(in: 0...255), at: index)
                default: changed.replaceSubrange(index..<min(index + 8, changed.count), with: changed.prefix(8))
                }
                if changed.isEmpty { break }
            }
            let report = verify(changed)
            #expect(report.outcome == .human || report.reason != nil)
        }
    }
}
