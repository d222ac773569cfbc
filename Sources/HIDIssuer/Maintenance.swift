// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Calls something every so often on a queue of its own.
final class Maintenance: @unchecked Sendable {
    /// Sources may be used from any thread; they only do not say so.
    private let timer: any DispatchSourceTimer

    init(every interval: DispatchTimeInterval) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "hidgate.maintenance", qos: .utility))
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
    }

    func start(_ work: @escaping @Sendable () -> Void) {
        timer.setEventHandler(handler: DispatchWorkItem(block: work))
        timer.activate()
    }

    func stop() {
        timer.cancel()
    }
}
