// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// All metrics of a process and their Prometheus text (exposition format 0.0.4).
///
/// Registering the same name and labels again gives the instrument that is already there, so that a reload of rules
/// may register its routes anew. A name of another kind or shape, or a name that Prometheus does not accept, is our
/// own bug and traps.
package final class MetricsRegistry: Sendable {
    /// Label names and values.
    package typealias Labels = [(name: String, value: String)]

    private enum Instrument {
        case counter(Counter)
        case gauge(Gauge)
        case reading(@Sendable () -> Double)
        case histogram(Histogram)
    }
    private struct Family {
        var kind: String
        var help: String
        /// By rendered labels.
        var series: [String: Instrument] = [:]
    }

    private let shards: Int
    private let families = Mutex<[String: Family]>([:])

    /// - Parameter shards: Event loops; each has its own cells.
    package init(shards: Int = 1) {
        self.shards = shards
    }

    /// The name should end in `_total`.
    package func counter(_ name: String, help: String, labels: Labels = []) -> Counter {
        let made = Instrument.counter(Counter(shards: shards))
        guard case .counter(let counter) = register(name, "counter", help, labels, made) else { badKind(name) }
        return counter
    }

    /// One counter for each value of a label.
    package func counters(
        _ name: String, help: String, label: String, values: [String], and others: Labels = []
    ) -> CounterFamily {
        CounterFamily(
            values: values,
            counters: values.map { counter(name, help: help, labels: others + [(label, $0)]) })
    }

    package func gauge(_ name: String, help: String, labels: Labels = []) -> Gauge {
        guard
            case .gauge(let gauge) = register(name, "gauge", help, labels, .gauge(Gauge(shards: shards)))
        else { badKind(name) }
        return gauge
    }

    /// A gauge that is read at each scrape, on the thread of the scrape; a second registration replaces the first.
    package func gauge(
        _ name: String, help: String, labels: Labels = [], read: @escaping @Sendable () -> Double
    ) {
        _ = register(name, "gauge", help, labels, .reading(read), replaces: true)
    }

    /// Like a gauge that is read at each scrape, for a number that only grows and is counted elsewhere.
    package func counter(
        _ name: String, help: String, labels: Labels = [], read: @escaping @Sendable () -> Double
    ) {
        _ = register(name, "counter", help, labels, .reading(read), replaces: true)
    }

    /// A histogram over fixed buckets.
    ///
    /// The bounds are upper ones, inclusive and ascending, in raw units: nanoseconds for times. The scale is how many
    /// raw units make one unit of the exposition: 10^9 for times in seconds, 1 for octets.
    package func histogram(
        _ name: String, help: String, bounds: [Int], scale: Int = 1_000_000_000, labels: Labels = []
    ) -> Histogram {
        precondition(scale > 0 && zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
        let made = Instrument.histogram(Histogram(bounds: bounds, scale: scale, shards: shards))
        guard case .histogram(let histogram) = register(name, "histogram", help, labels, made) else { badKind(name) }
        precondition(histogram.bounds == bounds && histogram.scale == scale)
        return histogram
    }

    private func register(
        _ name: String, _ kind: String, _ help: String, _ labels: Labels, _ made: Instrument, replaces: Bool = false
    ) -> Instrument {
        precondition(MetricsText.isName(name) && labels.allSatisfy { MetricsText.isLabelName($0.name) })
        let key = MetricsText.labels(labels)
        return families.withLock { families in
            let family = families[name] ?? Family(kind: kind, help: help)
            precondition(family.kind == kind, "metric \(name) is a \(family.kind)")
            if !replaces, let existing = family.series[key] { return existing }
            families[name, default: family].series[key] = made
            return made
        }
    }

    private func badKind(_ name: String) -> Never {
        preconditionFailure("metric \(name) is of another kind")
    }

    // MARK: Exposition

    /// The value of the Content-Type field that goes with `text`.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// All metrics, sorted by name and labels.
    ///
    /// Calls the reading closures without holding a lock.
    package func text() -> [UInt8] {
        let families = families.withLock { $0 }
        var text = MetricsText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text.header(name, kind: family.kind, help: family.help)
            for (labels, instrument) in family.series.sorted(by: { $0.key < $1.key }) {
                switch instrument {
                case .counter(let counter): text.sample(name, labels, integer: counter.value)
                case .gauge(let gauge): text.sample(name, labels, integer: gauge.value)
                case .reading(let read): text.sample(name, labels, double: read())
                case .histogram(let histogram): text.histogram(name, labels, histogram)
                }
            }
        }
        return text.bytes
    }
}
