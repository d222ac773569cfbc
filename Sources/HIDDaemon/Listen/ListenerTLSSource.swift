// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto
package import HIDService
internal import Synchronization

/// The TLS of one listener as it is now; a reload puts another context in its place.
///
/// Any thread may ask for the context; whoever accepts a connection takes it once. Ticket keys go on across reloads.
package final class ListenerTLSSource: Sendable {
    /// The listener's address, for logs and metrics.
    package let listener: String
    private let tickets: TLSTicketKeys
    private let wallClock: @Sendable () -> Int64
    private let state: Mutex<State>

    private struct State {
        var configuration: ListenerTLSConfiguration
        var context: TLSServerContext
    }

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - configuration: Which files, and the policy.
    ///   - listener: The listener's address.
    ///   - wallClock: Seconds since 1970.
    /// - Throws: As `ListenerTLS.load`.
    package init(
        _ configuration: ListenerTLSConfiguration, listener: String,
        wallClock: @escaping @Sendable () -> Int64 = ListenerTLS.wallClock
    ) throws(StartError) {
        self.listener = listener
        self.wallClock = wallClock
        tickets = try ListenerTLS.makeTicketKeys()
        let context = try ListenerTLS.load(configuration, tickets: tickets, wallClock: wallClock)
        state = Mutex(State(configuration: configuration, context: context))
    }

    /// What a new connection is served with.
    package var context: TLSServerContext { state.withLock { $0.context } }

    /// What an operator should know about the files in use.
    package var remarks: [String] {
        let state = state.withLock { $0 }
        return state.context.remarks.map { ListenerTLS.text($0, in: state.configuration) }
    }

    /// What the certificates in use are called, and when each ends, in seconds since 1970.
    package var expiries: [(name: String, notAfter: Int64)] {
        context.certificates.map { ($0.name, $0.notAfter) }
    }

    /// Seconds until a certificate ends, negative after it; nil for a name that is not served any more.
    package func secondsLeft(of name: String) -> Int64? {
        expiries.first { $0.name == name }.map { $0.notAfter - wallClock() }
    }

    /// Reads the files again, of this configuration or another one.
    ///
    /// One call at a time.
    ///
    /// - Returns: The certificates that are new; none when the files are as they were.
    /// - Throws: As `ListenerTLS.load`; then the old context stays.
    package func reload(_ configuration: ListenerTLSConfiguration? = nil) throws(StartError) -> [TLSCertificateFacts] {
        let old = state.withLock { $0 }
        let configuration = configuration ?? old.configuration
        let context = try ListenerTLS.load(configuration, tickets: tickets, wallClock: wallClock)
        state.withLock { $0 = State(configuration: configuration, context: context) }
        return context.certificates.filter { !old.context.certificates.contains($0) }
    }
}

/// The TLS of all listeners of a daemon.
package final class ListenerTLSSources: Sendable {
    /// In the order of the configuration; nil for a listener without TLS.
    package let list: [ListenerTLSSource?]
    private let log: Log
    private let metric: String
    private let registry: MetricsRegistry

    /// Reads all files, remarks on them in the log and registers the metric of their certificates.
    ///
    /// - Parameters:
    ///   - listeners: Those of the configuration.
    ///   - names: The addresses as they were bound, in the order of the listeners.
    ///   - log: Takes remarks now and the events of reloads.
    ///   - registry: Takes the metric.
    ///   - metric: The name of a gauge, with labels `listener` and `name`: seconds until a certificate ends.
    /// - Throws: As `ListenerTLS.load`.
    package init(
        _ listeners: [ListenerConfiguration], names: [String], log: Log, registry: MetricsRegistry, metric: String
    ) throws(StartError) {
        var list: [ListenerTLSSource?] = []
        for (listener, name) in zip(listeners, names) {
            guard let tls = listener.tls else {
                list.append(nil)
                continue
            }
            list.append(try ListenerTLSSource(tls, listener: name))
        }
        (self.list, self.log, self.registry, self.metric) = (list, log, registry, metric)
        for source in list.compactMap({ $0 }) {
            remark(on: source)
            registerGauges(of: source)
        }
    }

    /// Whether any listener has TLS.
    package var isEmpty: Bool { list.allSatisfy { $0 == nil } }

    /// Takes a reloaded configuration over, whose listeners differ from the running ones in nothing but `tls`.
    ///
    /// A listener whose files are no good keeps what it has. Logs `tls.reloaded` for each new certificate and
    /// `tls.reload_failed` for each listener that could not be changed. Reads files, so not for event loops.
    package func reload(_ listeners: [ListenerConfiguration]) {
        for (source, listener) in zip(list, listeners) {
            guard let source, let tls = listener.tls else { continue }
            do throws(StartError) {
                for certificate in try source.reload(tls) {
                    log.info(
                        "tls.reloaded",
                        [
                            "listener": .string(source.listener), "name": .string(certificate.name),
                            "serial": .string(certificate.serial), "not_after": .integer(Int(certificate.notAfter)),
                        ])
                }
                remark(on: source)
                registerGauges(of: source)
            } catch {
                log.error(
                    "tls.reload_failed", ["listener": .string(source.listener), "fault": .string(error.description)])
            }
        }
    }

    private func remark(on source: ListenerTLSSource) {
        for remark in source.remarks {
            log.warning("tls.remark", ["listener": .string(source.listener), "remark": .string(remark)])
        }
    }

    private func registerGauges(of source: ListenerTLSSource) {
        for (name, _) in source.expiries {
            let labels = [(name: "listener", value: source.listener), (name: "name", value: name)]
            registry.gauge(metric, help: "Until the certificate ends; negative after it.", labels: labels) {
                // A name that a reload has taken away has no value any more.
                source.secondsLeft(of: name).map { Double($0) } ?? .nan
            }
        }
    }
}

extension [ListenerConfiguration] {
    /// Whether a running daemon can take another list over: addresses and proxies are the same, and each listener has
    /// TLS as before or has none as before; what its TLS is made of may differ.
    package func differsInTLSOnly(from other: [ListenerConfiguration]) -> Bool {
        count == other.count
            && zip(self, other).allSatisfy { mine, theirs in
                var (mine, theirs) = (mine, theirs)
                guard (mine.tls == nil) == (theirs.tls == nil) else { return false }
                (mine.tls, theirs.tls) = (nil, nil)
                return mine == theirs
            }
    }
}
