// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP
package import HIDService
internal import HIDVerifier

/// What the gateway counts.
///
/// Labels come from configuration and reason codes only, never from a client.
package final class GatewayMetrics: Sendable {
    package let registry: MetricsRegistry
    private let requests: CounterFamily
    private let reasons: CounterFamily
    private let reasonIndex: [String: Int]
    private let statuses: CounterFamily
    private let verdicts: CounterFamily
    private let bytesIn: Counter
    private let bytesOut: Counter
    private let totalTime: Histogram
    private let verifyTime: Histogram
    private let upstreamTime: Histogram
    let droppedFields: Counter
    let upstreamRetries: Counter
    let upstreamRedials: Counter

    private static let bounds = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    package init(registry: MetricsRegistry) {
        self.registry = registry
        requests = registry.counters(
            "hidgate_requests_total", help: "Exchanges by decision.", label: "decision",
            values: Decision.allCases.map(\.rawValue))
        let codes = StopReason.allCodes
        reasons = registry.counters(
            "hidgate_reasons_total", help: "Exchanges that failed a check, by reason code.", label: "reason",
            values: codes)
        reasonIndex = Dictionary(uniqueKeysWithValues: codes.enumerated().map { ($0.element, $0.offset) })
        statuses = registry.counters(
            "hidgate_responses_total", help: "Answers to clients by class of status.", label: "class",
            values: ["none", "1xx", "2xx", "3xx", "4xx", "5xx"])
        verdicts = registry.counters(
            "hidgate_verdicts_total", help: "Critical exchanges with an authentic token, by its verdict.",
            label: "verdict", values: ["human", "suspicious", "bot", "blocked", "unknown"])
        bytesIn = registry.counter("hidgate_received_bytes_total", help: "Octets received from clients.")
        bytesOut = registry.counter("hidgate_sent_bytes_total", help: "Octets sent to clients.")
        totalTime = registry.histogram(
            "hidgate_request_seconds", help: "From the first octet of a request to the end of its answer.",
            bounds: Self.bounds)
        verifyTime = registry.histogram(
            "hidgate_verify_seconds", help: "Time spent on checks of a critical request.", bounds: Self.bounds)
        upstreamTime = registry.histogram(
            "hidgate_upstream_seconds", help: "From forwarding a request to the head of the upstream's answer.",
            bounds: Self.bounds)
        droppedFields = registry.counter(
            "hidgate_underscore_fields_total", help: "Request fields dropped because their name holds an underscore.")
        upstreamRetries = registry.counter(
            "hidgate_upstream_retries_total", help: "Safe requests sent a second time.")
        upstreamRedials = registry.counter(
            "hidgate_upstream_redials_total", help: "Requests that went to another server after a failed connect.")
    }

    /// Counts one exchange.
    ///
    /// Loop only.
    func count(_ record: ExchangeRecord, shard: Int) {
        requests[Self.index(record.decision)].add(shard: shard)
        if let code = record.reason?.code, let index = reasonIndex[code] { reasons[index].add(shard: shard) }
        statuses[(0...5).contains(record.status / 100) ? record.status / 100 : 0].add(shard: shard)
        bytesIn.add(record.bytesIn, shard: shard)
        bytesOut.add(record.bytesOut, shard: shard)
        totalTime.observe(Int(clamping: record.totalTime), shard: shard)
        if record.verifyTime > 0 { verifyTime.observe(Int(clamping: record.verifyTime), shard: shard) }
        if let time = record.upstreamTime { upstreamTime.observe(Int(clamping: time), shard: shard) }
        if let verdict = record.verdict { verdicts[verdict]?.add(shard: shard) }
    }

    private static func index(_ decision: Decision) -> Int {
        switch decision {
        case .pass: 0
        case .block: 1
        case .wouldBlock: 2
        case .reject: 3
        case .error: 4
        }
    }
}
