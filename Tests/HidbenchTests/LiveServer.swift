// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting

/// Why a program did not do its part.
struct ProgramFault: Error, CustomStringConvertible {
    let description: String
}

/// One hisd with a test authority. Everything goes with it.
final class LiveServer {
    let folder: TestFolder
    let child: ChildProcess
    let url: String
    let authorityKey: String

    /// The built programs, beside the test bundle.
    static func program(_ name: String) -> String {
        let this = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (this as NSString).deletingLastPathComponent + "/" + name
    }

    /// Starts hisd with these limits for one device and waits until it is ready.
    init(perDevice: String = "100000/s") throws {
        folder = try TestFolder()
        authorityKey = "\(folder.path)/authority.pem"
        let made = try ChildProcess(
            Self.program("hidbench"), ["authority", authorityKey, "\(folder.path)/authority.pub"])
        guard made.exitCode() == 0 else { throw ProgramFault(description: made.allLines().joined(separator: "\n")) }
        let configuration = try folder.write(
            "his.yaml",
            """
            version: 1
            listeners: [ { address: "127.0.0.1:0" } ]
            issuer: https://his.test
            signing_keys: { directory: keys }
            store: { kind: sqlite, path: registry.db }
            apps: [ { app_id: demo-app, test: { authority_keys: [authority.pub] } } ]
            rate_limits: { per_client: 100000/s, per_device: \(perDevice), attestations: 100000/s }
            loops: 1
            """)
        let child = try ChildProcess(Self.program("hisd"), ["--config", configuration])
        self.child = child
        let address = child.firstLine { line -> String? in
            guard let json = JSONValue(line), json["event"].text == "ready" else { return nil }
            return json["listeners"].text
        }
        guard let address else {
            throw ProgramFault(description: "hisd did not get ready: \(child.lines.joined(separator: "\n"))")
        }
        url = "http://\(address)"
    }

    /// A short load, as hidbench's one line of JSON; nil when it says anything else.
    func load(_ arguments: [String] = []) throws -> (exit: Int32?, lines: [String], figures: JSONValue?) {
        let bench = try ChildProcess(
            Self.program("hidbench"),
            [
                "issuer", "--his", url, "--authority-key", authorityKey, "--pid", "\(child.pid)", "--devices", "20",
                "--rate", "50", "--seconds", "1", "--rounds", "1", "--connections", "4", "--json",
            ] + arguments)
        let exit = bench.exitCode(within: .seconds(60))
        let lines = bench.allLines()
        return (exit, lines, lines.count == 1 ? JSONValue(lines[0]) : nil)
    }
}
