// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDService
import HIDTesting
import Testing

/// A right his.yaml with one section put in place of its own, or behind the others, and what is said of it.
struct IssuerConfigurationFault: Sendable, CustomTestStringConvertible {
    /// One line each.
    private static let sections = [
        ("version", "version: 1"), ("listeners", "listeners: [{ address: 127.0.0.1:8700 }]"),
        ("issuer", "issuer: https://his.example.com"), ("signing_keys", "signing_keys: { directory: keys }"),
        ("store", "store: { kind: memory }"),
        ("apps", "apps: [{ app_id: demo, test: { authority_keys: [authority.pem] } }]"),
    ]

    var name: String
    private let section: String
    private let text: String
    /// With paths relative to the folder of his.yaml.
    var expected: String

    init(_ name: String, section: String, _ text: String, expected: String) {
        self.name = name
        self.section = section
        self.text = text
        self.expected = expected
    }

    var testDescription: String { name }

    /// The whole file.
    var file: String { Self.file(replacing: section, with: text) }

    static func file(replacing section: String = "", with text: String = "") -> String {
        var lines = sections.map { $0.0 == section ? text : $0.1 }
        if !sections.contains(where: { $0.0 == section }), !text.isEmpty { lines.append(text) }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ConfigurationFolder {
    /// A folder with the files that configurations name; `his.yaml` comes later.
    static func issuer() throws -> ConfigurationFolder {
        let key = try P256PrivateKey()
        let pem = PEM.text(key.publicKey.subjectPublicKeyInfo, label: "PUBLIC KEY")
        let folder = try ConfigurationFolder(["text.txt": "hello\n", "list.json": "{}\n"])
        try folder.write("authority.pem", pem)
        try folder.write("two.pem", pem + pem)
        try folder.write("private.pem", try key.pem())
        let other = try TestSigningKey(.p384)
        try folder.write("p384.pem", PEM.text(other.subjectPublicKeyInfo, label: "PUBLIC KEY"))
        let root = CertificateBuilder.authority(CertificateBuilder.name("root"), key: other)
        try folder.write("root.pem", PEM.text(try root.signed(by: other), label: "CERTIFICATE"))
        try folder.write("bad.pem", PEM.text([0, 0, 0], label: "CERTIFICATE"))
        try FileSystem.createDirectory("\(folder.path)/dir", mode: 0o700)
        return folder
    }

    /// Writes and loads his.yaml; the text has no folder in its paths.
    func load(_ text: String) throws -> (configuration: IssuerConfiguration?, text: String) {
        try write("his.yaml", text)
        let (configuration, diagnostics) = IssuerConfiguration.load(path: "\(path)/his.yaml")
        return (configuration, removingFolder(diagnostics.rendered))
    }
}

@Suite struct IssuerConfigurationFaultTests {
    static let all =
        IssuerConfigurationFault.general + IssuerConfigurationFault.running + IssuerConfigurationFault.apps
        + IssuerConfigurationFault.attestation

    @Test(arguments: all) func `says what is wrong, where, in one run`(fault: IssuerConfigurationFault) throws {
        let (configuration, text) = try ConfigurationFolder.issuer().load(fault.file)
        #expect(text == fault.expected)
        #expect(configuration == nil)
    }

    @Test(arguments: ["", "# nothing\n", "- a\n", "version: [\n", "version: 1\n\tx: 1\n", "a: &b 1\n", "\u{0}", "7\n"])
    func `what is no mapping is refused`(text: String) throws {
        let (configuration, rendered) = try ConfigurationFolder.issuer().load(text)
        #expect(configuration == nil)
        #expect(rendered.hasPrefix("his.yaml:"))
        #expect(rendered.contains(": error: "))
    }

    @Test func `a file that cannot be read is said so`() {
        let (configuration, diagnostics) = IssuerConfiguration.load(path: "/nonexistent/his.yaml")
        #expect(configuration == nil)
        #expect(
            diagnostics.rendered
                == "/nonexistent/his.yaml:1:1: error: cannot read '/nonexistent/his.yaml': no such file or directory\n")
    }
}
