// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDDaemon
import HIDHTTP
import HIDService

/// Speaks with the admin listener of a daemon.
struct AdminClient {
    let address: AddressText
    /// The bearer token; nil: none is sent.
    let token: [UInt8]?

    static let options = [
        CommandLineParser.Option(
            "config", value: "FILE", help: "the daemon's configuration, which says where its admin listener is"),
        CommandLineParser.Option("admin", value: "ADDRESS", help: "the admin listener itself: host:port or unix:/path"),
        CommandLineParser.Option(
            "token-file", value: "FILE", help: "the bearer token; default: that of the configuration"),
    ]

    /// Finds the listener by `--admin`, else by the configuration.
    init(_ arguments: ParsedArguments, defaultConfiguration: String) throws(VerbError) {
        var tokenFile = arguments.value("token-file")
        if let text = arguments.value("admin") {
            do throws(AddressText.Fault) {
                address = try AddressText(parsing: text)
            } catch {
                throw .usage("--admin \(text.quoted) \(error.message)")
            }
        } else {
            let path = arguments.value("config") ?? defaultConfiguration
            let found = try Self.section(of: path)
            address = found.address
            tokenFile = tokenFile ?? found.tokenFile
        }
        var token: [UInt8]?
        if let tokenFile {
            let bytes = try ControlFile.contents(tokenFile, limit: 4096)
            token = Array(bytes.reversed().drop { $0 <= 0x20 }.reversed())
        }
        self.token = token
    }

    /// The `admin` section alone: the rest may name files that the operator cannot read.
    private static func section(of path: String) throws(VerbError) -> AdminConfiguration {
        let bytes = try ControlFile.contents(path, limit: YAMLLimits().bytes)
        let reporter = Reporter()
        guard let root = YAMLParser.parse(bytes, file: path, reporter: reporter),
            case .mapping(let entries) = root.content
        else { throw .failure("\(path.quoted) cannot be read: \(reporter.diagnostics.first)") }
        guard let entry = entries.first(where: { $0.key == "admin" }) else {
            throw .failure("\(path.quoted) has no 'admin' section; give --admin ADDRESS")
        }
        let paths = ConfigurationPaths(relativeTo: path)
        let value = ConfigurationValue(entry.value, name: "admin", reporter: reporter)
        let section = value.mapping { map in
            map.admin(beside: []) { file in
                file.string().map(paths.resolved)
            }
        }
        guard let admin = section ?? nil else {
            throw .failure("\(path.quoted): \(reporter.diagnostics.first)")
        }
        return admin
    }

    /// Sends a request and gives the JSON of its answer.
    func send(_ method: String, _ target: String, _ content: ControlJSON? = nil) throws(VerbError) -> StrictJSON {
        var request = ControlRequest(method: Array(method.utf8), url: "http://\(host)/")
        request.target = Array(target.utf8)
        request.timeout = .seconds(10)
        if case .unix(let path) = address { request.unixSocket = path }
        if let token { request.fields.append(Array("Authorization: Bearer ".utf8) + token) }
        if let content {
            request.body = Array(content.line.utf8)
            request.fields.append(Array("Content-Type: application/json".utf8))
        }
        switch ControlExchange.send(request) {
        case .failure(let fault): throw .failure("no answer from the admin listener \(address.text): \(fault)")
        case .success(let answer):
            guard let json = try? StrictJSON(answer.body, limits: .init(depth: 16, members: 4096)) else {
                throw .failure("the admin listener \(address.text) answered \(answer.status) without JSON")
            }
            guard (200..<300).contains(answer.status) else {
                let error = json.member("error", of: json.root)
                let words = error.flatMap { json.member("message", of: $0) }.flatMap { json.textBytes($0) } ?? []
                throw .failure("refused with \(answer.status): \(Printable.text(words))")
            }
            return json
        }
    }

    private var host: String {
        switch address {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix, .descriptor: "localhost"
        }
    }
}
