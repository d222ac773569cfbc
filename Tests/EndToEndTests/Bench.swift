// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting

/// One gateway process with an issuer, a device and an upstream of its own. Everything goes with it.
final class Bench {
    /// What differs between configurations.
    struct Setup {
        var listeners = "[ { address: \"127.0.0.1:0\" } ]"
        var routes = Bench.loginRoute
        /// Further keys of the upstream, in flow style.
        var upstream = ""
        /// Entries of `servers`, in place of the one `url`.
        var servers: [String] = []
        /// Further keys of the issuer.
        var issuer = ""
        var jwks = "file: jwks.json"
        /// Further top-level sections.
        var sections = ""
        var mode = "block"
        var loops = 1
        var admin = "{ address: \"127.0.0.1:0\" }"
        var environment: [String: String] = [:]
    }

    static let loginRoute = """
        routes:
          - { name: login, match: { path: /api/v1/login, methods: [POST, DELETE] }, critical: true }
        """
    static let hid = "d-e2e-0123456789abcdefgh"

    let folder: TestFolder
    let issuer: TestIssuer
    let device: TestDevice
    let upstream: ScriptedUpstream
    let daemon: DaemonProcess
    let setup: Setup

    init(
        _ setup: Setup = Setup(), upstream: ScriptedUpstream? = nil, url: String? = nil, folder: TestFolder? = nil,
        issuer: TestIssuer? = nil
    ) throws {
        self.setup = setup
        self.folder = try folder ?? TestFolder()
        self.issuer = try issuer ?? TestIssuer()
        device = try TestDevice(hid: Self.hid)
        self.upstream = try upstream ?? ScriptedUpstream()
        let files = self.folder
        try files.write("jwks.json", String(decoding: self.issuer.jwks, as: UTF8.self))
        try files.write("rules.yaml", setup.routes)
        let text = Self.configuration(setup, url: url ?? self.upstream.url)
        daemon = try DaemonProcess(
            configuration: files.write("gateway.yaml", text), environment: setup.environment)
    }

    static func configuration(_ setup: Setup, url: String) -> String {
        """
        version: 1
        listeners: \(setup.listeners)
        upstreams: { api: { \(place(setup, url))\(setup.upstream) } }
        issuers: [ { issuer: "https://his.test", audience: [app-1], jwks: { \(setup.jwks) }\(setup.issuer) } ]
        defaults: { upstream: api, mode: \(setup.mode) }
        rules: [ rules.yaml ]
        admin: \(setup.admin)
        loops: \(setup.loops)
        \(setup.sections)
        """
    }

    private static func place(_ setup: Setup, _ url: String) -> String {
        setup.servers.isEmpty ? "url: \"\(url)\"" : "servers: [ \(setup.servers.joined(separator: ", ")) ]"
    }

    var address: WireAddress { daemon.listeners[0] }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(address, receiveBuffer: receiveBuffer)
    }

    /// One request on a connection of its own.
    func once(_ bytes: [UInt8]) throws -> HTTPMessage? { try client().exchange(bytes) }
    func once(_ text: String) throws -> HTTPMessage? { try client().exchange(text) }

    /// A GET of the admin listener.
    func admin(_ target: String, fields: String = "", method: String = "GET") throws -> HTTPMessage? {
        guard let address = daemon.admin else { return nil }
        return try RawClient(address).exchange(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
    }

    /// The access-log line of an answer, by the request id the client got.
    func line(of response: HTTPMessage?) -> JSONValue? {
        guard let id = response?["X-Request-Id"] else { return nil }
        return daemon.accessLine { $0["request_id"].text == id }
    }

    // MARK: - Requests

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// A fresh token of this bench's device.
    func token(of issuer: TestIssuer? = nil, _ change: (inout TestClaims) -> Void = { _ in }) throws -> String {
        let issuer = issuer ?? self.issuer
        var claims = issuer.claims(for: device, at: Self.now)
        change(&claims)
        return String(decoding: try issuer.mint(claims), as: UTF8.self)
    }

    /// A v1 signature in standard base64 of DER.
    func signature(_ body: [UInt8]) throws -> String { try device.signDER(body) }

    /// A POST with what is given of token and signature.
    static func post(
        _ target: String = "/api/v1/login", token: String? = nil, signature: String? = nil, body: [UInt8] = [],
        fields: String = "", method: String = "POST"
    ) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(body.count)\r\n"
        if let token { head += "X-HID-Token: \(token)\r\n" }
        if let signature { head += "X-HID-Signature: \(signature)\r\n" }
        return Array("\(head)\(fields)\r\n".utf8) + body
    }

    /// A complete good request with a fresh token.
    func good(_ body: [UInt8] = Array("{\"user\":1}".utf8), fields: String = "") throws -> [UInt8] {
        Self.post(token: try token(), signature: try signature(body), body: body, fields: fields)
    }
}

/// Octets that repeat only after 251, so that a shift or a loss shows.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) } }

func get(_ target: String, fields: String = "", method: String = "GET") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: api.test\r\n\(fields)\r\n"
}
