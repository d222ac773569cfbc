// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HIDCrypto
import HIDDaemon
import HIDService
import HIDTesting
import Testing

@Suite struct ListenerTLSDecodingTests {
    @Test func `certificate and key are enough`() throws {
        let folder = try ListenerFiles.folder()
        let (tls, faults) = folder.tls("      { certificate: main.pem, key: main.key }")
        #expect(faults == "")
        var expected = ListenerTLSConfiguration(
            identity: .init(certificate: "\(folder.path)/main.pem", key: "\(folder.path)/main.key"))
        expected.protocols = [.http2, .http1]
        #expect(tls == expected)
        #expect(tls?.minimumVersion == .tls12 && tls?.clientAuthorities == nil)
    }

    @Test func `every key has its place`() throws {
        let folder = try ListenerFiles.folder()
        let (tls, faults) = folder.tls(
            """
                  certificate: main.pem
                  key: \(folder.path)/main.key
                  client_ca: ca.pem
                  client_auth: required
                  alpn: [http/1.1]
                  min_version: "1.3"
                  sni:
                    - { names: [API.example.com.], certificate: api.pem, key: api.key }
                    - { names: ["*.example.com"], certificate: wild.pem, key: wild.key }
            """)
        #expect(faults == "")
        var expected = ListenerTLSConfiguration(
            identity: .init(certificate: "\(folder.path)/main.pem", key: "\(folder.path)/main.key"))
        expected.named = [("api.example.com", "api"), ("*.example.com", "wild")].map { name, file in
            .init(
                names: [name],
                identity: .init(certificate: "\(folder.path)/\(file).pem", key: "\(folder.path)/\(file).key"))
        }
        expected.clientAuthorities = "\(folder.path)/ca.pem"
        expected.clientAuthentication = .required
        expected.protocols = [.http1]
        expected.minimumVersion = .tls13
        #expect(tls == expected)
        let context = try ListenerTLS.load(try #require(tls))
        #expect(context.certificates.map(\.name) == ["default", "api.example.com", "*.example.com"])
        #expect(context.protocols == [.http1])
    }

    /// The inside of `tls`, and the line and what is said.
    struct Fault: Sendable, CustomTestStringConvertible {
        var inside: String
        var expected: String

        init(_ inside: String, _ expected: String) {
            self.inside = inside
            self.expected = expected
        }

        var testDescription: String { expected }
    }

    @Test(arguments: [
        Fault("{ key: main.key }", "4:7: error: missing key 'certificate' in 'tls'"),
        Fault("{ certificate: main.pem }", "4:7: error: missing key 'key' in 'tls'"),
        Fault(
            "{ certificate: gone.pem, key: main.key }",
            "4:22: error: 'certificate': cannot read 'gone.pem': no such file or directory"),
        Fault(
            "{ certificate: main.pem, key: api.key }",
            "4:37: error: 'key': 'api.key' is not the key of the first certificate, CN=main.example; "
                + "the server's own certificate comes first"),
        Fault(
            "{ certificate: nonsense.pem, key: main.key }",
            "4:22: error: 'certificate': 'nonsense.pem' is no PEM file of certificates: "
                + "it has no line -----BEGIN CERTIFICATE-----"),
        Fault(
            "{ certificate: main.key, key: main.key }",
            "4:22: error: 'certificate': 'main.key' is no PEM file of certificates: "
                + "it holds something other than CERTIFICATE; keys go to a file of their own"),
        Fault(
            "{ certificate: main.pem, key: main.key, client_ca: nonsense.pem }",
            "4:58: error: 'client_ca': 'nonsense.pem' is no PEM file of certificates: "
                + "it has no line -----BEGIN CERTIFICATE-----"),
        Fault(
            "{ certificate: main.pem, key: main.key, client_auth: required }",
            "4:47: error: 'client_auth' needs 'client_ca'"),
        Fault(
            "{ certificate: main.pem, key: main.key, client_ca: ca.pem, client_auth: maybe }",
            "4:79: error: 'client_auth' must be optional or required, not 'maybe'"),
        Fault(
            "{ certificate: main.pem, key: main.key, alpn: [h3] }",
            "4:54: error: 'alpn' must be h2 or http/1.1, not 'h3', did you mean 'h2'?"),
        Fault("{ certificate: main.pem, key: main.key, alpn: [] }", "4:53: error: 'alpn' must not be empty"),
        Fault(
            "{ certificate: main.pem, key: main.key, alpn: [h2, h2] }", "4:58: error: duplicate protocol 'h2'"),
        Fault(
            "{ certificate: main.pem, key: main.key, min_version: 1.1 }",
            "4:60: error: 'min_version' must be 1.2 or 1.3, not '1.1', did you mean '1.2'?"),
        Fault(
            "{ certificate: main.pem, key: main.key, ciphers: ALL }", "4:47: error: unknown key 'ciphers'"),
        Fault(
            "{ certificate: main.pem, key: main.key, sni: [{ names: [], certificate: api.pem, key: api.key }] }",
            "4:62: error: 'names' must not be empty"),
        Fault(
            "{ certificate: main.pem, key: main.key, sni: [{ names: [a b], certificate: api.pem, key: api.key }] }",
            "4:63: error: 'names' must be a host name, or *. and a host name, not 'a b'"),
        Fault(
            "{ certificate: main.pem, key: main.key, sni: "
                + "[{ names: [api.example.com, API.example.com.], certificate: api.pem, key: api.key }] }",
            "4:80: error: duplicate server name 'API.example.com.', first on line 4"),
        Fault(
            "{ certificate: main.pem, key: main.key, sni: "
                + "[{ names: [api.example.com], certificate: api.pem, key: main.key }] }",
            "4:108: error: 'key': 'main.key' is not the key of the first certificate, CN=api.example.com; "
                + "the server's own certificate comes first"),
    ])
    func `a fault is shown where it stands`(fault: Fault) throws {
        let (_, faults) = try ListenerFiles.folder().tls("      " + fault.inside)
        let first = faults.split(separator: "\n").first.map(String.init) ?? ""
        #expect(first == "c.yaml:" + fault.expected)
        // One fault, one message.
        #expect(faults.split(separator: "\n").filter { $0.contains(": error: ") }.count == 1)
    }

    @Test func `what works and is odd is a warning`() throws {
        let folder = try ListenerFiles.folder()
        let old = try ListenerFiles.root.get().server(["old.example"], notAfter: 1_000_000_000)
        try folder.write("old", old)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: "\(folder.path)/old.key")
        let (tls, faults) = folder.tls(
            """
                  certificate: old.pem
                  key: old.key
                  sni: [{ names: [web.test], certificate: api.pem, key: api.key }]
            """)
        #expect(tls != nil)
        let lines = faults.split(separator: "\n").filter { $0.contains("c.yaml:") }.map(String.init)
        #expect(
            lines == [
                "c.yaml:4:20: warning: 'certificate': 'old.pem' - CN=old.example has expired: renew it",
                "c.yaml:5:12: warning: 'key': others than its owner may read 'old.key': chmod 600",
                "c.yaml:6:47: warning: 'certificate': 'api.pem' - "
                    + "the certificate is not for web.test: clients will refuse it",
            ])
    }

    @Test func `lists that differ in their TLS alone can be taken over`() throws {
        let folder = try ListenerFiles.folder()
        func list(_ text: String) -> [ListenerConfiguration] { folder.listeners("listeners:\n" + text).listeners }
        let base = list("  - { address: 127.0.0.1:1, tls: { certificate: main.pem, key: main.key } }\n")
        try #require(base.first?.tls != nil)
        let other = list("  - { address: 127.0.0.1:1, tls: { certificate: api.pem, key: api.key } }\n")
        #expect(base.differsInTLSOnly(from: base) && other.differsInTLSOnly(from: base))
        #expect(!list("  - address: 127.0.0.1:1\n").differsInTLSOnly(from: base))
        #expect(
            !list("  - { address: 127.0.0.1:2, tls: { certificate: main.pem, key: main.key } }\n")
                .differsInTLSOnly(from: base))
        #expect(!(base + list("  - address: 127.0.0.1:3\n")).differsInTLSOnly(from: base))
        #expect(
            !list(
                "  - { address: 127.0.0.1:1, trusted_proxies: [10.0.0.0/8], "
                    + "tls: { certificate: main.pem, key: main.key } }\n"
            ).differsInTLSOnly(from: base))
    }
}
