// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting

/// A maker of Android phones that nobody but a test trusts: root, intermediate and the certificate of one batch.
struct AndroidMaker: Sendable {
    static let package = "com.example.app"
    static let signer = [UInt8](repeating: 0xC7, count: 32)
    static let batchSerial = "5eed01"

    private static let rootName = CertificateBuilder.name([("2.5.4.5", "0badcafe0badcafe")])
    private static let middleName = CertificateBuilder.name([("2.5.4.5", "0d0d"), ("2.5.4.12", "TEE")])
    private static let batchName = CertificateBuilder.name([("2.5.4.5", "c0ffee"), ("2.5.4.12", "TEE")])

    private let batchKey: TestSigningKey
    /// DER, from the batch up to the root.
    let certificates: [[UInt8]]

    init() throws {
        let (rootKey, middleKey) = (try TestSigningKey(.p384), try TestSigningKey(.p384))
        batchKey = try TestSigningKey(.p256)
        let root = CertificateBuilder.authority(Self.rootName, key: rootKey)
        var middle = CertificateBuilder.authority(Self.middleName, issuer: Self.rootName, key: middleKey)
        middle.serial = DERWriter.integer(0x77)
        var batch = CertificateBuilder.authority(Self.batchName, issuer: Self.middleName, key: batchKey)
        batch.serial = DERWriter.integer(0x5EED01)
        certificates = [
            try batch.signed(by: middleKey), try middle.signed(by: rootKey), try root.signed(by: rootKey),
        ]
    }

    /// The root as a file for `android_roots`.
    var rootPEM: String { String(decoding: PEM.text(certificates[2], label: "CERTIFICATE"), as: UTF8.self) }

    /// What his.yaml says of an app on such phones.
    static var app: String {
        let digest = signer.map { String($0, radix: 16) }.joined()
        return "  - { app_id: app-1, android: { packages: [\(package)], signer_digests: [\(digest)] } }"
    }

    /// The certificate of a key that answers a challenge.
    func leaf(_ key: P256PrivateKey, challenge: [UInt8]) throws -> [UInt8] {
        var leaf = CertificateBuilder(
            subject: CertificateBuilder.name("Android Keystore Key"), issuer: Self.batchName,
            publicKey: key.publicKey.subjectPublicKeyInfo)
        leaf.extensions = [
            CertificateBuilder.extension("1.3.6.1.4.1.11129.2.1.17", Self.description(challenge))
        ]
        return try leaf.signed(by: batchKey)
    }

    /// The attestation extension of a locked phone's key for signatures with SHA-256.
    private static func description(_ challenge: [UInt8]) -> [UInt8] {
        let application = DERWriter.sequence(
            DERWriter.set(DERWriter.sequence(DERWriter.octetString(Array(package.utf8)), DERWriter.integer(7))),
            DERWriter.set(DERWriter.octetString(signer)))
        let boot = DERWriter.sequence(
            DERWriter.octetString([UInt8](repeating: 0x5A, count: 32)), DERWriter.boolean(true),
            DERWriter.enumerated(0), DERWriter.octetString([UInt8](repeating: 0xA5, count: 32)))
        let hardware: [(UInt64, [UInt8])] = [
            (1, DERWriter.set(DERWriter.integer(2))), (2, DERWriter.integer(3)), (3, DERWriter.integer(256)),
            (5, DERWriter.set(DERWriter.integer(4))), (10, DERWriter.integer(1)), (503, DERWriter.null),
            (702, DERWriter.integer(0)), (704, boot), (705, DERWriter.integer(160_000)),
            (706, DERWriter.integer(202_602)),
        ]
        return DERWriter.sequence(
            DERWriter.integer(300), DERWriter.enumerated(1), DERWriter.integer(300), DERWriter.enumerated(1),
            DERWriter.octetString(challenge), DERWriter.octetString([]),
            DERWriter.sequence(DERWriter.explicit(709, DERWriter.octetString(application))),
            DERWriter.sequence(hardware.map { DERWriter.explicit($0.0, $0.1) }))
    }
}

/// An Android key attestation that answers the live challenge.
struct AndroidEvidence: PhoneEvidence {
    let maker: AndroidMaker
    let platform = "android"

    func members(appID: String, deviceID: String, nonce: String, key: P256PrivateKey) throws -> String {
        let challenge = Base64URL.decode(Array(nonce.utf8)) ?? []
        let chain = [try maker.leaf(key, challenge: challenge)] + maker.certificates
        let texts = chain.map { "\"\(TestDevice.base64($0))\"" }.joined(separator: ",")
        return "\"certificate_chain\":[\(texts)]"
    }
}
