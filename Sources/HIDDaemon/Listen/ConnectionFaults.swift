// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDHTTP
package import HIDService

/// Tells the operator which connections ended by a rule or a limit: counters of all, and lines of some.
package struct ConnectionFaults {
    /// Names of the metrics.
    package struct Names {
        let http2: String
        let openings: String
        let handshakes: String

        package init(http2: String, openings: String, handshakes: String) {
            self.http2 = http2
            self.openings = openings
            self.handshakes = handshakes
        }
    }

    /// Counts what happens on all lanes.
    package static func register(_ registry: MetricsRegistry, _ names: Names, lanes: [Lane]) {
        for fault in HTTP2Fault.allCases {
            registry.counter(
                names.http2, help: "HTTP/2 streams and connections that were cut.",
                labels: [(name: "fault", value: fault.code)]
            ) { Double(lanes.reduce(0) { $0 + $1.http2Faults.count(of: fault) }) }
        }
        for cause in OpeningFault.allCases {
            registry.counter(
                names.openings, help: "Connections that ended before their first request could.",
                labels: [(name: "cause", value: cause.rawValue)]
            ) { Double(lanes.reduce(0) { $0 + $1.openings.count(of: cause) }) }
        }
        for reason in TLSSessionFault.Reason.allCases {
            registry.counter(
                names.handshakes, help: "TLS handshakes that failed.",
                labels: [(name: "reason", value: reason.rawValue)]
            ) { Double(lanes.reduce(0) { $0 + $1.openings.count(of: reason) }) }
        }
    }
}

/// Writes `http2.cut`, once for each fault in a while.
///
/// Confined to a loop.
struct HTTP2CutLog {
    /// Nanoseconds between two lines of one fault.
    static let interval: UInt64 = 10_000_000_000

    private let log: Log
    private let listeners: [String]
    private var states: [HTTP2Fault: (written: UInt64, more: Int)] = [:]

    init(log: Log, listeners: [String]) {
        self.log = log
        self.listeners = listeners
    }

    /// Writes a line, or counts one that is not written.
    mutating func note(_ fault: HTTP2Fault, _ client: PeerAddress, listener: Int, now: UInt64) {
        let last = states[fault]
        if let last, now &- last.written < Self.interval {
            states[fault] = (last.written, last.more + 1)
            return
        }
        states[fault] = (now, 0)
        log.warning(
            "http2.cut",
            [
                "fault": .string(fault.code), "explanation": .string(fault.explanation),
                "client": .string(client.description),
                "listener": .string(listener < listeners.count ? listeners[listener] : ""),
                "more": .integer(last?.more ?? 0),
            ])
    }
}
