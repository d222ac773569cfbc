// SPDX-License-Identifier: Apache-2.0

package import HIDService

/// What the issuer counts.
///
/// Labels come from closed enums only, never from a client.
package final class IssuerMetrics: Sendable {
    package let registry: MetricsRegistry
    let challenges: Counter
    let tokens: CounterFamily
    let keyProofs: CounterFamily
    let errors: CounterFamily
    let limited: CounterFamily
    let reasons: CounterFamily
    let attestations: [String: CounterFamily]
    let recoveries: Counter
    let revokedDevices: Counter
    let requestTime: Histogram

    private static let bounds = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
    ]

    package init(registry: MetricsRegistry) {
        self.registry = registry
        challenges = registry.counter("hisd_challenges_total", help: "Challenges given out.")
        tokens = registry.counters(
            "hisd_tokens_total", help: "Tokens by verdict.", label: "verdict", values: ["human", "blocked"])
        keyProofs = registry.counters(
            "hisd_key_proofs_total", help: "Key proofs by result.", label: "result",
            values: ["accepted", "rejected", "unknown"])
        errors = registry.counters(
            "hisd_errors_total", help: "Requests answered with an error, by its code.", label: "code",
            values: IssuerError.allCases.map(\.rawValue))
        limited = registry.counters(
            "hisd_rate_limited_total", help: "Requests over a limit, by what it counts.", label: "scope",
            values: IssuerLimits.Scope.allCases.map(\.rawValue))
        reasons = registry.counters(
            "hisd_attestation_reasons_total", help: "What was found against attestations.", label: "reason",
            values: AttestationReason.allCases.map(\.rawValue))
        attestations = Dictionary(
            uniqueKeysWithValues: Platform.allCases.map { platform in
                (
                    platform.rawValue,
                    registry.counters(
                        "hisd_attestations_total", help: "Attestations by platform and outcome.", label: "outcome",
                        values: AttestationOutcome.allCases.map(\.rawValue),
                        and: [(name: "platform", value: platform.rawValue)])
                )
            })
        recoveries = registry.counter(
            "hisd_recoveries_total", help: "Devices that attested again although they had a key in force.")
        revokedDevices = registry.counter(
            "hisd_revoked_devices_total", help: "Registered devices that a revocation list blocked later.")
        requestTime = registry.histogram(
            "hisd_request_seconds", help: "From the first octet of a request to its answer.", bounds: Self.bounds)
    }

    func count(_ report: AttestationReport, _ platform: Platform) {
        attestations[platform.rawValue]?[report.outcome.rawValue]?.add()
        for reason in report.reasons { reasons[reason.rawValue]?.add() }
    }

    func count(_ failure: IssuerFailure) {
        errors[failure.error.rawValue]?.add()
        if failure.error == .rateLimited { limited[failure.detail]?.add() }
    }
}
