// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct CommandLineTests {
    static let daemon = CommandLineParser(
        program: "hidgated", summary: "the gateway daemon",
        options: [
            .init("config", value: "FILE", required: true, help: "configuration"),
            .init("version", help: "show version"),
        ])

    static let control = CommandLineParser(
        program: "hidctl", summary: "the operator's tool",
        options: [
            .init("config", value: "FILE", help: "configuration"), .init("json", help: "for programs"),
        ],
        verbs: [
            .init("check", positionals: ["FILE"], count: 1...Int.max, help: "validate"),
            .init("routes test", positionals: ["METHOD", "URL"], help: "which rule"),
            .init("token inspect", positionals: ["TOKEN"], help: "read a token"),
            .init("token make", help: "make one"),
            .init("sessions", help: "all sessions"),
            .init("sessions show", positionals: ["HID"], help: "one device"),
            .init(
                "deny", positionals: ["HID"],
                options: [
                    .init("for", value: "DURATION", help: "how long"),
                    .init("reason", value: "TEXT", required: true, help: "why"),
                    .init("tag", value: "TAG", repeatable: true, help: "any number"),
                ], help: "refuse a device"),
        ])

    struct Fault: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var expected: String
        var isDaemon = false
        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let faults = [
        Fault(arguments: [], expected: "missing option '--config'", isDaemon: true),
        Fault(arguments: ["--config"], expected: "option '--config' needs a value", isDaemon: true),
        Fault(
            arguments: ["--confg", "x"], expected: "unknown option '--confg', did you mean '--config'?", isDaemon: true),
        Fault(arguments: ["--config=a", "--config=b"], expected: "option '--config' is given twice", isDaemon: true),
        Fault(arguments: ["--config=a", "--version=1"], expected: "option '--version' takes no value", isDaemon: true),
        Fault(arguments: ["--config=a", "extra"], expected: "unexpected argument 'extra'", isDaemon: true),
        Fault(arguments: ["-c", "a"], expected: "unknown option '-c'", isDaemon: true),
        Fault(
            arguments: ["--conf", "a"], expected: "unknown option '--conf', did you mean '--config'?", isDaemon: true),
        Fault(arguments: ["--frobnicate"], expected: "unknown option '--frobnicate'", isDaemon: true),
        Fault(arguments: [], expected: "missing verb, one of check, routes, token, sessions or deny"),
        Fault(arguments: ["chek"], expected: "unknown verb 'chek', did you mean 'check'?"),
        Fault(arguments: ["frobnicate"], expected: "unknown verb 'frobnicate'"),
        Fault(arguments: ["--json", "check"], expected: "unknown verb '--json'"),
        Fault(arguments: ["token"], expected: "'token' needs inspect or make"),
        Fault(
            arguments: ["token", "inspct"],
            expected: "'token' needs inspect or make, not 'inspct', did you mean 'inspect'?"),
        Fault(arguments: ["check"], expected: "missing FILE"),
        Fault(arguments: ["routes", "test", "GET"], expected: "missing URL"),
        Fault(arguments: ["routes", "test", "GET", "/", "x"], expected: "unexpected argument 'x'"),
        Fault(arguments: ["deny", "abc"], expected: "missing option '--reason'"),
        Fault(arguments: ["check", "a", "--reason", "x"], expected: "unknown option '--reason'"),
        Fault(arguments: ["check", "a", "--x\u{1B}[2J"], expected: "unknown option '--x?[2J'"),
    ]

    @Test(arguments: faults) func `says word for word what is wrong`(fault: Fault) {
        let parser = fault.isDaemon ? Self.daemon : Self.control
        #expect(throws: UsageError(fault.expected)) { try parser.parse(fault.arguments) }
    }

    @Test func `options have their value behind them or behind an equals sign`() throws {
        for arguments in [["--config", "a=b"], ["--config=a=b"]] {
            let parsed = try Self.daemon.parse(arguments)
            #expect(parsed.verb == nil)
            #expect(parsed.value("config") == "a=b")
            #expect(!parsed.has("version"))
        }
        #expect(try Self.daemon.parse(["--config="]).value("config") == "")
        #expect(try Self.daemon.parse(["--config", "--version"]).value("config") == "--version")
    }

    @Test func `the longest verb wins and options mix with positionals`() throws {
        let show = try Self.control.parse(["sessions", "show", "--json", "abc", "--config", "f"])
        #expect(show.verb == "sessions show")
        #expect(show.positionals == ["abc"])
        #expect(show.has("json"))
        #expect(show.value("config") == "f")
        #expect(try Self.control.parse(["sessions"]).verb == "sessions")
        let deny = try Self.control.parse(["deny", "--reason", "a b", "--tag=1", "--tag", "2", "--", "--abc"])
        #expect(deny.positionals == ["--abc"])
        #expect(deny.allValues("tag") == ["1", "2"])
        #expect(try Self.control.parse(["check", "-"]).positionals == ["-"])
    }

    @Test func `help is asked for in many ways`() {
        for arguments in [["--help"], ["-h"], ["help"], ["check", "--help"]] {
            #expect(CommandLineParser.asksForHelp(arguments))
        }
        for arguments in [[], ["check", "help"], ["check", "--", "--help"]] {
            #expect(!CommandLineParser.asksForHelp(arguments))
        }
    }

    @Test func `the help shows verbs and options`() {
        let expected = """
            hidgated: the gateway daemon

            usage: hidgated --config FILE [--version]

            options:
              --config FILE               configuration
              --version                   show version

            """
        #expect(Self.daemon.help == expected)
        #expect(Self.control.help.contains("\n  check FILE                  validate\n"))
        #expect(
            Self.control.help.contains(
                "\n  deny HID [--for DURATION] --reason TEXT [--tag TAG]\n                              refuse a device\n"
            ))
    }

    @Test func `exit codes are those of the contract`() {
        let codes = [ExitCode.success, ExitCode.failure, ExitCode.controlUsage, ExitCode.usage, ExitCode.bug]
        #expect(codes + [ExitCode.configuration] == [0, 1, 2, 64, 70, 78])
    }
}
