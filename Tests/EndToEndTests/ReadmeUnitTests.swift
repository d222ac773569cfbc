// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDDaemon
import HIDService
import Testing

/// The service units agree with the daemons, and their sandboxes hold.
@Suite struct ReadmeUnitTests {
    struct Unit: Sendable, CustomTestStringConvertible {
        var daemon: String
        var configuration: String
        /// Ten times what systemd-analyze may say.
        var threshold: Int

        var path: String { "systemd/\(daemon).service" }
        var testDescription: String { daemon }

        func values(_ key: String) throws -> [String] {
            try Pages.lines(path).filter { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
        }
    }

    static let units = [
        Unit(daemon: "hidgated", configuration: "gateway.yaml", threshold: 12),
        Unit(daemon: "hisd", configuration: "his.yaml", threshold: 10),
    ]
    static let analyze = URL(fileURLWithPath: "/usr/bin/systemd-analyze")

    @Test(arguments: units)
    func `a unit starts, reloads and stops its daemon as the daemon expects`(_ unit: Unit) throws {
        #expect(try unit.values("Type") == ["notify"])
        #expect(try unit.values("ExecStart") == ["/usr/bin/\(unit.daemon) --config /etc/hidgate/\(unit.configuration)"])
        #expect(Pages.exists("etc/hidgate/\(unit.configuration)"))
        #expect(try unit.values("ExecReload") == ["/bin/kill -HUP $MAINPID"])
        #expect(try unit.values("RestartPreventExitStatus") == ["\(ExitCode.usage) \(ExitCode.configuration)"])
        let stop = try #require(try unit.values("TimeoutStopSec").first.flatMap { Int64($0) })
        #expect(.seconds(stop) > TimeoutsConfiguration().drain)
    }

    @Test func `the state directories are those of the samples, and nothing else may be written`() throws {
        #expect(try Self.units.map { try $0.values("StateDirectory") } == [["hidgate"], ["hisd"]])
        for unit in Self.units {
            #expect(try unit.values("DynamicUser") == ["yes"] && unit.values("ProtectSystem") == ["strict"])
            #expect(try unit.values("ReadWritePaths").isEmpty)
        }
        let paths = try Pages.text("etc/hidgate/his.yaml").matches(of: /\/var\/[a-z\/.]+/).map { String($0.output) }
        #expect(paths.count >= 3)
        for path in paths { #expect(path.hasPrefix("/var/lib/hisd/"), "\(path)") }
    }

    @Test func `hisd may talk to this machine, private networks and named ones only`() throws {
        let hisd = Self.units[1]
        #expect(try hisd.values("IPAddressDeny") == ["any"])
        let allowed = try hisd.values("IPAddressAllow").flatMap { $0.split(separator: " ").map(String.init) }
        #expect(allowed.contains("localhost") && !allowed.contains("any"))
        for block in allowed {
            let length = block.split(separator: "/").dropFirst().first.flatMap { Int($0) }
            #expect((length ?? 128) >= 7, "\(block)")
        }
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyze.path), "systemd-analyze is not installed"),
        arguments: units)
    func `a sandbox is rated as its unit says, or better`(_ unit: Unit) throws {
        let threshold = "--threshold=\(unit.threshold)"
        #expect(try Pages.text(unit.path).contains(threshold))
        let outcome = try Pages.run(
            executable: Self.analyze, ["security", "--offline=true", threshold, "--no-pager", unit.path])
        #expect(outcome.exit == 0 && outcome.output.contains("Overall exposure level"), "\(outcome.output)")
    }
}
