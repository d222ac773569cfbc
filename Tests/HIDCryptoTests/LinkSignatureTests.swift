// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct LinkSignatureTests {
    /// Keys that take long to make.
    private enum Keys {
        static let rsa1024 = try? TestSigningKey(.rsa(bits: 1024))
        static let rsa2048 = try? TestSigningKey(.rsa(bits: 2048))
        static let rsa3072 = try? TestSigningKey(.rsa(bits: 3072))
    }

    private func certificate(
        by key: TestSigningKey, _ change: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> Certificate {
        let name = CertificateBuilder.name("Anybody")
        var builder = CertificateBuilder.authority(name, key: key)
        change(&builder)
        return try Certificate(builder.signed(by: key))
    }

    @Test(arguments: [
        (TestSigningKey.Kind.p256, SignatureAlgorithm.ecdsaSHA256), (.p256, .ecdsaSHA384), (.p384, .ecdsaSHA256),
        (.p384, .ecdsaSHA384), (.rsa(bits: 2048), .rsaSHA256), (.rsa(bits: 2048), .rsaSHA384),
        (.rsa(bits: 2048), .rsaSHA512), (.rsa(bits: 3072), .rsaSHA256),
    ])
    func `each algorithm verifies, and with no other key`(
        _ kind: TestSigningKey.Kind, _ algorithm: SignatureAlgorithm
    ) throws {
        let key: TestSigningKey
        switch kind {
        case .rsa(let bits): key = try #require(bits == 2048 ? Keys.rsa2048 : Keys.rsa3072)
        case .p256, .p384, .p521: key = try TestSigningKey(kind)
        }
        let made = try certificate(by: key) { $0.algorithm = algorithm }
        #expect(made.signatureAlgorithm == algorithm)
        #expect(made.isSigned(byKeyOf: made))
        for other in [try TestSigningKey(.p256), try TestSigningKey(.p384), try #require(Keys.rsa2048)]
        where other.subjectPublicKeyInfo != key.subjectPublicKeyInfo {
            #expect(!made.isSigned(bySubjectPublicKeyInfo: other.subjectPublicKeyInfo))
        }
    }

    @Test func `a weak or foreign key signs nothing`() throws {
        let weak = try #require(Keys.rsa1024)
        let made = try certificate(by: weak)
        #expect(made.keyKind == .rsa(bits: 1024))
        #expect(!made.isSigned(byKeyOf: made))
        let foreign = try certificate(by: TestSigningKey(.p521))
        #expect(foreign.keyKind == .other)
        #expect(!foreign.isSigned(byKeyOf: foreign))
    }

    @Test(arguments: [TestSigningKey.Kind.p256, .p384])
    func `ECDSA with NULL parameters is accepted as Titan M writes it`(_ kind: TestSigningKey.Kind) throws {
        let key = try TestSigningKey(kind)
        let made = try certificate(by: key) { builder in
            let oid = DERWriter.value(0x06, key.usualAlgorithm.oid.octets)
            builder.innerIdentifier = DERWriter.sequence(oid, DERWriter.null)
            builder.outerIdentifier = builder.innerIdentifier
        }
        #expect(made.isSigned(byKeyOf: made))
    }

    @Test func `RSA without NULL and ECDSA with other parameters are not supported`() throws {
        let rsa = try #require(Keys.rsa2048)
        for parameters in [[], [0x04, 0x00], [0x05, 0x01, 0x00], [0x30, 0x00]] as [[UInt8]] {
            let made = try certificate(by: rsa) { builder in
                builder.innerIdentifier = DERWriter.sequence(DERWriter.oid("1.2.840.113549.1.1.11"), parameters)
                builder.outerIdentifier = builder.innerIdentifier
            }
            #expect(made.signatureAlgorithm == nil)
            #expect(!made.isSigned(byKeyOf: made))
        }
        let key = try TestSigningKey()
        let made = try certificate(by: key) { builder in
            builder.innerIdentifier = DERWriter.sequence(
                DERWriter.oid("1.2.840.10045.4.3.2"), DERWriter.oid("1.2.840.10045.3.1.7"))
            builder.outerIdentifier = builder.innerIdentifier
        }
        #expect(made.signatureAlgorithm == nil)
    }

    @Test func `an algorithm of another family does not fit a key`() throws {
        let key = try TestSigningKey()
        let made = try certificate(by: key) { builder in
            builder.innerIdentifier = CertificateBuilder.identifier(of: .rsaSHA256)
            builder.outerIdentifier = builder.innerIdentifier
        }
        #expect(made.signatureAlgorithm == .rsaSHA256)
        #expect(!made.isSigned(byKeyOf: made))
    }

    @Test func `a signature with a changed octet or another end is refused`() throws {
        for kind in [TestSigningKey.Kind.p256, .p384] {
            let key = try TestSigningKey(kind)
            let made = try certificate(by: key)
            let message = made.tbs
            func verify(_ signature: [UInt8]) -> Bool {
                LinkSignature.verify(
                    message: message.span, signature: signature, algorithm: key.usualAlgorithm,
                    subjectPublicKeyInfo: key.subjectPublicKeyInfo)
            }
            #expect(verify(made.signature))
            #expect(!verify([]))
            #expect(!verify(made.signature + [0]))
            for index in made.signature.indices {
                var other = made.signature
                other[index] ^= 0x01
                #expect(!verify(other))
                #expect(!verify(Array(made.signature.prefix(index))))
            }
        }
    }

    @Test func `the kind of a key is read from its exact form`() throws {
        let key = try TestSigningKey()
        let point = Array(key.subjectPublicKeyInfo.suffix(65))
        let ec = DERWriter.oid("1.2.840.10045.2.1")
        let curve = DERWriter.oid("1.2.840.10045.3.1.7")
        func kind(_ algorithm: [UInt8], _ bits: [UInt8]) throws -> PublicKeyKind {
            try PublicKeyKind(subjectPublicKeyInfo: DERWriter.sequence(algorithm, DERWriter.bitString(bits)))
        }
        let named = DERWriter.sequence(ec, curve)
        #expect(try kind(named, point) == .p256)
        #expect(try kind(named, [0x02] + point[1..<33]) == .other)
        #expect(try kind(named, [0x06] + point[1...]) == .other)
        #expect(try kind(named, point + [0]) == .other)
        #expect(try kind(DERWriter.sequence(ec, DERWriter.sequence(DERWriter.integer(1))), point) == .other)
        #expect(try kind(DERWriter.sequence(ec), point) == .other)
        #expect(try kind(DERWriter.sequence(ec, DERWriter.oid("1.3.132.0.34")), point) == .other)
        #expect(try kind(DERWriter.sequence(DERWriter.oid("1.3.101.112")), point) == .other)
        #expect(throws: DERFault.trailingOctets) {
            try PublicKeyKind(subjectPublicKeyInfo: key.subjectPublicKeyInfo + [0])
        }
    }

    @Test func `an RSA key with an even modulus or an odd exponent is another key`() throws {
        let algorithm = DERWriter.sequence(DERWriter.oid("1.2.840.113549.1.1.1"), DERWriter.null)
        func kind(_ modulus: [UInt8], _ exponent: [UInt8]) throws -> PublicKeyKind {
            let key = DERWriter.sequence(
                DERWriter.unsignedInteger(modulus), DERWriter.unsignedInteger(exponent))
            return try PublicKeyKind(subjectPublicKeyInfo: DERWriter.sequence(algorithm, DERWriter.bitString(key)))
        }
        let odd = [UInt8](repeating: 0xFF, count: 256)
        #expect(try kind(odd, [1, 0, 1]) == .rsa(bits: 2048))
        #expect(try kind([0x01] + odd, [3]) == .rsa(bits: 2049))
        #expect(try kind(odd.dropLast() + [0xFE], [3]) == .other)
        #expect(try kind(odd, [1]) == .other)
        #expect(try kind(odd, [2]) == .other)
        #expect(try kind(odd, [1, 0, 0, 0, 1]) == .other)
    }

    @Test func `a point off the curve verifies nothing`() throws {
        for kind in [TestSigningKey.Kind.p256, .p384] {
            let key = try TestSigningKey(kind)
            let made = try certificate(by: key)
            var broken = key.subjectPublicKeyInfo
            broken[broken.count - 1] ^= 1
            #expect(!made.isSigned(bySubjectPublicKeyInfo: broken))
        }
    }
}
