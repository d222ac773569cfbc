// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct TLSHandshakeTests {
    @Test(arguments: [TLSTestClient.Version.tls12, .tls13])
    func `a client of either version is served, and the facts are there`(version: TLSTestClient.Version) throws {
        let link = try TLSLink(
            TLSFixture.context(),
            TLSFixture.options { options in
                options.maximum = version
                options.serverName = "main.example"
                options.authorities = try TLSFixture.root.get().pem
                options.protocols = ["h2", "http/1.1"]
            })
        #expect(link.server.version == nil && link.server.cipher == nil)
        #expect(link.shake() == .done)
        #expect(link.server.isEstablished && link.server.fault == nil && link.last == .again)
        #expect(link.server.version == (version == .tls13 ? .tls13 : .tls12))
        #expect(link.server.cipher?.hasSuffix("_SHA384") == true || link.server.cipher?.hasSuffix("-SHA256") == true)
        #expect(link.server.serverName == "main.example" && link.server.applicationProtocol == .http2)
        #expect(!link.server.isResumed && link.server.peerCertificate == nil)
        link.ask(Array("hello".utf8))
        #expect(link.received == Array("hello".utf8))
        #expect(link.answer(Array("world".utf8)) == .bytes(5))
        #expect(link.answered == Array("world".utf8))
    }

    @Test func `the cipher of TLS 1.2 is AEAD with ECDHE`() throws {
        let link = try TLSLink(TLSFixture.context(), TLSFixture.options { $0.maximum = .tls12 })
        link.shake()
        let cipher = try #require(link.server.cipher)
        #expect(cipher.hasPrefix("ECDHE-ECDSA-") && (cipher.contains("GCM") || cipher.contains("POLY1305")))
    }

    @Test func `a client with CBC or without forward secrecy is refused`() throws {
        for ciphers in ["ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"] {
            let link = try TLSLink(
                TLSFixture.context(),
                TLSFixture.options {
                    $0.maximum = .tls12
                    $0.ciphers = ciphers
                })
            #expect(link.shake() != .done)
            #expect(link.server.fault?.reason == .noSharedCipher, "\(ciphers) \(String(describing: link.server.fault))")
        }
    }

    @Test(arguments: [TLSTestClient.Version.tls10, .tls11])
    func `older versions are refused`(version: TLSTestClient.Version) throws {
        let link = try TLSLink(
            TLSFixture.context(),
            TLSFixture.options {
                $0.minimum = version
                $0.maximum = version
            })
        #expect(link.shake() == .failed("tlsv1 alert protocol version"))
        #expect(link.server.fault?.reason == .unsupportedVersion)
        guard case .failed = link.server.send([1], from: 0) else {
            Issue.record("a failed session sends")
            return
        }
    }

    @Test func `a listener for 1.3 alone refuses 1.2`() throws {
        let context = try TLSFixture.context { $0.minimumVersion = .tls13 }
        let old = try TLSLink(context, TLSFixture.options { $0.maximum = .tls12 })
        #expect(old.shake() != .done)
        #expect(old.server.fault?.reason == .unsupportedVersion)
        #expect(try TLSLink(context).shake() == .done)
    }

    // MARK: - ALPN

    @Test(arguments: [
        (["http/1.1", "h2"], [TLSApplicationProtocol.http2, .http1], TLSApplicationProtocol.http2),
        (["http/1.1", "h2"], [.http1, .http2], .http1), (["http/1.1"], [.http2, .http1], .http1),
        (["h3", "spdy/3", "http/1.1"], [.http2, .http1], .http1), (["h2", "http/1.1"], [.http1], .http1),
        (["h2c", "h2"], [.http2, .http1], .http2),
    ])
    func `ALPN takes the server's first choice`(
        offered: [String], served: [TLSApplicationProtocol], chosen: TLSApplicationProtocol
    ) throws {
        for version in [TLSTestClient.Version.tls12, .tls13] {
            let link = try TLSLink(
                TLSFixture.context { $0.protocols = served },
                TLSFixture.options {
                    $0.protocols = offered
                    $0.maximum = version
                })
            #expect(link.shake() == .done)
            #expect(link.server.applicationProtocol == chosen && link.client.applicationProtocol == chosen.rawValue)
        }
    }

    @Test(arguments: [["h3"], ["http/1.0"], ["h2c"], ["H2"], ["http/1.1 "], ["h"]])
    func `no protocol in common is an alert`(offered: [String]) throws {
        let link = try TLSLink(TLSFixture.context(), TLSFixture.options { $0.protocols = offered })
        #expect(link.shake() == .failed("tlsv1 alert no application protocol"))
        #expect(link.server.fault?.reason == .noSharedProtocol)
    }

    @Test func `a client without ALPN, or a listener without it, has no protocol`() throws {
        let silent = try TLSLink(TLSFixture.context())
        #expect(silent.shake() == .done)
        #expect(silent.server.applicationProtocol == nil)
        let none = try TLSLink(
            TLSFixture.context { $0.protocols = [] }, TLSFixture.options { $0.protocols = ["h2"] })
        #expect(none.shake() == .done)
        #expect(none.server.applicationProtocol == nil && none.client.applicationProtocol == nil)
    }

    // MARK: - Server names

    @Test(arguments: [
        ("api.example.com", "api", "api.example.com"), ("API.Example.COM", "api", "api.example.com"),
        ("api.example.com.", "api", "api.example.com"), ("www.example.com", "wildcard", "www.example.com"),
        ("a.b.example.com", "main", "a.b.example.com"), ("example.com", "main", "example.com"),
        ("other.test", "main", "other.test"), ("xapi.example.com", "wildcard", "xapi.example.com"),
        ("127.0.0.1", "main", "127.0.0.1"), ("a_b.example.com", "wildcard", "a_b.example.com"),
    ])
    func `the name chooses the certificate`(name: String, expected: String, seen: String) throws {
        let identities = try [
            "api": TLSFixture.api.get(), "wildcard": TLSFixture.wildcard.get(), "main": TLSFixture.main.get(),
        ]
        for version in [TLSTestClient.Version.tls12, .tls13] {
            let link = try TLSLink(
                TLSFixture.context(),
                TLSFixture.options {
                    $0.serverName = name
                    $0.maximum = version
                })
            #expect(link.shake() == .done)
            #expect(link.client.serverCertificate == identities[expected]?.der)
            #expect(link.server.serverName == seen)
        }
    }

    @Test(arguments: [
        "a..example.com", ".example.com", "a/b.example.com", "\u{212A}.example.com", "*.example.com", ".",
    ])
    func `a name that is none gets the default identity`(name: String) throws {
        let link = try TLSLink(TLSFixture.context(), TLSFixture.options { $0.serverName = name })
        #expect(link.shake() == .done)
        #expect(link.server.serverName == nil)
        #expect(try link.client.serverCertificate == TLSFixture.main.get().der)
    }

    @Test func `a client without a name gets the default identity`() throws {
        let link = try TLSLink(TLSFixture.context())
        #expect(link.shake() == .done)
        #expect(link.server.serverName == nil)
        #expect(try link.client.serverCertificate == TLSFixture.main.get().der)
    }

    @Test func `a retry of the hello keeps its identity`() throws {
        // A first key share that the server does not take: HelloRetryRequest.
        let link = try TLSLink(
            TLSFixture.context(),
            TLSFixture.options {
                $0.groups = "P-521:P-384"
                $0.serverName = "api.example.com"
            })
        #expect(link.shake() == .done)
        #expect(link.server.serverName == "api.example.com" && link.server.version == .tls13)
        #expect(try link.client.serverCertificate == TLSFixture.api.get().der)
    }

    @Test func `a retry of the hello that names another server is refused`() throws {
        func hello(_ name: String, groups: String) throws -> [UInt8] {
            let client = try TLSTestClient(
                TLSFixture.options {
                    $0.groups = groups
                    $0.serverName = name
                })
            _ = client.shake()
            return client.takeOutput()
        }
        let link = try TLSLink(TLSFixture.context())
        link.wire(try hello("api.example.com", groups: "P-521:P-384"))
        link.serve()
        #expect(link.server.fault == nil && link.server.serverName == "api.example.com")
        link.wire(try hello("main.example", groups: "P-384"))
        link.serve()
        #expect(link.server.fault?.detail.contains("callback failed") == true)
        #expect(link.server.serverName == "api.example.com" && !link.server.isEstablished)
    }

    @Test func `no group in common is refused`() throws {
        let link = try TLSLink(TLSFixture.context(), TLSFixture.options { $0.groups = "P-521" })
        #expect(link.shake() != .done)
        #expect(link.server.fault?.reason == .noSharedCipher)
    }

    @Test func `a client that does not know our authority says so`() throws {
        let link = try TLSLink(
            TLSFixture.context(),
            TLSFixture.options {
                $0.authorities = try TLSFixture.clientRoot.get().pem
                $0.serverName = "main.example"
                $0.maximum = .tls12
            })
        #expect(link.shake() == .failed("certificate verify failed"))
        #expect(link.server.fault?.reason == .alertReceived)
        #expect(link.server.fault?.detail.contains("unknown ca") == true)
    }

    @Test func `RSA serves as well`() throws {
        let rsa = try TLSFixture.root.get().server(["rsa.example"], kind: .rsa(bits: 2048))
        for version in [TLSTestClient.Version.tls12, .tls13] {
            let link = try TLSLink(
                TLSFixture.context { $0.identity = rsa.identity }, TLSFixture.options { $0.maximum = version })
            #expect(link.shake() == .done)
            #expect(link.client.serverCertificate == rsa.der)
        }
    }
}
