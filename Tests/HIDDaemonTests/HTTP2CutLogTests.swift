// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDService
import HIDTesting
import Testing

@testable import HIDDaemon

@Suite struct HTTP2CutLogTests {
    @Test func `each fault has a line in ten seconds, and the next one says how many it stands for`() {
        let memory = MemoryLog()
        var cuts = HTTP2CutLog(log: Log(sink: .memory(memory)), listeners: ["127.0.0.1:1"])
        let second: UInt64 = 1_000_000_000
        for time in 0..<10 { cuts.note(.pingFlood, .local, listener: 0, now: UInt64(time) * second) }
        cuts.note(.rapidReset, .local, listener: 7, now: 5 * second)
        cuts.note(.pingFlood, .local, listener: 0, now: 10 * second)
        cuts.note(.pingFlood, .local, listener: 0, now: 20 * second)
        let lines = memory.lines.compactMap { JSONValue($0) }
        #expect(lines.map { $0["event"].text } == [String?](repeating: "http2.cut", count: 4))
        #expect(
            lines.map { $0["fault"].text } == [
                "http2.ping_flood", "http2.rapid_reset", "http2.ping_flood", "http2.ping_flood",
            ])
        #expect(lines.map { $0["more"].number } == [0, 0, 9, 0])
        #expect(lines.map { $0["listener"].text } == ["127.0.0.1:1", "", "127.0.0.1:1", "127.0.0.1:1"])
        #expect(lines.allSatisfy { $0["client"].text == "unix" && $0["level"].text == "warning" })
    }
}
