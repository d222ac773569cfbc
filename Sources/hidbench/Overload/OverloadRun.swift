// SPDX-License-Identifier: Apache-2.0

import HIDHTTP
import HIDService

/// One measurement: where it goes and how much it is.
struct OverloadRun {
    let loop: EventLoop
    let target: LoopbackPort
    let process: ServerProcess
    let request: [UInt8]
    let rate: Double
    let seconds: Double
    let connections: Int
    let clients: Int
    let kinds: [SlowKind]
    let rounds: Int
    let patience: Double
    let megabytes: Int

    init(_ arguments: ParsedArguments) throws(BenchError) {
        target = try LoopbackPort(arguments.value("gateway") ?? "")
        process = ServerProcess(pid: try arguments.count("pid", 1, maximum: 1 << 30))
        rate = Double(try arguments.count("rate", 1_000, maximum: 10_000_000))
        seconds = Double(try arguments.count("seconds", 3, maximum: 3600))
        connections = try arguments.count("connections", 64, maximum: 60_000)
        clients = try arguments.count("clients", 1_000, maximum: 60_000)
        rounds = try arguments.count("rounds", 3, maximum: 100)
        patience = Double(try arguments.count("patience", 1_000, maximum: 3_600_000)) / 1000
        megabytes = try arguments.count("megabytes", 1_000, maximum: 2_000)
        let word = arguments.value("kind") ?? "all"
        guard let kinds = word == "all" ? SlowKind.allCases : SlowKind(rawValue: word).map({ [$0] }) else {
            throw .usage("--kind takes heads, bodies, reads or all, not \(word.quoted)")
        }
        self.kinds = kinds
        if let file = arguments.value("request") {
            request = try BenchFile.contents(file, limit: 1 << 20)
        } else {
            request = Array("GET \(arguments.value("target") ?? "/") HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        }
        DescriptorLimit.raise()
        do throws(SystemCallError) {
            loop = try EventLoop(index: 0, label: "hidbench.loop")
        } catch {
            throw .failure("\(error)")
        }
        loop.start()
    }

    private func course(rate: Double?, connections: Int) -> LoadResult {
        let plan = LoadPlan(
            target: target, request: request, rate: rate, connections: connections, seconds: seconds,
            patience: patience)
        return LoadCourse(plan, on: loop).run()
    }

    // MARK: - Load

    func load(isOpen: Bool) throws(BenchError) -> BenchReport {
        let before = try process.processorTime()
        let result = course(rate: isOpen ? rate : nil, connections: connections)
        let used = try process.processorTime() - before
        var report = BenchReport()
        report.add("goodput_per_s", result.goodput, "good answers", "/s")
        report.add("due", Double(result.due), "requests due")
        report.add("good", Double(result.good), "good answers in all")
        report.add("refused", Double(result.refused), "503 in time")
        report.add("other_status", Double(result.otherStatus), "other answers")
        report.add("late", Double(result.late), "given up by the client")
        report.add("lost", Double(result.lost), "connections lost")
        report.add("unsent", Double(result.unsent), "due while all connections waited")
        report.add("p50_ms", result.latency.median, "p50 of good answers", "ms")
        report.add("p99_ms", result.latency.quantile(0.99), "p99 of good answers", "ms")
        report.add("cpu_share", used / 1e6 / (result.seconds + 1), "CPU of the gateway, of one core")
        return report
    }

    // MARK: - Slow clients

    /// Rounds without and with slow clients in turn: what else the machine does meets both.
    func slow() throws(BenchError) -> BenchReport {
        var (without, with) = (Samples(), Samples())
        var (open, cuts, bad) = (Samples(), 0, 0)
        for _ in 0..<rounds {
            without.add(course(rate: rate, connections: connections).latency.quantile(0.99))
            let herd = SlowHerd(clients, kinds: kinds, target: target, on: loop)
            herd.start()
            let few = clients * 9 / 10
            _ = try Pause.until(20) { () throws(BenchError) in herd.state().open >= few }
            let result = course(rate: rate, connections: connections)
            with.add(result.latency.quantile(0.99))
            bad += result.refused + result.otherStatus + result.late + result.lost + result.unsent
            let state = herd.state()
            open.add(Double(state.open))
            cuts += state.cuts
            herd.stop()
            let base = connections + 200
            _ = try Pause.until(20) { () throws(BenchError) in try process.descriptors() < base }
        }
        var report = BenchReport()
        report.add("p99_without_ms", without.median, "p99 of good clients without slow ones", "ms")
        report.add("p99_with_ms", with.median, "p99 of good clients with slow ones", "ms")
        report.add("slow_open", open.median, "slow clients at the end")
        report.add("cuts", Double(cuts), "slow clients cut")
        report.add("not_good", Double(bad), "good clients without a good answer")
        return report
    }

    // MARK: - Clients that go

    func vanish() throws(BenchError) -> BenchReport {
        _ = course(rate: 100, connections: 4)
        let base = try process.descriptors()
        let herd = VanishingHerd(clients, target: target, on: loop)
        herd.start()
        let come = clients * 6 / 10
        _ = try Pause.until(20) { () throws(BenchError) in try process.descriptors() >= base + come }
        let most = try process.descriptors()
        herd.vanish()
        let time = try Pause.until(60) { () throws(BenchError) in try process.descriptors() <= base }
        var report = BenchReport()
        report.add("descriptors_base", Double(base), "descriptors before")
        report.add("descriptors_most", Double(most), "descriptors with all clients")
        report.add("descriptors_after", Double(try process.descriptors()), "descriptors after")
        report.add("back_s", time ?? 999, "until they were back", "s")
        herd.stop()
        return report
    }

    func resets() throws(BenchError) -> BenchReport {
        let before = try process.processorTime()
        let target = target
        var left = clients
        while left > 0 {
            let count = min(left, 100)
            loop.value {
                for _ in 0..<count { LoopSocket(to: target)?.reset() }
            }
            left -= count
        }
        let result = course(rate: 100, connections: 4)
        var report = BenchReport()
        report.add("good", Double(result.good), "good answers afterwards")
        report.add("due", Double(result.due), "requests afterwards")
        report.add("cpu_s", (try process.processorTime() - before) / 1e6, "CPU of the gateway", "s")
        return report
    }

    // MARK: - Large bodies

    /// Much passes through a peer that is slow at first; how much more memory that takes.
    func transfer(isUpload: Bool) throws(BenchError) -> BenchReport {
        _ = course(rate: 100, connections: 4)
        let count = megabytes * 1_000_000
        // What the first connection of its kind takes stays for the others.
        _ = try pass(isUpload: isUpload, 4_000_000)
        let before = try process.residentMemory()
        let (most, elapsed) = try pass(isUpload: isUpload, count)
        var report = BenchReport()
        report.add("rss_before_mb", Double(before) / 1e6, "resident before", "MB")
        report.add("rss_more_mb", Double(most - before) / 1e6, "more at most", "MB")
        report.add("seconds", elapsed, "for \(megabytes) MB", "s")
        return report
    }

    private func pass(isUpload: Bool, _ count: Int) throws(BenchError) -> (most: Int, elapsed: Double) {
        let transfer = Transfer(isUpload: isUpload, count: count, target: target, loop: loop)
        transfer.start()
        var most = 0
        let elapsed = try Pause.until(300) { () throws(BenchError) in
            most = max(most, try process.residentMemory())
            return transfer.isDone
        }
        guard let elapsed, transfer.hasSucceeded else { throw .failure("the transfer did not end well") }
        return (most, elapsed)
    }
}
