// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

/// hidctl without its process: arguments in, texts and exit code out.
enum HidctlProgram {
    static let version = "0.1.0"

    /// Runs a command line of octets, without the name of the program.
    ///
    /// Blocks for files and for the network; for a thread of its own.
    static func run(arguments: [[UInt8]], environment: ControlEnvironment) -> ControlOutcome {
        run(arguments: arguments.map(RawArgument.string), environment: environment)
    }

    /// Runs a command line whose arguments came from ``RawArgument/string(_:)`` or are UTF-8.
    static func run(arguments: [String], environment: ControlEnvironment) -> ControlOutcome {
        var outcome = ControlOutcome()
        if arguments.isEmpty || CommandLineParser.asksForHelp(arguments) {
            let text = help(for: arguments)
            if arguments.isEmpty {
                outcome.stderr = text
                outcome.exit = ExitCode.controlUsage
            } else {
                outcome.stdout = text
            }
            return outcome
        }
        if arguments.prefix(while: { $0 != "--" }).contains("--version") {
            outcome.print("hidctl \(version)")
            return outcome
        }
        run(arguments, environment, &outcome)
        return outcome
    }

    private static func run(
        _ arguments: [String], _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) {
        do throws(UsageError) {
            let parsed = try HidctlCommandLine.parser.parse(arguments)
            do throws(VerbError) {
                try dispatch(parsed, environment, &outcome)
            } catch {
                report(error, isJSON: parsed.has("json"), &outcome)
            }
        } catch {
            report(.usage(error.description), isJSON: false, &outcome)
        }
    }

    private static func dispatch(
        _ parsed: ParsedArguments, _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) throws(VerbError) {
        switch parsed.verb {
        case HidctlCommandLine.check.name: CheckVerb.run(parsed, &outcome)
        case HidctlCommandLine.routesTest.name: try RouteTestVerb.run(parsed, &outcome)
        case HidctlCommandLine.tokenInspect.name: try TokenInspectVerb.run(parsed, environment, &outcome)
        case HidctlCommandLine.deviceSimulate.name: try DeviceSimulateVerb.run(parsed, environment, &outcome)
        default: throw .usage("unknown verb")
        }
    }

    private static func report(_ error: VerbError, isJSON: Bool, _ outcome: inout ControlOutcome) {
        switch error {
        case .usage(let message):
            outcome.warn(message + "; try 'hidctl --help'")
            outcome.exit = ExitCode.controlUsage
        case .failure(let message):
            outcome.warn(message)
            if isJSON { outcome.print((["error": ["message": ControlJSON(message)]] as ControlJSON).line) }
            outcome.exit = ExitCode.failure
        }
    }

    /// The help of the verb that the arguments begin with, else of the program.
    private static func help(for arguments: [String]) -> String {
        let words = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
        let parser = HidctlCommandLine.parser
        guard
            let verb = parser.verbs.first(where: { words.starts(with: $0.name.split(separator: " ").map(String.init)) })
        else { return parser.help }
        let program = (["hidctl", verb.name] + verb.positionalNames).joined(separator: " ")
        return CommandLineParser(
            program: program, summary: verb.help,
            options: verb.options + parser.options.filter { $0.name != "version" }
        ).help
    }
}
