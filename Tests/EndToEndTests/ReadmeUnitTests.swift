// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDDaemon
import HIDService
import Testing

/// The service unit agrees with the daemon, and its sandbox holds.
@Suite struct ReadmeUnitTests {
    static let unit = "systemd/hidgated.service"
    static let analyze = URL(fileURLWithPath: "/usr/bin/systemd-analyze")

    private func value(_ key: String) throws -> [String] {
        try Pages.lines(Self.unit).filter { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
    }

    @Test func `the unit starts, reloads and stops hidgated as hidgated expects`() throws {
        #expect(try value("Type") == ["notify"])
        #expect(try value("ExecStart") == ["/usr/bin/hidgated --config /etc/hidgate/gateway.yaml"])
        #expect(try value("ExecReload") == ["/bin/kill -HUP $MAINPID"])
        #expect(try value("RestartPreventExitStatus") == ["\(ExitCode.usage) \(ExitCode.configuration)"])
        let stop = try #require(try value("TimeoutStopSec").first.flatMap { Int64($0) })
        #expect(.seconds(stop) > TimeoutsConfiguration().drain)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze.path), "systemd-analyze is not installed"))
    func `the sandbox is rated 1.2 or better`() throws {
        let outcome = try Pages.run(
            executable: Self.analyze, ["security", "--offline=true", "--threshold=12", "--no-pager", Self.unit])
        #expect(outcome.exit == 0 && outcome.output.contains("Overall exposure level"), "\(outcome.output)")
    }
}
