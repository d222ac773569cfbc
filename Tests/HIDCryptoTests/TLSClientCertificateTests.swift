// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSClientCertificateTests {
    typealias Version = TLSTestClient.Version

    private func link(
        _ mode: TLSClientAuthentication, _ version: Version, _ identity: TLSTestIdentity?,
        authorities: [UInt8]? = nil
    ) throws -> TLSLink {
        let root = try TLSFixture.clientRoot.get().pem
        return try TLSLink(
            TLSFixture.context {
                $0.clientAuthorities = authorities ?? root
                $0.clientAuthentication = mode
            },
            TLSFixture.options {
                $0.maximum = version
                $0.identity = identity
            })
    }

    @Test(arguments: [Version.tls12, .tls13], TLSClientAuthentication.allCases)
    func `a good certificate is seen`(version: Version, mode: TLSClientAuthentication) throws {
        let phone = try TLSFixture.phone.get()
        let link = try link(mode, version, phone)
        #expect(link.shake() == .done)
        #expect(link.server.peerCertificate?.der == phone.der && link.server.peerCertificate?.subject == "CN=phone")
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `none passes where it is optional, and fails where it is required`(version: Version) throws {
        let free = try link(.optional, version, nil)
        #expect(free.shake() == .done)
        #expect(free.server.peerCertificate == nil)
        let bound = try link(.required, version, nil)
        #expect(bound.shake() != .done)
        #expect(bound.server.fault?.reason == .certificateRequired && !bound.server.isEstablished)
    }

    @Test(arguments: [Version.tls12, .tls13], TLSClientAuthentication.allCases)
    func `one of another authority fails`(version: Version, mode: TLSClientAuthentication) throws {
        let stranger = try TLSFixture.otherClientRoot.get().client("stranger")
        let link = try link(mode, version, stranger)
        #expect(link.shake() != .done)
        #expect(link.server.fault?.reason == .unknownCA && link.server.peerCertificate == nil)
    }

    @Test(arguments: [Version.tls12, .tls13], TLSClientAuthentication.allCases)
    func `one that has expired fails`(version: Version, mode: TLSClientAuthentication) throws {
        let old = try TLSFixture.clientRoot.get().client("old", notAfter: 1_000_000_000)
        let link = try link(mode, version, old)
        #expect(link.shake() != .done)
        #expect(link.server.fault?.reason == .certificateExpired && link.server.peerCertificate == nil)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `one whose signature is not its authority's fails`(version: Version) throws {
        // The same name as the trusted authority, another key.
        let impostor = try TLSTestAuthority("Client Root").client("phone")
        let link = try link(.optional, version, impostor)
        #expect(link.shake() != .done)
        let reason = link.server.fault?.reason
        #expect(reason == .badCertificate || reason == .unknownCA, "\(String(describing: link.server.fault))")
        #expect(link.server.peerCertificate == nil)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `an intermediate authority in the bundle is enough`(version: Version) throws {
        let middle = try TLSTestAuthority("Middle", below: TLSFixture.clientRoot.get())
        let link = try link(.required, version, middle.client("phone 2"), authorities: middle.pem)
        #expect(link.shake() == .done)
        #expect(link.server.peerCertificate?.subject == "CN=phone 2")
    }

    @Test func `a certificate that nobody asked for is not seen`() throws {
        let link = try TLSLink(
            TLSFixture.context(), TLSFixture.options { $0.identity = try TLSFixture.phone.get() })
        #expect(link.shake() == .done)
        #expect(link.server.peerCertificate == nil)
    }

    @Test func `a server's certificate is none for a client`() throws {
        // extendedKeyUsage: serverAuth alone.
        let root = try TLSFixture.clientRoot.get()
        let key = try TestSigningKey()
        var builder = CertificateBuilder(
            subject: CertificateBuilder.name("web"), issuer: CertificateBuilder.name("Client Root"),
            publicKey: key.subjectPublicKeyInfo)
        builder.extensions = [
            CertificateBuilder.extension("2.5.29.37", DERWriter.sequence(DERWriter.oid("1.3.6.1.5.5.7.3.1")))
        ]
        let web = try TLSTestIdentity(der: builder.signed(by: root.key), key: key)
        let link = try self.link(.optional, .tls13, web)
        #expect(link.shake() != .done)
        #expect(link.server.fault?.reason == .badCertificate)
    }
}
