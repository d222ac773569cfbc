// SPDX-License-Identifier: Apache-2.0
package import Dispatch
import Glibc

/// The signals that a daemon answers.
package enum ServiceSignal: Sendable, CaseIterable {
    /// SIGTERM: drain; the second one cuts.
    case terminate
    /// SIGINT: as SIGTERM.
    case interrupt
    /// SIGHUP: read the configuration again.
    case reload
    /// SIGUSR1: open log files again.
    case reopen

    var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .reload: SIGHUP
        case .reopen: SIGUSR1
        }
    }
}

/// Delivers signals as calls on a queue, as long as it lives.
///
/// Several signals of one kind that arrive before the queue gets to them make one call.
package final class ServiceSignals: @unchecked Sendable {
    /// Only made and cancelled; Dispatch does not mark its sources as Sendable.
    private let sources: [any DispatchSourceSignal]

    /// Takes over the given signals, all of them by the time it returns, and makes writes that cannot be done fail instead of killing the process.
    ///
    /// The handler is called on `queue`. A closure written in main.swift belongs to the main actor and traps there.
    package init(
        _ signals: [ServiceSignal] = ServiceSignal.allCases, queue: DispatchQueue,
        handler: @escaping @Sendable (ServiceSignal) -> Void
    ) {
        Self.ignoreFailedWrites()
        let watch = DispatchQueue(label: "hid.signals")
        let registered = DispatchSemaphore(value: 0)
        sources = signals.map { signal in
            // Without this the default action ends the process before Dispatch hears of it.
            _ = Glibc.signal(signal.number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: signal.number, queue: watch)
            source.setRegistrationHandler { registered.signal() }
            source.setEventHandler { queue.async { handler(signal) } }
            source.resume()
            return source
        }
        // Dispatch takes over on a thread of its own: a signal that came before it did would be lost.
        for _ in signals { _ = registered.wait(timeout: .now() + .seconds(1)) }
    }

    deinit {
        for source in sources { source.cancel() }
    }

    /// SIGPIPE and SIGXFSZ have no use in a program that checks its writes: a closed peer and a file at the limit of its
    /// size (setrlimit(2), RLIMIT_FSIZE) are then an error of the call and not the end of the process.
    package static func ignoreFailedWrites() {
        _ = Glibc.signal(SIGPIPE, SIG_IGN)
        _ = Glibc.signal(SIGXFSZ, SIG_IGN)
    }
}
