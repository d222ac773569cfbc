// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct IssuerVerbTests {
    @Test func `a load on a live hisd is served without an error and measured`() throws {
        let server = try LiveServer()
        let (exit, lines, figures) = try server.load()
        #expect(exit == 0, "\(lines)")
        let measured = try #require(figures, "\(lines)")
        #expect(measured["errors"].number == 0)
        #expect(measured["failures"].text == "")
        #expect(measured["completed"].number == 50)
        #expect(measured["devices"].number == 20)
        for name in [
            "p256_us", "cpu_us", "budget_us", "cpu_share", "achieved_per_s", "registered_per_s", "device_p50_ms",
            "challenge_p50_ms", "verify_p50_ms",
        ] { #expect(measured[name].number ?? 0 > 0, "\(name)") }
        for kind in ["device", "challenge", "verify"] {
            let order = ["p50", "p95", "p99", "max"].map { measured["\(kind)_\($0)_ms"].number ?? -1 }
            #expect(order == order.sorted(), "\(kind): \(order)")
        }
        // A device is two requests, one after the other.
        #expect(measured["device_max_ms"].number ?? 0 >= measured["verify_max_ms"].number ?? .infinity)
    }

    @Test func `what the server refuses is counted as an error and not as served`() throws {
        // One challenge an hour for each device, and registration takes it.
        let server = try LiveServer(perDevice: "1/h")
        let (exit, lines, figures) = try server.load()
        #expect(exit == 0, "\(lines)")
        let measured = try #require(figures, "\(lines)")
        #expect(measured["completed"].number == 0)
        #expect(measured["errors"].number == 50)
        #expect(measured["failures"].text == "status_429_c=50")
    }

    @Test func `devices that cannot register end the run`() throws {
        let server = try LiveServer()
        let (exit, lines, _) = try server.load(["--app", "other-app"])
        #expect(exit == 1)
        #expect(lines.contains { $0.contains("status_404_c=20") }, "\(lines)")
    }

    @Test func `a process that is not there is told`() throws {
        let bench = try ChildProcess(
            LiveServer.program("hidbench"),
            ["issuer", "--his", "http://127.0.0.1:1", "--authority-key", "/nowhere", "--pid", "1073741824"])
        #expect(bench.exitCode() == 1)
        #expect(bench.allLines().contains { $0.contains("/proc/1073741824/stat") }, "\(bench.allLines())")
    }
}
