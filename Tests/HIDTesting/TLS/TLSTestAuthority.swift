// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// A certificate with its key, both in PEM.
package struct TLSTestIdentity: Sendable {
    package var certificate: [UInt8]
    package var key: [UInt8]
    package var der: [UInt8]

    package init(der: [UInt8], key: TestSigningKey) throws {
        certificate = PEM.text(der, label: "CERTIFICATE")
        self.key = try key.pem()
        self.der = der
    }

    /// As a server shows it.
    package var identity: TLSIdentity { TLSIdentity(certificates: certificate, key: key) }
}

/// An authority that signs certificates of servers and clients.
package final class TLSTestAuthority: Sendable {
    package let name: String
    package let key: TestSigningKey
    package let der: [UInt8]
    private let subject: [UInt8]

    /// PEM of its own certificate.
    package var pem: [UInt8] { PEM.text(der, label: "CERTIFICATE") }

    package init(_ name: String = "Test Root", below parent: TLSTestAuthority? = nil) throws {
        self.name = name
        key = try TestSigningKey()
        subject = CertificateBuilder.name(name)
        let builder = CertificateBuilder.authority(subject, issuer: parent?.subject, key: key)
        der = try builder.signed(by: parent?.key ?? key)
    }

    /// A certificate of a server for host names; the first is its common name as well.
    package func server(
        _ names: [String], kind: TestSigningKey.Kind = .p256, notAfter: Int64? = nil, serial: Int64 = 7
    ) throws -> TLSTestIdentity {
        let general = names.flatMap { DERWriter.value(0x82, Array($0.utf8)) }
        let alternative = CertificateBuilder.extension("2.5.29.17", DERWriter.value(0x30, general))
        return try leaf(
            names.first ?? "server", kind: kind, notAfter: notAfter, serial: serial, extensions: [alternative])
    }

    /// A certificate of a client.
    package func client(_ name: String, notAfter: Int64? = nil) throws -> TLSTestIdentity {
        try leaf(name, kind: .p256, notAfter: notAfter, serial: 9, extensions: [])
    }

    private func leaf(
        _ name: String, kind: TestSigningKey.Kind, notAfter: Int64?, serial: Int64, extensions: [[UInt8]]
    ) throws -> TLSTestIdentity {
        let key = try TestSigningKey(kind)
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name(name), issuer: subject, publicKey: key.subjectPublicKeyInfo)
        builder.serial = DERWriter.integer(serial)
        builder.extensions = extensions
        builder.notAfter = notAfter ?? builder.notAfter
        return try TLSTestIdentity(der: builder.signed(by: self.key), key: key)
    }
}
