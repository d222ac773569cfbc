// SPDX-License-Identifier: Apache-2.0
import HIDDaemon
import HIDService
import HIDTesting
import Testing

/// Who gets which share of the descriptors.
@Suite struct DescriptorPlanTests {
    @Test func `upstreams keep what they may need, as long as clients have half`() {
        let ample = DescriptorPlan(limit: 20_000, connections: 10_000, upstreamConnections: 512)
        #expect(ample.reserve == 64 + 3 * 512)
        #expect(ample.ceiling == 20_000 - 1_600)
        #expect(ample.needed == 11_600)
        let tight = DescriptorPlan(limit: 1_024, connections: 10_000, upstreamConnections: 512)
        #expect(tight.reserve == 512)
        #expect(tight.ceiling == 512)
    }

    @Test func `only a limit that does not suffice is told, with what to do`() throws {
        let memory = MemoryLog()
        let log = Log(sink: .memory(memory))
        DescriptorPlan(limit: 11_600, connections: 10_000, upstreamConnections: 512).remark(log)
        #expect(memory.lines.isEmpty)
        DescriptorPlan(limit: 11_599, connections: 10_000, upstreamConnections: 512).remark(log)
        let line = try #require(memory.lines.first.flatMap { JSONValue($0) })
        #expect(line["event"].text == "limits.descriptors")
        #expect(line["limit"].number == 11_599)
        #expect(line["needed"].number == 11_600)
        #expect(line["advice"].text?.contains("LimitNOFILE") == true)
    }

    @Test func `the soft limit is raised to the hard one, once`() {
        let raised = DescriptorLimit.raise()
        #expect(raised == DescriptorLimit.current)
        #expect(DescriptorLimit.raise() == raised)
    }
}
