// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP
import HIDService

/// `hidbench issuer`: a load of returning devices on a running hisd.
enum IssuerVerb {
    static let verb = CommandLineParser.Verb(
        "issuer",
        options: [
            .init("his", value: "URL", required: true, help: "the server; its rate limits must stand above the load"),
            .init("authority-key", value: "PEM", required: true, help: "private key of a test authority it trusts"),
            .init("app", value: "APP", help: "the app_id; default demo-app"),
            .init("devices", value: "N", help: "devices that are registered first and then return; default 2000"),
            .init("rate", value: "R", help: "devices a second that come, answered or not; default 2000"),
            .init("seconds", value: "S", help: "length of a round; default 5"),
            .init("rounds", value: "K", help: "rounds, of whose figures medians are taken; default 3"),
            .init("connections", value: "C", help: "connections at most; default 64"),
            .init("pid", value: "PID", help: "the server's process on this machine, whose CPU time is measured"),
        ], help: "latency and cost of devices that come back for a token: challenge and key proof")

    /// One round.
    struct Round {
        var course: CourseResult
        /// Microseconds of a P-256 verification meanwhile.
        var curve: Double
        /// Microseconds of CPU of the server for each device; nil without a process.
        var cost: Double?

        /// What a device may cost: three P-256 operations and 60 microseconds.
        var budget: Double { 3 * curve + 60 }
    }

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let devices = try arguments.count("devices", 2_000, maximum: 1_000_000)
        let rate = try arguments.count("rate", 2_000, maximum: 1_000_000)
        let seconds = try arguments.count("seconds", 5, maximum: 86_400)
        let rounds = try arguments.count("rounds", 3, maximum: 1_000)
        let process = try server(arguments)
        let generator = try generator(arguments, devices: devices)
        defer { generator.stop() }
        let registration = generator.run(devices, isNew: true, rate: nil)
        guard registration.failures.isEmpty else {
            throw .failure("not all devices could register: \(text(registration.failures))")
        }
        let yardstick = try Yardstick()
        // So that caches, threads and connections are there.
        _ = generator.run(max(1, rate / 2), isNew: false, rate: Double(rate))
        var results: [Round] = []
        for _ in 0..<rounds {
            results.append(
                try round(generator, total: rate * seconds, rate: Double(rate), yardstick, process))
        }
        return report(results, registration, wanted: rate, devices: devices).text(json: arguments.has("json"))
    }

    private static func round(
        _ generator: LoadGenerator, total: Int, rate: Double, _ yardstick: Yardstick, _ process: ServerProcess?
    ) throws(BenchError) -> Round {
        yardstick.start()
        let before = try process?.processorTime()
        let course = generator.run(total, isNew: false, rate: rate)
        let after = try process?.processorTime()
        let curve = yardstick.stop()
        var round = Round(course: course, curve: curve)
        if let before, let after, course.completed > 0 { round.cost = (after - before) / Double(course.completed) }
        return round
    }

    // MARK: - Set-up

    private static func server(_ arguments: ParsedArguments) throws(BenchError) -> ServerProcess? {
        guard arguments.value("pid") != nil else { return nil }
        let process = ServerProcess(pid: try arguments.count("pid", 1, maximum: 1 << 30))
        _ = try process.processorTime()
        return process
    }

    private static func generator(_ arguments: ParsedArguments, devices: Int) throws(BenchError) -> LoadGenerator {
        let connections = try arguments.count("connections", 64, maximum: 10_000)
        let pem = try BenchFile.contents(arguments.value("authority-key") ?? "", limit: 64 << 10)
        let text = arguments.value("his") ?? ""
        let appID = arguments.value("app") ?? "demo-app"
        do {
            let url = try URLText(parsing: text)
            let authority = try P256PrivateKey(pem: pem)
            let series = Hex.octets(try SecureRandom.bytes(4))
            let made = try (0..<devices).map { index in
                LoadDevice(appID: appID, deviceID: "bench-\(series)-\(index)", key: try P256PrivateKey())
            }
            return try LoadGenerator(url: url, connections: connections, devices: made, authority: authority)
        } catch let fault as URLText.Fault {
            throw .usage("--his \(text.quoted) \(fault.message)")
        } catch {
            throw .failure("\(error)")
        }
    }

    // MARK: - Report

    private static func report(
        _ rounds: [Round], _ registration: CourseResult, wanted: Int, devices: Int
    ) -> BenchReport {
        let failures = rounds.reduce(into: [:]) { $0.merge($1.course.failures, uniquingKeysWith: +) }
        var report = BenchReport()
        report.add("failures", text(failures))
        report.add("devices", Double(devices), "devices registered")
        report.add("registered_per_s", registration.rate, "registrations", "/s")
        report.add("rounds", Double(rounds.count), "rounds")
        report.add("wanted_per_s", Double(wanted), "devices wanted", "/s")
        report.add("achieved_per_s", median(rounds) { $0.course.rate }, "devices served", "/s")
        report.add("completed", Double(rounds.reduce(0) { $0 + $1.course.completed }), "devices served in all")
        report.add("errors", Double(failures.values.reduce(0, +)), "errors")
        report.add("p256_us", median(rounds) { $0.curve }, "CPU of a P-256 verification", "us")
        if rounds.allSatisfy({ $0.cost != nil }) {
            report.add("cpu_us", median(rounds) { $0.cost ?? 0 }, "CPU of the server for a device", "us")
            report.add("budget_us", median(rounds) { $0.budget }, "three verifications and 60 us", "us")
            report.add("cpu_share", median(rounds) { ($0.cost ?? 0) / $0.budget }, "share of that budget")
        }
        latency(&report, rounds)
        return report
    }

    private static func latency(_ report: inout BenchReport, _ rounds: [Round]) {
        report.add("device_p50_ms", median(rounds) { $0.course.device.median }, "device p50", "ms")
        report.add("device_p95_ms", median(rounds) { $0.course.device.quantile(0.95) }, "device p95", "ms")
        report.add("device_p99_ms", median(rounds) { $0.course.device.quantile(0.99) }, "device p99", "ms")
        report.add("device_max_ms", rounds.map { $0.course.device.maximum }.max() ?? 0, "device max", "ms")
        report.add("challenge_p50_ms", median(rounds) { $0.course.challenge.median }, "challenge p50", "ms")
        report.add("challenge_p95_ms", median(rounds) { $0.course.challenge.quantile(0.95) }, "challenge p95", "ms")
        report.add("challenge_p99_ms", median(rounds) { $0.course.challenge.quantile(0.99) }, "challenge p99", "ms")
        report.add("challenge_max_ms", rounds.map { $0.course.challenge.maximum }.max() ?? 0, "challenge max", "ms")
        report.add("verify_p50_ms", median(rounds) { $0.course.verify.median }, "verify p50", "ms")
        report.add("verify_p95_ms", median(rounds) { $0.course.verify.quantile(0.95) }, "verify p95", "ms")
        report.add("verify_p99_ms", median(rounds) { $0.course.verify.quantile(0.99) }, "verify p99", "ms")
        report.add("verify_max_ms", rounds.map { $0.course.verify.maximum }.max() ?? 0, "verify max", "ms")
        report.add("lag_p99_ms", median(rounds) { $0.course.lag.quantile(0.99) }, "begun late, p99", "ms")
    }

    private static func median(_ rounds: [Round], _ figure: (Round) -> Double) -> Double {
        Samples(rounds.map(figure)).median
    }

    private static func text(_ failures: [String: Int]) -> String {
        failures.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
}
