// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDHTTP
import HIDService

/// `hidbench overload`: too much of everything, on a gateway of this machine.
enum OverloadVerb {
    /// What is measured.
    enum Case: String, CaseIterable {
        case prepare, upstream, peak, load, slow, vanish, resets, upload, download
    }

    static let verb = CommandLineParser.Verb(
        "overload", positionals: ["CASE"],
        options: [
            .init("gateway", value: "127.0.0.1:PORT", help: "where the gateway listens"),
            .init("pid", value: "PID", help: "its process"),
            .init("folder", value: "DIR", help: "prepare: where jwks.json and login.http go"),
            .init("request", value: "FILE", help: "the request, octet for octet; default a GET"),
            .init("target", value: "PATH", help: "the target of that GET; default /"),
            .init("rate", value: "R", help: "load, slow: requests a second; default 1000"),
            .init("seconds", value: "S", help: "length of a measurement; default 3"),
            .init("connections", value: "C", help: "connections at most; default 64"),
            .init("clients", value: "N", help: "slow, vanish, resets: how many; default 1000"),
            .init("kind", value: "KIND", help: "slow: heads, bodies, reads or all; default all"),
            .init("rounds", value: "K", help: "slow: rounds without and with them in turn; default 3"),
            .init("patience", value: "MS", help: "load: a client that waits longer gives up; default 1000"),
            .init("megabytes", value: "M", help: "upload, download: how much; default 1000"),
        ],
        help: """
            figures of a gateway under prepare (writes credentials), upstream (serves until killed), peak, load, slow, \
            vanish, resets, upload or download
            """)

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let word = arguments.positionals[0]
        guard let what = Case(rawValue: word) else {
            throw .usage("there is no case \(word.quoted); " + Case.allCases.map(\.rawValue).joined(separator: ", "))
        }
        switch what {
        case .prepare:
            guard let folder = arguments.value("folder") else { throw .usage("prepare needs --folder") }
            try LoadCredentials.write(into: folder)
            return ""
        case .upstream: return try serve()
        default: break
        }
        let run = try OverloadRun(arguments)
        defer { run.loop.stop() }
        let report =
            switch what {
            case .peak: try run.load(isOpen: false)
            case .load: try run.load(isOpen: true)
            case .slow: try run.slow()
            case .vanish: try run.vanish()
            case .resets: try run.resets()
            case .upload: try run.transfer(isUpload: true)
            default: try run.transfer(isUpload: false)
            }
        return report.text(json: arguments.has("json"))
    }

    /// Never returns: whoever started it ends it.
    private static func serve() throws(BenchError) -> String {
        let line = Array("127.0.0.1:\(try SinkServer.start())\n".utf8)
        _ = unsafe line.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        while true { pause() }
    }
}
