// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
package import HIDService
internal import Synchronization

/// A daemon that runs.
package protocol RunningDaemon: AnyObject, Sendable {
    /// The addresses in the order of the configuration, with the ports that were really bound.
    var addresses: [String] { get }
    /// Where the admin listener is, with the port that was really bound.
    var adminAddress: String? { get }
    /// Reads configuration and keys again; on any fault the old ones stay.
    func reload()
    /// Opens log files again, after they were rotated.
    func reopenLogs()
    /// Stops accepting, lets what is under way finish, and calls `done` (with the number of exchanges that were cut)
    /// when nothing is left or the deadline has passed.
    func drain(within limit: Duration, done: @escaping @Sendable (_ cut: Int) -> Void)
}

/// What makes a daemon of a kind.
package struct DaemonKind<Configuration: Sendable>: Sendable {
    /// `hidgated` or `hisd`.
    package var name: String
    package var summary: String
    /// Reads the configuration; nil after any error.
    package var load: @Sendable (_ path: String) -> (Configuration?, Diagnostics)
    /// Starts everything; when it returns, connections are accepted.
    package var start: @Sendable (Configuration, _ path: String, Log, LineSink?) throws(StartError) -> any RunningDaemon
    /// Further members of the line `ready`.
    package var readyFields: @Sendable (Configuration) -> (key: StaticString, value: Int)
    /// What an operator should know about a configuration that is valid.
    package var remarks: @Sendable (Configuration, Log) -> Void
    package var drainLimit: @Sendable (Configuration) -> Duration

    package init(
        name: String, summary: String, load: @escaping @Sendable (String) -> (Configuration?, Diagnostics),
        start: @escaping @Sendable (Configuration, String, Log, LineSink?) throws(StartError) -> any RunningDaemon,
        readyFields: @escaping @Sendable (Configuration) -> (key: StaticString, value: Int),
        remarks: @escaping @Sendable (Configuration, Log) -> Void,
        drainLimit: @escaping @Sendable (Configuration) -> Duration
    ) {
        self.name = name
        self.summary = summary
        self.load = load
        self.start = start
        self.readyFields = readyFields
        self.remarks = remarks
        self.drainLimit = drainLimit
    }
}

/// The life of a daemon: arguments, configuration, run, exit code.
package final class DaemonProgram: Sendable {
    private let daemon: any RunningDaemon
    private let log: Log
    private let standardError: LineSink?
    private let notifier = ServiceNotifier()
    private let drainLimit: Duration
    private let stops = Atomic<Int>(0)

    private init(daemon: any RunningDaemon, log: Log, standardError: LineSink?, drainLimit: Duration) {
        self.daemon = daemon
        self.log = log
        self.standardError = standardError
        self.drainLimit = drainLimit
    }

    /// Runs a daemon until it is told to stop.
    ///
    /// Never returns.
    package static func main<Configuration>(_ kind: DaemonKind<Configuration>, _ arguments: [String]) -> Never {
        ServiceSignals.ignoreFailedWrites()
        let parser = CommandLineParser(
            program: kind.name, summary: kind.summary,
            options: [
                .init("config", value: "FILE", required: true, help: "the configuration file"),
                .init("version", help: "print the version"),
            ])
        let path: String
        do throws(UsageError) {
            if CommandLineParser.asksForHelp(arguments) { finish(parser.help, to: 1, code: ExitCode.success) }
            if arguments == ["--version"] {
                finish("\(kind.name) \(ProductVersion.text)\n", to: 1, code: ExitCode.success)
            }
            let parsed = try parser.parse(arguments)
            guard let config = parsed.value("config"), parsed.positionals.isEmpty else {
                finish(parser.help, to: 2, code: ExitCode.usage)
            }
            path = config
        } catch {
            finish("\(kind.name): \(error)\n", to: 2, code: ExitCode.usage)
        }
        let (configuration, diagnostics) = kind.load(path)
        write(diagnostics.rendered, to: 2)
        guard let configuration else { exit(ExitCode.configuration) }
        run(kind, configuration, path: path)
    }

    private static func run<Configuration>(
        _ kind: DaemonKind<Configuration>, _ configuration: Configuration, path: String
    ) -> Never {
        let standardError = try? LineSink(.descriptor(2), label: "hidgate.stderr")
        DescriptorLimit.raise()
        let log = Log(sink: standardError.map { .lines($0) } ?? .stderr)
        do throws(StartError) {
            let daemon = try kind.start(configuration, path, log, standardError)
            let program = DaemonProgram(
                daemon: daemon, log: log, standardError: standardError, drainLimit: kind.drainLimit(configuration))
            let queue = DispatchQueue(label: "hidgate.control")
            let signals = ServiceSignals(queue: queue) { program.handle($0) }
            kind.remarks(configuration, log)
            program.announce(kind.readyFields(configuration))
            withExtendedLifetime(signals) { dispatchMain() }
        } catch {
            log.error("start.failed", ["fault": .string(error.description)])
            standardError?.flush()
            if case .configuration = error { exit(ExitCode.configuration) }
            exit(ExitCode.failure)
        }
    }

    private func announce(_ extra: (key: StaticString, value: Int)) {
        let addresses = daemon.addresses.joined(separator: " ")
        log.info(
            "ready",
            [
                "version": .string(ProductVersion.text), "listeners": .string(addresses),
                "admin": .string(daemon.adminAddress ?? ""), extra.key: .integer(extra.value),
                "pid": .integer(Int(getpid())),
            ])
        notifier.notify(.ready, .status("serving on \(addresses)"))
    }

    private func handle(_ signal: ServiceSignal) {
        switch signal {
        case .reload:
            notifier.notify(.reloading)
            daemon.reload()
            notifier.notify(.ready)
        case .reopen: daemon.reopenLogs()
        case .terminate, .interrupt: stop()
        }
    }

    /// The first time drains, the second time cuts.
    private func stop() {
        guard stops.add(1, ordering: .relaxed).newValue == 1 else {
            log.warning("stop.cut")
            standardError?.flush()
            exit(ExitCode.success)
        }
        log.info("stop.draining", ["limit_s": .integer(Int(drainLimit.components.seconds))])
        notifier.notify(.stopping)
        daemon.drain(within: drainLimit) { [log, standardError] cut in
            if cut > 0 { log.warning("stop.deadline", ["cut": .integer(cut)]) }
            log.info("stopped", ["cut": .integer(cut)])
            standardError?.flush()
            exit(ExitCode.success)
        }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    private static func finish(_ text: String, to descriptor: Int32, code: Int32) -> Never {
        write(text, to: descriptor)
        exit(code)
    }
}
