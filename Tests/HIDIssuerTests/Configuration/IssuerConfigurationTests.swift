// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDDaemon
import HIDService
import HIDTesting
import Testing

@testable import HIDIssuer

/// What a right his.yaml comes to.
@Suite struct IssuerConfigurationTests {
    private static let digest = String(repeating: "0123456789abcdef", count: 4)
    private static let colons = Array(repeating: "AB", count: 32).joined(separator: ":")

    private func load(_ text: String, _ folder: ConfigurationFolder) throws -> IssuerConfiguration {
        let (configuration, faults) = try folder.load(text)
        #expect(faults == "")
        return try #require(configuration)
    }

    @Test func `the least that is needed has these defaults`() throws {
        let folder = try ConfigurationFolder.issuer()
        let configuration = try load(IssuerConfigurationFault.file(), folder)
        var expected = IssuerConfiguration()
        expected.listeners = [ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 8700))]
        expected.issuer = "https://his.example.com"
        expected.keyDirectory = "\(folder.path)/keys"
        var app = AppConfiguration(appID: "demo")
        var test = TestAppConfiguration()
        let pem = try FileSystem.contents(of: "\(folder.path)/authority.pem", limit: 4096)
        test.authorityKeys = [try P256PublicKey(pem: pem).point]
        app.test = test
        expected.apps = ["demo": app]
        #expect(configuration == expected)
        #expect(configuration.tokenLife == .seconds(30))
        #expect(configuration.store == .memory)
        #expect(configuration.rateLimits.perClient == Rate(count: 50, per: .seconds(1)))
        #expect(configuration.rateLimits.perDevice == Rate(count: 5, per: .seconds(1)))
        #expect(configuration.rateLimits.attestations == Rate(count: 30, per: .seconds(60)))
        #expect(configuration.attestation.androidRoots == AttestationConfiguration.Roots())
        #expect(configuration.attestation.revocationList == nil)
        #expect(!configuration.attestation.allowsAttestKey)
        #expect(configuration.attestation.sdkKeysOnly)
        #expect(configuration.admin == nil)
        #expect(configuration.loops == 0)
    }

    private static let full = """
        version: 1
        listeners:
          - { address: 0.0.0.0:8700, trusted_proxies: [10.0.0.0/8, "2001:db8::/32"] }
          - address: unix:/run/hisd.sock
        issuer: urn:his
        signing_keys: { directory: /var/lib/hisd/keys }
        store: { kind: sqlite, path: registry.db }
        token: { life: 60s }
        apps:
          - app_id: one.App_1-x
            android:
              packages: [com.example.app, com.example.other]
              signer_digests: [\(digest), "\(colons)"]
              security_levels: [strongbox]
              verified_boot_keys: [\(digest)]
            ios: { team_id: ABCDE12345, bundle_ids: [com.example.app, com.example.two], environment: development }
          - { app_id: two, test: { authority_keys: [authority.pem, authority.pem] } }
        attestation:
          android_roots: [root.pem]
          ios_roots: [builtin, root.pem, root.pem]
          revocation_list: { url: "https://lists.example.com:8443/status?x=1", file: new/status.json, snapshot: list.json,
                             max_age: 36h, when_stale: open }
          attest_key: true
          sdk_keys_only: false
        rate_limits: { per_client: 7/m, per_device: 1/h, attestations: 2/s }
        admin: { address: "[::1]:8702", token_file: text.txt }
        timeouts: { header: 1s, body_idle: 2s, keep_alive: 3s, write: 4s, drain: 5s }
        loops: 3

        """

    @Test func `every key is read`() throws {
        let folder = try ConfigurationFolder.issuer()
        let configuration = try load(Self.full, folder)
        #expect(
            configuration.listeners.map(\.address) == [
                .tcp(host: "0.0.0.0", port: 8700), .unix(path: "/run/hisd.sock"),
            ])
        #expect(configuration.listeners[0].trustedProxies.map(\.prefixLength) == [104, 32])
        #expect(configuration.issuer == "urn:his")
        #expect(configuration.keyDirectory == "/var/lib/hisd/keys")
        #expect(configuration.store == .sqlite(path: "\(folder.path)/registry.db"))
        #expect(configuration.tokenLife == .seconds(60))
        #expect(Set(configuration.apps.keys) == ["one.App_1-x", "two"])
        let one = try #require(configuration.apps["one.App_1-x"])
        #expect(one.test == nil)
        let android = try #require(one.android)
        #expect(android.packages == ["com.example.app", "com.example.other"])
        #expect(android.signerDigests == [Vectors.hex(Self.digest), [UInt8](repeating: 0xAB, count: 32)])
        #expect(android.securityLevels == [.strongbox])
        #expect(android.verifiedBootKeys == [Vectors.hex(Self.digest)])
        let ios = try #require(one.ios)
        #expect(ios.appIDs == ["ABCDE12345.com.example.app", "ABCDE12345.com.example.two"])
        #expect(ios.environment == .development)
        let two = try #require(configuration.apps["two"])
        #expect((two.android == nil, two.ios == nil) == (true, true))
        #expect(two.test?.authorityKeys.count == 2)
        expectRest(configuration, folder)
    }

    private func expectRest(_ configuration: IssuerConfiguration, _ folder: ConfigurationFolder) {
        let attestation = configuration.attestation
        #expect(!attestation.androidRoots.builtin)
        #expect(attestation.androidRoots.extra.count == 1)
        #expect(attestation.appleRoots.builtin)
        #expect(attestation.appleRoots.extra.count == 2)
        #expect(attestation.allowsAttestKey)
        #expect(!attestation.sdkKeysOnly)
        var list = RevocationListConfiguration()
        list.url = "https://lists.example.com:8443/status?x=1"
        list.file = "\(folder.path)/new/status.json"
        list.snapshot = "\(folder.path)/list.json"
        list.maximumAge = .seconds(36 * 3600)
        list.whenStale = .open
        #expect(attestation.revocationList == list)
        #expect(configuration.rateLimits.perClient == Rate(count: 7, per: .seconds(60)))
        #expect(configuration.rateLimits.perDevice == Rate(count: 1, per: .seconds(3600)))
        #expect(configuration.rateLimits.attestations == Rate(count: 2, per: .seconds(1)))
        #expect(configuration.admin?.address == .tcp(host: "::1", port: 8702))
        #expect(configuration.admin?.tokenFile == "\(folder.path)/text.txt")
        let timeouts = configuration.timeouts
        let all = [timeouts.header, timeouts.bodyIdle, timeouts.keepAlive, timeouts.write, timeouts.drain]
        #expect(all == [1, 2, 3, 4, 5].map { Duration.seconds($0) })
        #expect(configuration.loops == 3)
    }

    @Test(arguments: [
        ("[builtin]", true, 0), ("[\"builtin\"]", true, 0), ("[root.pem]", false, 1), ("[root.pem, builtin]", true, 1),
        ("[builtin, builtin]", true, 0),
    ])
    func `only the roots that are listed are trusted`(roots: String, isBuiltin: Bool, extra: Int) throws {
        let folder = try ConfigurationFolder.issuer()
        for platform in ["android_roots", "ios_roots"] {
            let text = IssuerConfigurationFault.file(replacing: "extra", with: "attestation: { \(platform): \(roots) }")
            let attestation = try load(text, folder).attestation
            let (named, other) =
                platform == "ios_roots"
                ? (attestation.appleRoots, attestation.androidRoots)
                : (attestation.androidRoots, attestation.appleRoots)
            #expect((named.builtin, named.extra.count) == (isBuiltin, extra))
            #expect(other == AttestationConfiguration.Roots())
        }
    }

    @Test(arguments: [
        "https://lists.example.com/status", "http://127.0.0.1:8080/status", "http://localhost/", "http://[::1]/status",
        "http://127.1.2.3/",
    ])
    func `a list comes over TLS, or from this machine`(url: String) throws {
        let folder = try ConfigurationFolder.issuer()
        let text = "attestation: { revocation_list: { url: \"\(url)\" } }"
        let list = try load(IssuerConfigurationFault.file(replacing: "extra", with: text), folder).attestation
            .revocationList
        #expect(list?.url == url)
        #expect(list?.file == nil)
        #expect(list?.maximumAge == .seconds(7 * 86_400))
        #expect(list?.whenStale == .closed)
    }

    @Test func `a snapshot that the installation could not fetch is a warning, and it is done without`() throws {
        let folder = try ConfigurationFolder.issuer()
        let section = "attestation: { revocation_list: { url: \"https://lists.example.com/\", snapshot: none.json } }"
        try folder.write("his.yaml", IssuerConfigurationFault.file(replacing: "extra", with: section))
        let (configuration, diagnostics) = IssuerConfiguration.load(path: "\(folder.path)/his.yaml")
        #expect(try #require(configuration).attestation.revocationList?.snapshot == nil)
        #expect(diagnostics.warningCount == 1)
        #expect(diagnostics.rendered.contains("warning: 'snapshot': cannot read"))
    }

    @Test func `paths are relative to the file that names them, wherever the program runs`() throws {
        let folder = try ConfigurationFolder.issuer()
        let text = IssuerConfigurationFault.file(replacing: "store", with: "store: { kind: sqlite, path: ../r.db }")
        #expect(try load(text, folder).store == .sqlite(path: "\(folder.path)/../r.db"))
        let absolute = IssuerConfigurationFault.file(replacing: "signing_keys", with: "signing_keys: { directory: /k }")
        #expect(try load(absolute, folder).keyDirectory == "/k")
    }
}
