// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
package import HIDHTTP
package import HIDService
internal import Synchronization

/// One loop with its connections.
///
/// The calls here come from outside the loop and are carried to it.
package final class Lane: @unchecked Sendable {
    package let loop: EventLoop
    /// Confined to the loop, once it runs.
    private let group: ConnectionGroup
    /// Called on the loop when a drain has ended.
    private let whenDrained: () -> Void

    /// Owns the group from now on; `whenDrained` is called on its loop.
    package init(group: ConnectionGroup, whenDrained: @escaping () -> Void = {}) {
        loop = group.loop
        self.group = group
        self.whenDrained = whenDrained
    }

    /// Connections refused because a limit was reached.
    package var refused: RefusalCounts { group.refused }

    /// Connections that ended before their first request could.
    package var openings: OpeningCounts { group.openings }

    /// HTTP/2 streams and connections that were cut.
    package var http2Faults: HTTP2FaultCounts { group.http2Faults }

    /// Names in the log what HTTP/2 cuts; to be called before the loop starts.
    package func logCuts(to log: Log, listeners: [String]) {
        var cuts = HTTP2CutLog(log: log, listeners: listeners)
        group.onHTTP2Fault = { [unowned loop] fault, peer, listener in
            cuts.note(fault, peer.address, listener: listener, now: loop.now)
        }
    }

    /// Starts the loop and accepts on the sockets; `settings` are in the order of the listeners.
    package func open(_ sockets: [ListeningSocket], settings: [ListenerSettings] = []) {
        loop.start()
        let opened = DispatchSemaphore(value: 0)
        loop.enqueue { [self] in
            for (index, socket) in sockets.enumerated() {
                let settings = index < settings.count ? settings[index] : ListenerSettings()
                try? group.listen(on: socket, listener: index, settings: settings)
            }
            opened.signal()
        }
        opened.wait()
    }

    /// Has new connections, and the queue of requests, obey other settings.
    package func adopt(_ settings: ServerSettings) {
        loop.enqueue { [self] in group.adopt(settings) }
    }

    private func drain(done: @escaping @Sendable () -> Void) {
        loop.enqueue { [self] in
            group.drain { [self] in
                whenDrained()
                done()
            }
        }
    }

    /// Cuts what is left and returns how many connections that were.
    private func cut() -> Int {
        let done = DispatchSemaphore(value: 0)
        let count = CutCount()
        loop.enqueue { [self] in
            count.value = group.cut()
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(1))
        return count.value
    }

    /// Lets what is under way on all lanes finish, cuts the rest at the limit.
    ///
    /// `done` is called once, off the loops, with the number of exchanges that were cut.
    package static func drain(
        _ lanes: [Lane], within limit: Duration, done: @escaping @Sendable (_ cut: Int) -> Void
    ) {
        let finish = OnceFlag()
        let group = DispatchGroup()
        for lane in lanes {
            group.enter()
            lane.drain { group.leave() }
        }
        let queue = DispatchQueue(label: "hidgate.drain")
        group.notify(queue: queue) {
            if finish.take() { done(0) }
        }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) {
            if finish.take() { done(lanes.reduce(0) { $0 + $1.cut() }) }
        }
    }
}

/// True for the first who asks.
private final class OnceFlag: Sendable {
    private let taken = Mutex(false)

    func take() -> Bool {
        taken.withLock { taken in
            defer { taken = true }
            return !taken
        }
    }
}

/// Written on the loop before the semaphore that its reader waits for.
private final class CutCount: @unchecked Sendable {
    var value = 0
}

/// What the machine has.
package enum SystemFacts {
    /// Processors this process may use.
    package static var cores: Int {
        Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }
}
