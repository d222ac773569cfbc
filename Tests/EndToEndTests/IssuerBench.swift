// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting

/// One hisd process with signing keys, a registry and a test authority of its own. Everything goes with it.
final class IssuerBench {
    /// What differs between configurations.
    struct Setup {
        /// The items of `apps`.
        var apps = IssuerBench.testApp
        var store = "{ kind: sqlite, path: registry.db }"
        var attestation = "{ android_roots: [builtin] }"
        var limits = "{ per_client: 1000000/s, per_device: 1000000/s, attestations: 1000000/s }"
        /// Further top-level sections.
        var sections = ""
        var listener = "{ address: \"127.0.0.1:0\" }"
        var keys = "keys"
        var loops = 1
        var environment: [String: String] = [:]
    }

    /// The application of the gateway's bench, for devices that the authority vouches for.
    static let testApp = "  - { app_id: app-1, test: { authority_keys: [authority.pem] } }"
    static let appID = "app-1"
    static let program = DaemonProcess.built("hisd")
    /// Sets limits of a running process (util-linux).
    static let prlimit = "/usr/bin/prlimit"

    let folder: TestFolder
    let authority: P256PrivateKey
    private(set) var setup: Setup
    private(set) var daemon: DaemonProcess

    init(_ setup: Setup = Setup(), folder: TestFolder? = nil) throws {
        self.setup = setup
        self.folder = try folder ?? TestFolder()
        authority = try P256PrivateKey()
        try Self.writeAuthority(authority, to: self.folder)
        let path = try self.folder.write("his.yaml", Self.configuration(setup))
        daemon = try DaemonProcess(Self.program, configuration: path, environment: setup.environment)
    }

    static func configuration(_ setup: Setup) -> String {
        """
        version: 1
        listeners: [ \(setup.listener) ]
        issuer: https://his.test
        signing_keys: { directory: \(setup.keys) }
        store: \(setup.store)
        apps:
        \(setup.apps)
        attestation: \(setup.attestation)
        rate_limits: \(setup.limits)
        admin: { address: "127.0.0.1:0" }
        loops: \(setup.loops)
        \(setup.sections)
        """
    }

    /// Both halves of an authority's key: authority.pem for the server, authority-key.pem for its phones.
    static func writeAuthority(_ key: P256PrivateKey, to folder: TestFolder) throws {
        let publicPEM = PEM.text(key.publicKey.subjectPublicKeyInfo, label: "PUBLIC KEY")
        try folder.write("authority.pem", String(decoding: publicPEM, as: UTF8.self))
        let path = try folder.write("authority-key.pem", String(decoding: key.pem(), as: UTF8.self))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    var address: WireAddress { daemon.listeners[0] }
    var url: String { Self.url(address) }
    var pid: Int32 { daemon.child.pid }

    static func url(_ address: WireAddress) -> String {
        if case .port(let port) = address { "http://127.0.0.1:\(port)" } else { "" }
    }

    // MARK: - Life

    /// Starts the server again on the same files, after it has ended.
    func restart() throws {
        daemon = try DaemonProcess(
            Self.program, configuration: folder.path + "/his.yaml", environment: setup.environment)
    }

    /// Stops in an orderly way; the exit code.
    func stop() -> Int32? {
        daemon.child.signal(SIGTERM)
        return daemon.child.exitCode()
    }

    /// Writes another configuration and has it read.
    func reload(_ change: (inout Setup) -> Void) throws {
        change(&setup)
        try folder.write("his.yaml", Self.configuration(setup))
        daemon.child.signal(SIGHUP)
    }

    // MARK: - Requests

    func client() throws -> RawClient { try RawClient(address) }

    /// A request of the admin listener.
    func admin(_ target: String, method: String = "GET", body: String? = nil) throws -> HTTPMessage? {
        guard let address = daemon.admin else { return nil }
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return try RawClient(address).exchange(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(length)\r\n\(body ?? "")")
    }

    /// The value of a metric, by its name with labels.
    func metric(_ name: String) throws -> Double? {
        let text = try admin("/metrics")?.text ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    /// The key identifiers of the published set.
    func publishedKeys() throws -> [String] {
        let answer = try client().exchange("GET /.well-known/jwks.json HTTP/1.1\r\nHost: his.test\r\n\r\n")
        return (answer.flatMap { JSONValue($0.text) } ?? .missing)["keys"].elements.compactMap { $0["kid"].text }
    }

    /// Whether something becomes true before the deadline; asks again and again.
    static func eventually(_ time: Duration = .seconds(20), _ holds: () throws -> Bool) rethrows -> Bool {
        let deadline = Deadline(in: time)
        while deadline.milliseconds > 0 {
            if try holds() { return true }
            sched_yield()
        }
        return false
    }

    // MARK: - What stands around it

    /// A gateway that takes its keys from this server, with an upstream of its own.
    func gateway(_ change: (inout Bench.Setup) -> Void = { _ in }) throws -> Bench {
        var setup = Bench.Setup(
            jwks: "url: \"\(url)/.well-known/jwks.json\"", sections: VerificationTests.limits)
        change(&setup)
        let bench = try Bench(setup)
        guard bench.daemon.event("jwks.loaded") != nil else {
            throw DaemonFault(description: "the gateway got no keys: \(bench.daemon.child.lines)")
        }
        return bench
    }

    /// Runs hidctl.
    static func hidctl(_ arguments: String...) throws -> Pages.Outcome { try Pages.run("hidctl", arguments) }
}
