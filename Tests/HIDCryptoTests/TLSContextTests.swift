// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct TLSContextTests {
    private func fault(_ change: (inout TLSServerSettings) throws -> Void) throws -> TLSContextFault? {
        do {
            _ = try TLSFixture.context(nil, change)
            return nil
        } catch let fault as TLSContextFault {
            return fault
        }
    }

    @Test func `certificates are listed with their dates`() throws {
        let renewed = try TLSFixture.root.get().server(["main.example"], notAfter: TLSFixture.now + 5, serial: 0x1A2B)
        let context = try TLSFixture.context { $0.identity = renewed.identity }
        #expect(context.certificates.map(\.name) == ["default", "api.example.com", "*.example.com"])
        let first = try #require(context.certificates.first)
        #expect(first.serial == "1a2b" && first.notAfter == TLSFixture.now + 5 && first.notBefore == 0)
        #expect(first.subject == "CN=main.example")
        #expect(context.remarks.isEmpty)
    }

    @Test func `a key that is not the certificate's is named`() throws {
        let other = try TLSFixture.api.get().key
        let found = try #require(try fault { $0.identity.key = other })
        #expect(found.role == .key(nil))
        #expect(found.description.contains("is not the key of the first certificate, CN=main.example"))
        let named = try #require(try fault { $0.named[1].identity.key = other })
        #expect(named.role == .key(1))
    }

    @Test(arguments: [
        ("", "it has no line"), ("nonsense\n", "it has no line"),
        ("-----BEGIN CERTIFICATE-----\nAAAA", "missing or cut off"),
        ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "no base64"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "no readable certificate as number 1"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "other than CERTIFICATE"),
    ])
    func `a file that holds no certificate is named`(text: String, words: String) throws {
        let octets = Array(text.utf8)
        let changes: [(TLSContextFault.Role, (inout TLSServerSettings) -> Void)] = [
            (.certificate(nil), { $0.identity.certificates = octets }),
            (.certificate(0), { $0.named[0].identity.certificates = octets }),
            (.clientAuthorities, { $0.clientAuthorities = octets }),
        ]
        for (role, change) in changes {
            let found = try #require(try fault(change))
            #expect(found.role == role)
            #expect(found.description.contains(words), "\(found)")
        }
    }

    @Test func `a certificate that is followed by octets or cut at any octet is refused`() throws {
        let der = try TLSFixture.main.get().der
        for count in stride(from: 0, to: der.count, by: 7) {
            let pem = PEM.text(Array(der.prefix(count)), label: "CERTIFICATE")
            #expect(try fault { $0.identity.certificates = pem }?.role == .certificate(nil))
        }
        let longer = PEM.text(der + [0], label: "CERTIFICATE")
        #expect(try fault { $0.identity.certificates = longer }?.role == .certificate(nil))
    }

    @Test func `a key that is none, or has a password, is named`() throws {
        for key in [[], Array("no key".utf8), try TLSFixture.main.get().certificate] {
            let found = try #require(try fault { $0.identity.key = key })
            #expect(found.role == .key(nil))
            #expect(found.description.contains("openssl pkey"))
        }
    }

    @Test func `changed octets of files never pass unseen`() throws {
        let (certificate, key) = try (TLSFixture.main.get().certificate, TLSFixture.main.get().key)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var (changedChain, changedKey) = (certificate, key)
            changedChain[Int.random(in: changedChain.indices, using: &random)] ^= UInt8.random(in: 1...255)
            changedKey[Int.random(in: changedKey.indices, using: &random)] ^= UInt8.random(in: 1...255)
            // Whatever comes: a context or a fault, and no trap.
            _ = try fault { $0.identity.certificates = changedChain }
            _ = try fault { $0.identity.key = changedKey }
        }
    }

    @Test(arguments: ["", "a b", "*.", "*", "a.*.example", "*.*.example", "-\u{E9}.example", "a..b", "x/y"])
    func `a name that is none is named`(name: String) throws {
        let found = try #require(try fault { $0.named[0].names = [name] })
        #expect(found.role == .names(0) && found.description.contains("is no host name"))
    }

    @Test(arguments: ["api.example.com", "API.example.com", "api.example.com.", "*.EXAMPLE.com"])
    func `a name has one identity`(name: String) throws {
        let found = try #require(try fault { $0.named[1].names = ["*.example.com", name] })
        #expect(found.role == .names(1) && found.description.contains("is there twice"))
    }

    @Test func `an identity without names is named`() throws {
        #expect(try fault { $0.named[0].names = [] }?.role == .names(0))
    }

    @Test func `a small key is refused`() throws {
        let weak = try TLSFixture.root.get().server(["weak.example"], kind: .rsa(bits: 1024))
        let found = try #require(try fault { $0.identity = weak.identity })
        #expect(found.role == .certificate(nil) && found.description.contains("key too small"))
    }

    // MARK: - Remarks

    @Test func `dates, names and the order of a chain are remarked on`() throws {
        let root = try TLSFixture.root.get()
        let old = try root.server(["old.example"], notAfter: TLSFixture.now - 1)
        let context = try TLSFixture.context {
            $0.identity = old.identity
            $0.identity.certificates += try TLSFixture.clientRoot.get().pem
            $0.named[0].identity = try root.server(["web.example.com"]).identity
            $0.named[1].identity.certificates += root.pem
        }
        #expect(
            context.remarks.map(\.description) == [
                "CN=old.example has expired: renew it",
                "CN=old.example was not issued by the certificate after it, CN=Client Root",
                "the certificate is not for api.example.com: clients will refuse it",
            ])
        #expect(context.remarks.map(\.role) == [.certificate(nil), .certificate(nil), .certificate(0)])
        // An expired certificate is served all the same.
        let link = try TLSLink(context)
        #expect(link.shake() == .done && link.client.serverCertificate == old.der)
    }

    @Test func `a certificate of the future is remarked on`() throws {
        let context = try TLSFixture.context(now: -5)
        #expect(context.remarks.count == 3)
        #expect(context.remarks.allSatisfy { $0.description.contains("is not valid yet") })
    }
}
