// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

@Suite(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
struct AppAttestRecordedReceiptTests {
    struct Properties: Decodable {
        struct Values: Decodable {
            let creationTime: String
            let expirationTime: String
            let notBefore: String
            let riskMetric: String
            let type: String
        }
        let properties: Values
    }

    @Test(arguments: AppAttestVectors.entries("receipt"))
    func `a recorded receipt is verified and its fields are read`(_ entry: AppAttestVectors.Entry) throws {
        let file = try entry.evidence()
        let expected = try Vectors.json("attestation/" + entry.file, as: Properties.self).properties
        let receipt = try AppAttestReceipt(verifying: file.octets)
        #expect(receipt.kind.rawValue == expected.type)
        #expect(receipt.appID == file.appID)
        #expect(receipt.environment == .development)
        #expect(receipt.keyID == file.keyID)
        #expect(receipt.created == seconds(expected.creationTime))
        #expect(receipt.expiry == seconds(expected.expirationTime))
        #expect(receipt.notBefore == seconds(expected.notBefore))
        #expect(receipt.riskMetric == UInt32(expected.riskMetric))
        #expect(receipt.expiry - receipt.created == 90 * 86400)
        let report = file.explain(AppAttestExpectations(now: 0))
        #expect(report.outcome == .human, "\(report.text)")
        #expect(report.names(.skipped).isEmpty)
        var expectations = AppAttestExpectations(now: 0)
        expectations.environment = .production
        #expect(file.explain(expectations).reasons == [.wrongEnvironment])
        expectations = AppAttestExpectations(now: 0)
        expectations.appID = "other"
        #expect(file.explain(expectations).reasons == [.wrongApp])
        var other = file
        other.keyID?[31] ^= 1
        #expect(other.explain(AppAttestExpectations(now: 0)).reasons == [.keyIDMismatch])
    }

    @Test(arguments: AppAttestVectors.entries("attestation"))
    func `the receipt in a recorded attestation names the attested key`(_ entry: AppAttestVectors.Entry) throws {
        let file = try entry.evidence()
        let object = try AppAttestObject(file.octets)
        // Two receipts do not verify, here and with OpenSSL alike: one has signed attributes that its signature does
        // not cover, in the other the signer's certificate is damaged.
        if entry.file.contains("kayak") {
            #expect(throws: ReceiptFault.badSignature) { try AppAttestReceipt(verifying: object.receipt) }
            return
        }
        if entry.file.contains("mikedan") {
            let fault = ReceiptFault.chain(.badSignature, "certificate 0 is not signed by the next one")
            #expect(throws: fault) { try AppAttestReceipt(verifying: object.receipt) }
            return
        }
        let receipt = try AppAttestReceipt(verifying: object.receipt)
        #expect(receipt.kind == .attest)
        #expect(receipt.appID == file.appID)
        #expect(receipt.environment == file.environment)
        #expect(receipt.attestedCertificate.der == object.certificates.first)
        #expect(receipt.riskMetric == nil)
    }

    @Test func `no change of an octet and no truncation of a recorded receipt is verified`() throws {
        let entry = try #require(AppAttestVectors.entries("receipt").first)
        let octets = try entry.evidence().octets
        let original = try AppAttestReceipt(verifying: octets)
        var changed = octets
        var survivors: [Int] = []
        for index in octets.indices {
            changed[index] ^= 1 << UInt8(index % 8)
            if let receipt = try? AppAttestReceipt(verifying: changed) {
                // The copy of the root at the end of the certificates vouches for nothing.
                #expect(receipt == original)
                survivors.append(index)
            }
            changed[index] = octets[index]
        }
        let message = try SignedMessage(octets)
        let root = try #require(message.certificates.last)
        let start = try #require(octets.firstRange(of: root.der)).lowerBound
        #expect(survivors.allSatisfy { (start..<start + root.der.count).contains($0) }, "\(survivors)")
        for length in octets.indices {
            #expect(throws: ReceiptFault.self) { try AppAttestReceipt(verifying: Array(octets.prefix(length))) }
        }
        #expect(throws: ReceiptFault.self) { try AppAttestReceipt(verifying: octets + [0]) }
    }

    private func seconds(_ text: String) -> Int64? {
        let plain = text.replacing(" ", with: "T").replacing("+00:00", with: "Z")
        return InternetTime.seconds(Array(plain.utf8))
    }
}

@Suite struct AppAttestReceiptTests {
    private static let signerMarker = CertificateBuilder.extension("1.2.840.113635.100.12.15", DERWriter.null)
    private static let rootName = CertificateBuilder.name("Root")
    private static let authorityName = CertificateBuilder.name("Authority")

    private let rootKey: TestSigningKey
    private let authorityKey: TestSigningKey
    private let signerKey: TestSigningKey
    private let anchor: Certificate
    private let authority: [UInt8]
    private let attested: [UInt8]

    init() throws {
        rootKey = try TestSigningKey(.p384)
        authorityKey = try TestSigningKey()
        signerKey = try TestSigningKey()
        anchor = try Certificate(CertificateBuilder.authority(Self.rootName, key: rootKey).signed(by: rootKey))
        authority = try CertificateBuilder.authority(Self.authorityName, issuer: Self.rootName, key: authorityKey)
            .signed(by: rootKey)
        attested = try CertificateBuilder(
            subject: Self.rootName, issuer: Self.rootName, publicKey: signerKey.subjectPublicKeyInfo
        ).signed(by: rootKey)
    }

    private var fields: [(Int64, [UInt8])] {
        [
            (2, Array("TEAM.app".utf8)), (3, attested), (6, Array("RECEIPT".utf8)), (7, Array("production".utf8)),
            (12, Array("2026-01-01T00:00:00.5Z".utf8)), (17, Array("4".utf8)),
            (19, Array("2026-01-02T00:00:00Z".utf8)), (21, Array("2026-04-01T00:00:00Z".utf8)), (99, []),
        ]
    }

    private func signer(
        name: String = "Application Attestation Fraud Receipt Signing", extensions: [[UInt8]] = [signerMarker],
        from: Int64 = 0, until: Int64 = 2_000_000_000
    ) throws -> [UInt8] {
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name(name), issuer: Self.authorityName,
            publicKey: signerKey.subjectPublicKeyInfo)
        builder.serial = DERWriter.integer(77)
        builder.extensions = extensions
        (builder.notBefore, builder.notAfter) = (from, until)
        return try builder.signed(by: authorityKey)
    }

    private static func content(_ fields: [(Int64, [UInt8])]) -> [UInt8] {
        DERWriter.set(
            fields.map {
                DERWriter.sequence(DERWriter.integer($0.0), DERWriter.integer(1), DERWriter.octetString($0.1))
            })
    }

    private func receipt(
        _ fields: [(Int64, [UInt8])]? = nil, certificates: [[UInt8]]? = nil, signer: [UInt8]? = nil, serial: Int64 = 77,
        attributes: [[UInt8]]? = nil, indefinite: Bool = false
    ) throws -> [UInt8] {
        let content = Self.content(fields ?? self.fields)
        let digest = DERWriter.sequence(DERWriter.oid("2.16.840.1.101.3.4.2.1"), DERWriter.null)
        let chain = try certificates ?? [try signer ?? self.signer(), authority]
        let signed = attributes.map { DERWriter.set($0) } ?? content
        let signerInfo = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.sequence(Self.authorityName, DERWriter.integer(serial)), digest,
            attributes.map { DERWriter.explicit(0, $0.flatMap { $0 }) } ?? [],
            CertificateBuilder.identifier(of: .ecdsaSHA256),
            DERWriter.octetString(try signerKey.sign(signed, .ecdsaSHA256)))
        func wrap(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
            let content = parts.flatMap { $0 }
            return indefinite ? [tag, 0x80] + content + [0, 0] : DERWriter.value(tag, content)
        }
        let half = content.count / 2
        let halves = [content.prefix(half), content.dropFirst(half)].flatMap { DERWriter.octetString(Array($0)) }
        let octets = indefinite ? wrap(0x24, halves) : DERWriter.octetString(content)
        let message = wrap(
            0x30, DERWriter.integer(1), DERWriter.set(digest),
            wrap(0x30, DERWriter.oid("1.2.840.113549.1.7.1"), wrap(0xA0, octets)), wrap(0xA0, chain.flatMap { $0 }),
            DERWriter.set(signerInfo))
        return wrap(0x30, DERWriter.oid("1.2.840.113549.1.7.2"), wrap(0xA0, message))
    }

    private func verify(_ octets: [UInt8]) throws(ReceiptFault) -> AppAttestReceipt {
        try AppAttestReceipt(verifying: octets, extraRoots: [anchor])
    }

    private func fault(_ octets: [UInt8]) -> ReceiptFault? {
        do {
            _ = try verify(octets)
            return nil
        } catch {
            return error
        }
    }

    private func chainReason(_ octets: [UInt8]) -> AttestationReason? {
        if case .chain(let reason, _) = fault(octets) { reason } else { nil }
    }

    @Test func `a receipt under an extra root is read`() throws {
        let octets = try receipt()
        let receipt = try verify(octets)
        #expect(receipt.kind == .receipt)
        #expect(receipt.environment == .production)
        #expect(receipt.created == 1_767_225_600)
        #expect(receipt.notBefore == 1_767_312_000 as Int64)
        #expect(receipt.expiry == 1_775_001_600)
        #expect(receipt.riskMetric == 4)
        #expect(receipt.keyID == SHA256.digest(signerKey.point))
        #expect(receipt.facts.contains(AttestedKey.Fact("risk_metric", "4")))
        #expect(throws: ReceiptFault.self) { try AppAttestReceipt(verifying: octets) }
    }

    @Test func `only the signer of receipts may sign one`() throws {
        #expect(fault(try receipt(signer: signer(extensions: []))) == .signer)
        #expect(fault(try receipt(signer: signer(name: "Apple Pay Merchant"))) == .signer)
        #expect(
            chainReason(try receipt(signer: signer(extensions: [CertificateBuilder.keyCertSign]))) == .issuerConstraints
        )
    }

    @Test func `the signer is valid when the receipt is made`() throws {
        let created: Int64 = 1_767_225_600
        _ = try verify(receipt(signer: signer(from: created, until: created)))
        #expect(chainReason(try receipt(signer: signer(from: created + 1))) == .notYetValid)
        #expect(chainReason(try receipt(signer: signer(until: created - 1))) == .certificateExpired)
    }

    @Test func `the chain is found in any order and must be whole`() throws {
        let signer = try signer()
        _ = try verify(receipt(certificates: [authority, signer]))
        _ = try verify(receipt(certificates: [anchor.der, authority, signer]))
        #expect(chainReason(try receipt(certificates: [signer])) == .chainLength)
        #expect(chainReason(try receipt(certificates: [authority])) == .chainLength)
        #expect(chainReason(try receipt(certificates: [])) == .chainLength)
        #expect(chainReason(try receipt(serial: 78)) == .chainLength)
        let many = Array(repeating: authority, count: 8)
        #expect(fault(try receipt(certificates: many + [signer])) == .malformed("signed data: range"))
        let other = try TestSigningKey()
        var builder = CertificateBuilder.authority(Self.authorityName, issuer: Self.rootName, key: other)
        #expect(
            chainReason(try receipt(certificates: [signer, builder.signed(by: rootKey)])) == .badSignature)
        builder.publicKey = authorityKey.subjectPublicKeyInfo
        #expect(
            chainReason(try receipt(certificates: [signer, builder.signed(by: other)])) == .untrustedRoot)
    }

    @Test func `a receipt signed by another key is refused`() throws {
        let other = try TestSigningKey()
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name("Application Attestation Fraud Receipt Signing"),
            issuer: Self.authorityName, publicKey: other.subjectPublicKeyInfo)
        builder.serial = DERWriter.integer(77)
        builder.extensions = [Self.signerMarker]
        #expect(fault(try receipt(signer: builder.signed(by: authorityKey))) == .badSignature)
    }

    private static let contentType = attribute(3, DERWriter.oid("1.2.840.113549.1.7.1"))

    private static func attribute(_ number: Int, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(DERWriter.oid("1.2.840.113549.1.9.\(number)"), DERWriter.set(value))
    }

    @Test func `signed attributes must hold type and digest of the content`() throws {
        let digest = Self.attribute(4, DERWriter.octetString(SHA256.digest(Self.content(fields))))
        let time = Self.attribute(5, DERWriter.time(0, short: true))
        _ = try verify(receipt(attributes: [Self.contentType, time, digest]))
        _ = try verify(receipt(attributes: [digest, Self.contentType]))
        for wrong in [[Self.contentType], [digest], [], [Self.contentType, digest, digest], [[1, 2, 3]]] {
            #expect(fault(try receipt(attributes: wrong))?.reason == .malformed)
        }
        let otherType = Self.attribute(3, DERWriter.oid("1.2.840.113549.1.7.2"))
        #expect(fault(try receipt(attributes: [otherType, digest]))?.reason == .malformed)
        let otherDigest = Self.attribute(4, DERWriter.octetString(SHA256.digest([])))
        #expect(fault(try receipt(attributes: [Self.contentType, otherDigest])) == .badSignature)
        let noDigest = Self.attribute(4, DERWriter.null)
        #expect(fault(try receipt(attributes: [Self.contentType, noDigest]))?.reason == .malformed)
    }

    @Test func `the outer shell may have indefinite lengths and a content in parts`() throws {
        let octets = try receipt()
        let rebuilt = try receipt(indefinite: true)
        #expect(try verify(rebuilt) == verify(octets))
    }

    @Test(arguments: [2, 3, 6, 7, 12, 21] as [Int64])
    func `a field that every receipt has must be there and readable`(_ type: Int64) throws {
        let missing = fields.filter { $0.0 != type }
        #expect(fault(try receipt(missing))?.reason == .malformed)
        let wrong = fields.map { $0.0 == type ? ($0.0, [0x00, 0xFF]) : $0 }
        #expect(fault(try receipt(wrong))?.reason == .malformed)
        let twice = fields + fields.filter { $0.0 == type }
        #expect(fault(try receipt(twice)) == .malformed("fields: value"))
    }

    @Test(arguments: [(17, "-1"), (17, "4294967296"), (17, ""), (17, "1.5"), (19, "yesterday")] as [(Int64, String)])
    func `a field that may be missing must be readable`(_ type: Int64, _ text: String) throws {
        let wrong = fields.map { $0.0 == type ? ($0.0, Array(text.utf8)) : $0 }
        #expect(fault(try receipt(wrong))?.reason == .malformed)
        _ = try verify(receipt(fields.filter { $0.0 != type }))
    }

    @Test func `too many octets and too many fields are refused`() throws {
        #expect(fault([UInt8](repeating: 0x30, count: 16 * 1024 + 1)) == .malformed("16385 octets"))
        let many = (100..<200).map { (Int64($0), [UInt8]()) }
        #expect(fault(try receipt(fields + many)) == .malformed("fields: range"))
    }
}
