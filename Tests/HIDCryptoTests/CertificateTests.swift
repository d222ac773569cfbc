// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

@Suite struct CertificateTests {
    private static let root = CertificateBuilder.name("Root", organization: "Test")

    private func builder(_ key: TestSigningKey) -> CertificateBuilder {
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name([("2.5.4.12", "TEE"), ("2.5.4.5", "0f00"), ("2.5.4.3", "Leaf")]),
            issuer: Self.root, publicKey: key.subjectPublicKeyInfo)
        builder.serial = DERWriter.unsignedInteger([0x0F, 0xEE, 0xDD])
        builder.extensions = [
            CertificateBuilder.basicConstraints(authority: true, pathLength: 3), CertificateBuilder.keyCertSign,
            CertificateBuilder.extension("1.2.3.4", [1, 2, 3]),
        ]
        return builder
    }

    @Test func `every field of a certificate is read`() throws {
        let key = try TestSigningKey()
        var builder = builder(key)
        (builder.notBefore, builder.notAfter) = (-1, 4_294_967_295)
        let der = try builder.signed(by: key)
        let certificate = try Certificate(der)
        #expect(certificate.der == der)
        #expect(certificate.serial == "feedd")
        #expect(certificate.issuer.der == Self.root)
        #expect(certificate.issuer.has(.organization, "Test"))
        #expect(certificate.subject.der == builder.subject)
        #expect(certificate.subject.value(.title) == Array("TEE".utf8))
        #expect(certificate.subject.value(.serialNumber) == Array("0f00".utf8))
        #expect(certificate.subject.value(.organization) == nil)
        #expect(certificate.notBefore == -1)
        #expect(certificate.notAfter == 4_294_967_295)
        #expect(certificate.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
        #expect(certificate.keyKind == .p256)
        #expect(certificate.signatureAlgorithm == .ecdsaSHA256)
        #expect(certificate.basicConstraints?.isAuthority == true)
        #expect(certificate.basicConstraints?.pathLength == 3)
        #expect(certificate.keyUsage?.keyCertSign == true)
        #expect(certificate.keyUsage?.digitalSignature == false)
        #expect(certificate.extensions.map(\.oid.description) == ["2.5.29.19", "2.5.29.15", "1.2.3.4"])
        #expect(certificate.extensions.map(\.isCritical) == [true, true, false])
        #expect(certificate.extension(OID(1, 2, 3, 4))?.value == [1, 2, 3])
        #expect(certificate.tbs == builder.tbs(identifier: CertificateBuilder.identifier(of: .ecdsaSHA256)))
    }

    @Test func `a name with an attribute twice has no value for it`() throws {
        let key = try TestSigningKey()
        var builder = builder(key)
        builder.subject = CertificateBuilder.name([("2.5.4.3", "A"), ("2.5.4.3", "B")])
        let certificate = try Certificate(builder.signed(by: key))
        #expect(certificate.subject.value(.commonName) == nil)
        #expect(certificate.subject.attributes.count == 2)
    }

    /// One field changed to something that no issuer writes.
    struct Wrong: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout CertificateBuilder) -> Void
    }

    static let wrong: [Wrong] = [
        Wrong(testDescription: "an extension twice") { $0.extensions.append($0.extensions[2]) },
        Wrong(testDescription: "inner and outer algorithm differ") {
            $0.outerIdentifier = CertificateBuilder.identifier(of: .ecdsaSHA384)
        },
        Wrong(testDescription: "NULL parameters on one side only") {
            $0.innerIdentifier = DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.3.2"), DERWriter.null)
        },
        Wrong(testDescription: "a negative serial number") { $0.serial = [0x02, 0x01, 0xFF] },
        Wrong(testDescription: "a padded serial number") { $0.serial = [0x02, 0x02, 0x00, 0x01] },
        Wrong(testDescription: "an empty serial number") { $0.serial = [0x02, 0x00] },
        Wrong(testDescription: "version 1 written out") {
            $0.version = DERWriter.explicit(0, DERWriter.integer(0))
        },
        Wrong(testDescription: "version 4") { $0.version = DERWriter.explicit(0, DERWriter.integer(3)) },
        Wrong(testDescription: "extensions in version 1") { $0.version = [] },
        Wrong(testDescription: "extensions in version 2") {
            $0.version = DERWriter.explicit(0, DERWriter.integer(1))
        },
        Wrong(testDescription: "a third date") {
            let date = DERWriter.time(0)
            $0.validity = DERWriter.sequence(date, date, date)
        },
        Wrong(testDescription: "a date that does not exist") {
            $0.validity = DERWriter.sequence(DERWriter.time(0), DERWriter.value(0x17, Array("991332000000Z".utf8)))
        },
        Wrong(testDescription: "an empty SET in a name") { $0.subject = DERWriter.sequence(DERWriter.set()) },
        Wrong(testDescription: "basicConstraints with a third field") {
            $0.extensions[0] = CertificateBuilder.extension(
                "2.5.29.19", DERWriter.sequence(DERWriter.boolean(true), DERWriter.integer(0), DERWriter.null))
        },
        Wrong(testDescription: "basicConstraints cut off") {
            $0.extensions[0] = CertificateBuilder.extension("2.5.29.19", [0x30, 0x03, 0x01])
        },
        Wrong(testDescription: "a negative path length") {
            $0.extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: -1)
        },
        Wrong(testDescription: "keyUsage that is no BIT STRING") {
            $0.extensions[1] = CertificateBuilder.extension("2.5.29.15", DERWriter.octetString([4]))
        },
        Wrong(testDescription: "an issuerUniqueID") { $0.publicKey += [0x81, 0x02, 0x00, 0x01] },
        Wrong(testDescription: "a critical flag of two octets") {
            $0.extensions[2] = DERWriter.sequence(
                DERWriter.oid("1.2.3.4"), DERWriter.value(0x01, [0xFF, 0xFF]), DERWriter.octetString([]))
        },
        Wrong(testDescription: "33 extensions") { builder in
            builder.extensions = (0..<33).map { CertificateBuilder.extension("1.2.3.\($0)", []) }
        },
        Wrong(testDescription: "a key that is no BIT STRING") {
            $0.publicKey = DERWriter.sequence(
                DERWriter.sequence(DERWriter.oid("1.2.3")), DERWriter.octetString([0]))
        },
    ]

    @Test(arguments: wrong)
    func `a certificate with a wrong field is refused`(_ wrong: Wrong) throws {
        let key = try TestSigningKey()
        var builder = builder(key)
        wrong.change(&builder)
        let der = try builder.signed(by: key)
        #expect(throws: DERFault.self) { try Certificate(der) }
    }

    @Test func `a certificate has nothing behind it, an end, and a size`() throws {
        let key = try TestSigningKey()
        let der = try builder(key).signed(by: key)
        #expect(throws: DERFault.trailingOctets) { try Certificate(der + [0]) }
        for count in 0..<der.count {
            #expect(throws: DERFault.self) { try Certificate(Array(der.prefix(count))) }
        }
        #expect(throws: DERFault.range) { try Certificate(der, maximumSize: der.count - 1) }
        #expect(throws: Never.self) { try Certificate(der, maximumSize: der.count) }
    }

    @Test func `every octet that is changed breaks the form or the signature`() throws {
        let key = try TestSigningKey()
        let der = try builder(key).signed(by: key)
        for index in der.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var other = der
                other[index] ^= change
                guard let certificate = try? Certificate(other) else { continue }
                let isSigned = certificate.isSigned(bySubjectPublicKeyInfo: key.subjectPublicKeyInfo)
                #expect(!isSigned, "octet \(index) xor \(change)")
            }
        }
    }

    @Test func `an unknown algorithm is read, and signs nothing`() throws {
        let key = try TestSigningKey()
        var builder = builder(key)
        builder.innerIdentifier = DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.1"))
        builder.outerIdentifier = builder.innerIdentifier
        let certificate = try Certificate(builder.signed(by: key))
        #expect(certificate.signatureAlgorithm == nil)
        #expect(!certificate.isSigned(bySubjectPublicKeyInfo: key.subjectPublicKeyInfo))
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `real certificates are read and their links verify`() throws {
        let folder = "attestation/android"
        let files = try FileManager.default.contentsOfDirectory(atPath: Vectors.directory + "/" + folder)
        var counts = (certificates: 0, links: 0)
        var unsigned: Set<String> = []
        for file in files where file.hasSuffix(".pem") {
            let blocks = try PEM.blocks(Vectors.bytes(folder + "/" + file), label: "CERTIFICATE")
            let chain = try blocks.map { try Certificate($0) }
            counts.certificates += chain.count
            for (child, parent) in zip(chain, chain.dropFirst()) {
                counts.links += 1
                if !child.isSigned(byKeyOf: parent) { unsigned.insert("\(file) by \(parent.keyKind)") }
            }
        }
        #expect(files.count == 56)
        #expect(counts.certificates == 216)
        #expect(counts.links == 160)
        // Two links of each of the software chains are by keys that are too short; the other leafs were tampered with.
        #expect(
            unsigned == [
                "acu-INVALID-pixel-leaf-tampered.pem by P-256", "gka-invalid-tags-out-of-order.pem by P-256",
                "asit-emulator-rsa-software.pem by RSA-1024",
                "gka-pixelxl-sdk29-hybrid-rsa-software-root.pem by RSA-1024",
            ])
    }
}
