// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import HIDTesting
import Testing

/// What /proc says of a gateway, and how its metrics read.
extension Bench {
    /// Descriptors it holds now.
    var descriptors: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.child.pid)/fd")) ?? []).count
    }

    /// Its memory in RAM, in octets.
    var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/\(daemon.child.pid)/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Processor time it has taken, in seconds.
    var processorTime: Double {
        let text = (try? String(contentsOfFile: "/proc/\(daemon.child.pid)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// A sample of its metrics; `name` with its labels.
    func metric(_ name: String) throws -> Int? {
        let lines = try admin("/metrics")?.text.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix(name + " ") }.flatMap { Int($0.dropFirst(name.count + 1)) }
    }

    func refused(_ cause: String) throws -> Int? {
        try metric("hidgate_connections_refused_total{cause=\"\(cause)\"}")
    }

    /// A measurement of hidbench on this gateway: its figures by name.
    func measure(_ what: String, _ options: [String] = []) throws -> JSONValue? {
        guard case .port(let port) = address else { return nil }
        let child = try ChildProcess(
            DaemonProcess.built("hidbench"),
            [
                "overload", what, "--gateway", "127.0.0.1:\(port)", "--pid", "\(daemon.child.pid)", "--json",
            ] + options)
        guard child.exitCode(within: .seconds(120)) == 0 else {
            throw DaemonFault(description: child.allLines().joined(separator: "\n"))
        }
        return child.allLines().first.flatMap { JSONValue($0) }
    }
}

/// The upstream of hidbench: answers at once, late, or with much.
final class LoadUpstream {
    let child: ChildProcess
    let url: String

    init() throws {
        child = try ChildProcess(DaemonProcess.built("hidbench"), ["overload", "upstream"])
        let first = child.firstLine { line -> String? in line.hasPrefix("127.0.0.1:") ? line : nil }
        guard let address = first else {
            throw DaemonFault(description: "no upstream: \(child.lines)")
        }
        url = "http://\(address)"
    }
}

/// Looks again and again until it is so, and records an issue when it never was.
func expectEventually(
    within time: Duration = .seconds(20), _ isSo: () throws -> Bool, at location: SourceLocation = #_sourceLocation
) throws {
    let deadline = Deadline(in: time)
    while try !isSo() {
        guard deadline.milliseconds > 0 else {
            Issue.record("it never was so", sourceLocation: location)
            return
        }
        Gate().wait(Deadline(in: .milliseconds(20)))
    }
}
