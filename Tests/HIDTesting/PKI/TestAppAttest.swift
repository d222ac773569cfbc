// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// An App Attest service in a value: a root, an authority, and evidence of any shape.
///
/// Everything is put together from Apple's description and not with the verifier's own code.
package struct TestAppAttest: Sendable {
    /// The time at which evidence is made.
    package static let now: Int64 = 1_800_000_000
    /// The app that asks unless a shape says otherwise.
    package static let appID = "ABCDE12345.com.example.app"
    private static let rootName = CertificateBuilder.name("Test App Attestation Root CA", organization: "Test")
    private static let authorityName = CertificateBuilder.name("Test App Attestation CA 1", organization: "Test")

    package let rootKey: TestSigningKey
    package let authorityKey: TestSigningKey
    /// DER.
    package let root: [UInt8]
    /// DER.
    package let authority: [UInt8]

    package init() throws {
        rootKey = try TestSigningKey(.p384)
        authorityKey = try TestSigningKey(.p384)
        root = try CertificateBuilder.authority(Self.rootName, key: rootKey).signed(by: rootKey)
        var builder = CertificateBuilder.authority(Self.authorityName, issuer: Self.rootName, key: authorityKey)
        builder.extensions[0] = CertificateBuilder.basicConstraints(authority: true, pathLength: 0)
        authority = try builder.signed(by: rootKey)
    }

    /// The root as a verifier takes it.
    package var anchor: Certificate { get throws { try Certificate(root) } }

    /// What an attestation object says; right as it is made.
    package struct Shape: Sendable {
        package var clientDataHash: [UInt8]
        package var appID = TestAppAttest.appID
        package var flags: UInt8 = 0x40
        package var counter: UInt32 = 0
        package var aaguid = Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        /// In place of SHA-256 of the point.
        package var keyID: [UInt8]?
        /// In place of 0, 32.
        package var keyIDLength: [UInt8] = [0, 32]
        /// In place of the COSE map of the key.
        package var credentialKey: CBORValue?
        /// What follows the COSE key.
        package var extensions: [UInt8] = []
        package var format = "apple-appattest"
        package var receipt: [UInt8] = Array("receipt".utf8)
        /// In place of the extension's value.
        package var nonceExtension: [UInt8]?
        package var leafExtensions: [[UInt8]] = []
        package var notBefore = TestAppAttest.now - 86400
        package var notAfter = TestAppAttest.now + 86400

        package init(clientDataHash: [UInt8]) {
            self.clientDataHash = clientDataHash
        }
    }

    /// The authenticator data of an attestation.
    package static func authenticatorData(_ shape: Shape, point: [UInt8]) -> [UInt8] {
        let key =
            shape.credentialKey
            ?? coseKey(x: Array(point[1..<33]), y: Array(point[33..<65]))
        return head(appID: shape.appID, flags: shape.flags, counter: shape.counter)
            + shape.aaguid + shape.keyIDLength + (shape.keyID ?? SHA256.digest(point)) + key.encoded + shape.extensions
    }

    /// Hash, flags and counter.
    package static func head(appID: String, flags: UInt8 = 0x40, counter: UInt32) -> [UInt8] {
        SHA256.digest(Array(appID.utf8)) + [flags]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
    }

    /// A COSE key of P-256.
    package static func coseKey(x: [UInt8], y: [UInt8]) -> CBORValue {
        .map([
            (.unsigned(1), .unsigned(2)), (.unsigned(3), .negative(6)), (.negative(0), .unsigned(1)),
            (.negative(1), .bytes(x)), (.negative(2), .bytes(y)),
        ])
    }

    /// The map of iOS 27.
    package static func systemExtensions(category: UInt32, bundleVersion: String) -> [UInt8] {
        let octets = [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: category >> $0) }
        return CBORValue.map([
            (.text("apple_bundle_version_01"), .text(bundleVersion)),
            (.text("apple_validation_category_01"), .bytes(octets)),
        ]).encoded
    }

    /// The leaf of a key, for authenticator data.
    package func leaf(_ shape: Shape, key: TestSigningKey, authenticatorData: [UInt8]) throws -> [UInt8] {
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name("leaf"), issuer: Self.authorityName, publicKey: key.subjectPublicKeyInfo)
        let nonce = SHA256.digest(authenticatorData + shape.clientDataHash)
        let value = DERWriter.sequence(DERWriter.explicit(1, DERWriter.octetString(nonce)))
        builder.extensions =
            [
                CertificateBuilder.basicConstraints(authority: false),
                CertificateBuilder.keyUsage([0xF0], unused: 4),
                CertificateBuilder.extension("1.2.840.113635.100.8.2", shape.nonceExtension ?? value),
            ] + shape.leafExtensions
        (builder.notBefore, builder.notAfter) = (shape.notBefore, shape.notAfter)
        return try builder.signed(by: authorityKey)
    }

    /// The attestation object of a key.
    package func object(_ shape: Shape, key: TestSigningKey) throws -> [UInt8] {
        let data = Self.authenticatorData(shape, point: key.point)
        let leaf = try leaf(shape, key: key, authenticatorData: data)
        return Self.object(
            format: shape.format, chain: [leaf, authority], receipt: shape.receipt, authenticatorData: data)
    }

    /// An attestation object of any parts.
    package static func object(
        format: String = "apple-appattest", chain: [[UInt8]], receipt: [UInt8] = [1], authenticatorData: [UInt8]
    ) -> [UInt8] {
        CBORValue.map([
            (.text("fmt"), .text(format)),
            (
                .text("attStmt"),
                .map([(.text("x5c"), .array(chain.map { .bytes($0) })), (.text("receipt"), .bytes(receipt))])
            ),
            (.text("authData"), .bytes(authenticatorData)),
        ]).encoded
    }

    /// An assertion by a key; `signature` sees the DER and returns what to use.
    package static func assertion(
        clientDataHash: [UInt8], counter: UInt32, key: TestSigningKey, appID: String = TestAppAttest.appID,
        extensions: [UInt8] = [], signature: ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> [UInt8] {
        let data = head(appID: appID, counter: counter) + extensions
        let der = try key.sign(SHA256.digest(data + clientDataHash), .ecdsaSHA256)
        return CBORValue.map([
            (.text("signature"), .bytes(signature(der))), (.text("authenticatorData"), .bytes(data)),
        ]).encoded
    }
}

extension TestSigningKey {
    /// The uncompressed point of a P-256 key.
    package var point: [UInt8] { Array(subjectPublicKeyInfo.suffix(65)) }
}
