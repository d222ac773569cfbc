// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HIDService
import Testing

@Suite struct MetricsTests {
    @Test func `the text is sorted, escaped and exact`() {
        let registry = MetricsRegistry(shards: 2)
        let decisions = registry.counters(
            "hidgate_requests_total", help: "Requests by decision.", label: "decision", values: ["pass", "block"],
            and: [("route", "a\"b\\c\nd")])
        decisions[0].add(shard: 0)
        decisions[0].add(2, shard: 1)
        decisions["block"]?.add(5, shard: 99)
        #expect(decisions["other"] == nil)
        registry.gauge("hidgate_connections", help: "Open\nnow \\ here.").set(-3)
        registry.gauge("hidgate_age_seconds", help: "Age.") { 1.5 }
        registry.counter("hidgate_dropped_total", help: "Dropped.") { 7 }
        let times = registry.histogram(
            "hidgate_seconds", help: "Time.", bounds: [50_000, 1_000_000, 2_500_000_000], labels: [("stage", "verify")])
        for value in [1, 50_000, 50_001, 3_000_000_000] { times.observe(value, shard: value % 2) }
        let expected = #"""
            # HELP hidgate_age_seconds Age.
            # TYPE hidgate_age_seconds gauge
            hidgate_age_seconds 1.5
            # HELP hidgate_connections Open\nnow \\ here.
            # TYPE hidgate_connections gauge
            hidgate_connections -3
            # HELP hidgate_dropped_total Dropped.
            # TYPE hidgate_dropped_total counter
            hidgate_dropped_total 7
            # HELP hidgate_requests_total Requests by decision.
            # TYPE hidgate_requests_total counter
            hidgate_requests_total{route="a\"b\\c\nd",decision="block"} 5
            hidgate_requests_total{route="a\"b\\c\nd",decision="pass"} 3
            # HELP hidgate_seconds Time.
            # TYPE hidgate_seconds histogram
            hidgate_seconds_bucket{stage="verify",le="0.00005"} 2
            hidgate_seconds_bucket{stage="verify",le="0.001"} 3
            hidgate_seconds_bucket{stage="verify",le="2.5"} 3
            hidgate_seconds_bucket{stage="verify",le="+Inf"} 4
            hidgate_seconds_sum{stage="verify"} 3.000100002
            hidgate_seconds_count{stage="verify"} 4

            """#
        #expect(String(decoding: registry.text(), as: UTF8.self) == expected)
    }

    @Test func `sizes count in octets and numbers that are none have their words`() {
        let registry = MetricsRegistry()
        registry.histogram("size", help: "h", bounds: [1, 1024], scale: 1).observe(1024)
        registry.gauge("a", help: "h") { .nan }
        registry.gauge("b", help: "h") { -.infinity }
        registry.gauge("c", help: "h") { 1e21 }
        let lines = String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").filter {
            !$0.hasPrefix("#")
        }
        let expected = [
            "a NaN", "b -Inf", "c 1e+21", "size_bucket{le=\"1\"} 0", "size_bucket{le=\"1024\"} 1",
            "size_bucket{le=\"+Inf\"} 1", "size_sum 1024", "size_count 1",
        ]
        #expect(lines.map(String.init) == expected)
    }

    @Test func `registering again gives the same instrument`() {
        let registry = MetricsRegistry()
        registry.counter("a_total", help: "h", labels: [("r", "1")]).add()
        registry.counter("a_total", help: "h", labels: [("r", "1")]).add()
        let gauge = registry.gauge("b", help: "h")
        gauge.add(5)
        registry.gauge("b", help: "h").add(-2)
        #expect(registry.counter("a_total", help: "h", labels: [("r", "1")]).value == 2)
        #expect(gauge.value == 3)
    }

    @Test func `no count is lost between threads`() {
        let registry = MetricsRegistry(shards: 4)
        let counter = registry.counter("a_total", help: "h")
        let histogram = registry.histogram("h", help: "h", bounds: [5], scale: 1)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for value in 0..<1000 {
                counter.add(shard: thread % 4)
                histogram.observe(value % 10, shard: thread % 2)
            }
        }
        #expect(counter.value == 8000)
        #expect(histogram.counts == [4800, 3200])
        #expect(histogram.sum == 36000)
    }

    @Test func `a name of another kind traps`() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricsRegistry()
            _ = registry.counter("a", help: "h")
            _ = registry.gauge("a", help: "h")
        }
    }

    @Test func `a name that Prometheus does not take traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricsRegistry().counter("a-b", help: "h")
        }
    }
}
