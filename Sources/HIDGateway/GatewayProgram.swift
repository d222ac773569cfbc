// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import HIDDaemon
internal import HIDHTTP
internal import HIDService
internal import Synchronization

/// The daemon: arguments, configuration, run, exit code.
package final class GatewayProgram: Sendable {
    private let gateway: Gateway
    private let log: Log
    private let standardError: LineSink?
    private let notifier = ServiceNotifier()
    private let drainLimit: Duration
    private let stops = Atomic<Int>(0)

    private init(gateway: Gateway, log: Log, standardError: LineSink?, drainLimit: Duration) {
        self.gateway = gateway
        self.log = log
        self.standardError = standardError
        self.drainLimit = drainLimit
    }

    /// Runs the daemon until it is told to stop.
    ///
    /// Never returns.
    package static func main(_ arguments: [String]) -> Never {
        ServiceSignals.ignoreBrokenPipes()
        let parser = CommandLineParser(
            program: "hidgated", summary: "lets only genuine phones do critical things with an API",
            options: [
                .init("config", value: "FILE", required: true, help: "the configuration file"),
                .init("version", help: "print the version"),
            ])
        let path: String
        do throws(UsageError) {
            if CommandLineParser.asksForHelp(arguments) { finish(parser.help, to: 1, code: ExitCode.success) }
            if arguments == ["--version"] { finish("hidgated \(ProductVersion.text)\n", to: 1, code: ExitCode.success) }
            let parsed = try parser.parse(arguments)
            guard let config = parsed.value("config"), parsed.positionals.isEmpty else {
                finish(parser.help, to: 2, code: ExitCode.usage)
            }
            path = config
        } catch {
            finish("hidgated: \(error)\n", to: 2, code: ExitCode.usage)
        }
        let (configuration, diagnostics) = GatewayConfiguration.load(path: path)
        write(diagnostics.rendered, to: 2)
        guard let configuration else { exit(ExitCode.configuration) }
        run(configuration, path: path)
    }

    private static func run(_ configuration: GatewayConfiguration, path: String) -> Never {
        let standardError = try? LineSink(.descriptor(2), label: "hidgate.stderr")
        let log = Log(sink: standardError.map { .lines($0) } ?? .stderr)
        do throws(GatewayError) {
            let gateway = try Gateway(
                configuration: configuration, path: path, log: log, standardError: standardError)
            let program = GatewayProgram(
                gateway: gateway, log: log, standardError: standardError, drainLimit: configuration.timeouts.drain)
            let queue = DispatchQueue(label: "hidgate.control")
            let signals = ServiceSignals(queue: queue) { program.handle($0) }
            program.announce(configuration)
            withExtendedLifetime(signals) { dispatchMain() }
        } catch {
            log.error("start.failed", ["fault": .string(error.description)])
            standardError?.flush()
            if case .configuration = error { exit(ExitCode.configuration) }
            exit(ExitCode.failure)
        }
    }

    private func announce(_ configuration: GatewayConfiguration) {
        for route in configuration.routes
        where route.isCritical && (route.mode ?? configuration.defaults.mode) != .block {
            log.warning(
                "route.not_enforced",
                ["route": .string(route.name), "mode": .string((route.mode ?? configuration.defaults.mode).rawValue)])
        }
        log.info(
            "ready",
            [
                "version": .string(ProductVersion.text), "listeners": .string(gateway.addresses.joined(separator: " ")),
                "admin": .string(gateway.adminAddress ?? ""), "routes": .integer(configuration.routes.count),
                "pid": .integer(Int(getpid())),
            ])
        notifier.notify(.ready, .status("serving on \(gateway.addresses.joined(separator: " "))"))
    }

    private func handle(_ signal: ServiceSignal) {
        switch signal {
        case .reload:
            notifier.notify(.reloading)
            gateway.reload()
            notifier.notify(.ready)
        case .reopen: gateway.reopenLogs()
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
        gateway.drain(within: drainLimit) { [log, standardError] cut in
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
