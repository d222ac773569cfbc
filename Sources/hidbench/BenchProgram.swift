// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDService

/// Why a measurement was not made.
enum BenchError: Error, Equatable {
    /// The command line makes no sense: exit 2.
    case usage(String)
    /// A file, a key or the server failed: exit 1.
    case failure(String)
}

/// hidbench without its process: arguments in, text and exit code out.
///
/// A developer's tool. What it prints are figures of one machine at one moment; compare ratios within a run.
enum BenchProgram {
    static let parser = CommandLineParser(
        program: "hidbench", summary: "measures the parts of hidgate; a developer's tool",
        options: [
            CommandLineParser.Option("json", help: "print one JSON object"),
            CommandLineParser.Option("help", help: "this text"),
        ],
        verbs: [
            CurveVerb.verb, AttestationVerb.verb, AuthorityVerb.verb, IssuerVerb.verb, PathVerb.verb, FuzzVerb.verb,
            OverloadVerb.verb,
        ])

    /// Runs a command line, without the name of the program; blocks until the measurement is made.
    static func run(_ arguments: [String]) -> (text: String, exit: Int32) {
        if CommandLineParser.asksForHelp(arguments) { return (parser.help, ExitCode.success) }
        do throws(UsageError) {
            let parsed = try parser.parse(arguments)
            do throws(BenchError) {
                return (try dispatch(parsed), ExitCode.success)
            } catch {
                return report(error)
            }
        } catch {
            return report(.usage(error.description))
        }
    }

    private static func dispatch(_ parsed: ParsedArguments) throws(BenchError) -> String {
        switch parsed.verb {
        case CurveVerb.verb.name: try CurveVerb.run(parsed)
        case AttestationVerb.verb.name: try AttestationVerb.run(parsed)
        case AuthorityVerb.verb.name: try AuthorityVerb.run(parsed)
        case IssuerVerb.verb.name: try IssuerVerb.run(parsed)
        case OverloadVerb.verb.name: try OverloadVerb.run(parsed)
        case PathVerb.verb.name: try PathVerb.run(parsed)
        case FuzzVerb.verb.name: try FuzzVerb.run(parsed)
        default: throw .usage("unknown verb")
        }
    }

    private static func report(_ error: BenchError) -> (text: String, exit: Int32) {
        switch error {
        case .usage(let message): ("hidbench: \(message); try 'hidbench --help'\n", ExitCode.controlUsage)
        case .failure(let message): ("hidbench: \(message)\n", ExitCode.failure)
        }
    }
}

/// The process around ``BenchProgram``.
enum BenchProcess {
    /// Runs the command line of this process, writes what it said, and gives the exit code.
    static func run() -> Int32 {
        ServiceSignals.ignoreFailedWrites()
        let (text, exit) = BenchProgram.run(Array(CommandLine.arguments.dropFirst()))
        let octets = Array(text.utf8)
        var position = 0
        while position < octets.count {
            let rest = octets[position...]
            let written = unsafe rest.withUnsafeBytes { bytes in
                unsafe write(exit == ExitCode.success ? STDOUT_FILENO : STDERR_FILENO, bytes.baseAddress, bytes.count)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { break }
            position += written
        }
        return exit
    }
}

extension ParsedArguments {
    /// A whole number from 1 to `maximum`; `fallback` when the option is not given.
    func count(_ name: String, _ fallback: Int, maximum: Int) throws(BenchError) -> Int {
        guard let text = value(name) else { return fallback }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            (1...maximum).contains(number)
        else { throw .usage("--\(name) takes a number from 1 to \(maximum), not \(text.quoted)") }
        return number
    }
}

/// Files that the verbs read and write.
enum BenchFile {
    static func contents(_ path: String, limit: Int) throws(BenchError) -> [UInt8] {
        do throws(SystemFault) {
            let bytes = try FileSystem.contents(of: path, limit: limit)
            if bytes.count <= limit { return bytes }
        } catch {
            throw .failure("cannot read \(path.quoted): \(error)")
        }
        throw .failure("\(path.quoted) has more than \(limit) octets")
    }
}
