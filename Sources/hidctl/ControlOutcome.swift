// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

/// What a run of hidctl said.
struct ControlOutcome: Sendable, Equatable {
    /// One of ``ExitCode``: 0 ok, 1 refused or failed, 2 wrong usage.
    var exit = ExitCode.success
    var stdout = ""
    var stderr = ""

    init() {}

    mutating func print(_ line: String) { stdout += line + "\n" }
    mutating func warn(_ line: String) { stderr += "hidctl: " + line + "\n" }

    /// Prints a name and a value, the values of all lines below each other.
    mutating func row(_ name: String, _ value: String) {
        print(name + String(repeating: " ", count: max(1, 11 - name.count)) + value)
    }
}

/// What hidctl takes from the world besides files and the network, so that tests can give their own.
struct ControlEnvironment: Sendable {
    /// Unix seconds.
    var now: @Sendable () -> Int64
    /// Standard input, at most that many octets and one more.
    var readInput: @Sendable (Int) -> [UInt8]

    init(now: @escaping @Sendable () -> Int64, readInput: @escaping @Sendable (Int) -> [UInt8]) {
        self.now = now
        self.readInput = readInput
    }
}

/// Why a verb gives up.
enum VerbError: Error, Equatable {
    /// The command line makes no sense: exit 2.
    case usage(String)
    /// A file, a key or the network failed: exit 1.
    case failure(String)
}

/// Text for terminals.
enum Printable {
    /// Printable ASCII as it is; everything else escaped as in JSON.
    static func text(_ octets: [UInt8]) -> String {
        let plain = octets.split(separator: 0x22, omittingEmptySubsequences: false)
            .map { ControlJSON.quoted(Array($0)).dropFirst().dropLast() }
        return String(decoding: Array(plain.joined(separator: [0x22])), as: UTF8.self)
    }

    static func text(_ text: String) -> String { Self.text(Array(text.utf8)) }

    /// An RFC 3339 time in UTC.
    static func time(_ seconds: Int64) -> String {
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return "\(seconds)" }
        var writer = TimestampWriter()
        var bytes: [UInt8] = []
        writer.append(millisecondsSince1970: seconds * 1000, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
