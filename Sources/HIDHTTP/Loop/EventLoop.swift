// SPDX-License-Identifier: Apache-2.0

internal import CLinux
package import Dispatch
internal import Glibc
package import Synchronization

/// Something with a descriptor in the epoll set of a loop.
package protocol EventHandler: AnyObject {
    /// Called on the loop with the epoll event bits.
    func handle(events: UInt32)
}

/// Names one registration: a slot and the generation that used it, so that an event for a closed and reused
/// descriptor is dropped.
package struct Registration: Equatable, Sendable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
}

/// One event loop: a serial queue with its own epoll set, watched by one Dispatch source on the epoll descriptor.
///
/// The handler drains the set, then lingers in `epoll_wait` for a few milliseconds before the source re-arms: under
/// load this costs what a blocked thread costs, and an idle loop sleeps in Dispatch. While it lingers nothing else on
/// the queue runs, so work for a loop goes through `enqueue`, which wakes it by an eventfd.
///
/// Confined to `queue`, apart from `enqueue`, `stop` and the constants.
@safe package final class EventLoop: @unchecked Sendable {
    /// Position among the loops of the process; shard of the counters.
    package let index: Int
    package let queue: DispatchQueue

    /// Monotonic nanoseconds, read once a turn.
    package private(set) var now: UInt64
    /// Wall-clock nanoseconds since 1970, read once a turn.
    ///
    /// For claims and logs only.
    package private(set) var wall: Int64
    /// Turns made, for the watchdog and for tests.
    package let turns = Atomic<Int>(0)
    /// How long the last turn worked, in nanoseconds: the measure of overload.
    package private(set) var lastTurn: UInt64 = 0

    /// What the connections of this loop keep for slow peers.
    package let buffers = BufferAccount()
    /// How far the loop is behind.
    package internal(set) var backlog: LoopBacklog

    /// Where every read of this loop lands first.
    ///
    /// A reader holds the array while callbacks look at a span over it. Reading from inside such a callback would be
    /// safe but copy the whole buffer, so work that reads is put off with `afterEvents`.
    let scratch: ReadScratch

    private let epoll: Int32
    private let wake: Int32
    private var source: (any DispatchSourceRead)?
    private var alarm: (any DispatchSourceTimer)?
    private var armed = UInt64.max
    private let events: UnsafeMutablePointer<epoll_event>
    private static let batch = 256
    private static let timersPerTurn = 16
    private static let lingerMilliseconds: Int32 = 4
    private static let turnsPerCall = 128
    /// What the epoll set calls the mark of the backlog; no slot is that high.
    private static let markKey = UInt64.max - 1

    private var slots: [(handler: (any EventHandler)?, generation: UInt32)] = []
    private var freeSlots: [UInt32] = []
    private var timers = TimerHeap()
    private var deferred: [() -> Void] = []
    private var flushes: [any Flushable] = []
    private var newcomers = AdmissionQueue()
    /// Requests of HTTP/2 that began in this turn as they came.
    private var begun = 0
    private let inbox = Mutex<[@Sendable () -> Void]>([])
    /// The thread that serves the loop now, 0 when none does.
    private let thread = Atomic<UInt>(0)

    package init(index: Int, label: String = "hidgate.loop") throws(SystemCallError) {
        self.index = index
        queue = DispatchQueue(label: "\(label).\(index)", qos: .userInitiated)
        let epoll = try SystemCall.require("epoll_create1") { epoll_create1(hid_epoll_cloexec) }
        self.epoll = epoll
        wake = try SystemCall.require("eventfd") { eventfd(0, hid_eventfd_flags) }
        backlog = try LoopBacklog()
        unsafe events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Self.batch)
        scratch = ReadScratch()
        now = MonotonicClock.now()
        wall = WallClock.now()
        var event = unsafe epoll_event()
        unsafe event.events = hid_epoll_in
        unsafe event.data.u64 = .max
        let wake = wake
        _ = try SystemCall.require("epoll_ctl") { unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) }
        let mark = backlog.mark
        unsafe event.events = hid_epoll_in | hid_epoll_edge
        unsafe event.data.u64 = Self.markKey
        _ = try SystemCall.require("epoll_ctl") { unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, mark, &event) }
    }

    deinit {
        close(epoll)
        close(wake)
        close(backlog.mark)
        unsafe events.deallocate()
    }

    /// Starts the loop.
    ///
    /// The source keeps it alive until `stop`.
    package func start() {
        let source = DispatchSource.makeReadSource(fileDescriptor: epoll, queue: queue)
        source.setEventHandler { self.serve() }
        let alarm = DispatchSource.makeTimerSource(queue: queue)
        alarm.setEventHandler { self.serve() }
        self.source = source
        self.alarm = alarm
        alarm.activate()
        source.activate()
    }

    /// Ends the loop after what is queued.
    ///
    /// Any thread.
    package func stop() {
        enqueue { [self] in
            source?.cancel()
            alarm?.cancel()
            source = nil
            alarm = nil
        }
    }

    /// Runs `work` on the loop in one of its next turns.
    ///
    /// Any thread.
    package func enqueue(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = inbox.withLock { box in
            box.append(work)
            return box.count == 1
        }
        guard wasEmpty else { return }
        var one: UInt64 = 1
        _ = SystemCall.retrying { unsafe write(wake, &one, 8) }
    }

    /// Whether the caller is a turn of this loop.
    ///
    /// Any thread.
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `work` on this loop after the events at hand, outside any span over the scratch buffer.
    ///
    /// Loop only.
    package func afterEvents(_ work: @escaping () -> Void) {
        deferred.append(work)
    }

    /// Writes out what `target` has gathered once the events at hand are done.
    ///
    /// Loop only.
    func flushAfterEvents(_ target: any Flushable) {
        flushes.append(target)
    }

    /// Whether a request that comes now should wait until what is under way has had its turn.
    ///
    /// Loop only.
    var isCrowded: Bool { backlog.isBehind || !newcomers.isEmpty }

    /// Whether one more request of many that share a connection may begin now; counts it when it may.
    ///
    /// A turn brings one request of each HTTP/1 connection at most, so that what is under way has its turn after as
    /// many events as a wait brings; a hundred may come by one read of HTTP/2.
    ///
    /// Loop only.
    func admitsAnother() -> Bool {
        guard !isCrowded, begun < Self.batch else { return false }
        begun += 1
        return true
    }

    /// Lets a request wait for its turn.
    ///
    /// Loop only.
    func admitLater(_ newcomer: any Newcomer) {
        newcomers.append(newcomer, now: now)
    }

    /// Moves a timer.
    ///
    /// Loop only.
    package func set(_ timer: LoopTimer, after delay: Delay) {
        timers.set(timer, to: now &+ delay.nanoseconds)
    }

    /// Moves a timer to a moment of the monotonic clock.
    ///
    /// Loop only.
    func set(_ timer: LoopTimer, at deadline: UInt64) {
        timers.set(timer, to: deadline)
    }

    // MARK: - Registrations

    /// Adds a descriptor to the set; edge-triggered unless `level`.
    ///
    /// Loop only.
    package func register(
        _ descriptor: Int32, events mask: UInt32, level: Bool = false, handler: any EventHandler
    ) throws(SystemCallError) -> Registration {
        let registration = reserve(handler)
        var event = unsafe epoll_event()
        unsafe event.events = level ? mask : mask | hid_epoll_edge
        unsafe event.data.u64 = UInt64(registration.generation) << 32 | UInt64(registration.slot)
        let epoll = epoll
        do throws(SystemCallError) {
            _ = try SystemCall.require("epoll_ctl") { unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) }
        } catch {
            release(registration)
            throw error
        }
        return registration
    }

    /// Changes what is waited for.
    ///
    /// Loop only.
    package func modify(_ registration: Registration, _ descriptor: Int32, events mask: UInt32) {
        var event = unsafe epoll_event()
        unsafe event.events = mask
        unsafe event.data.u64 = UInt64(registration.generation) << 32 | UInt64(registration.slot)
        _ = SystemCall.retrying { unsafe epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) }
    }

    /// Gives the events of a registration to another handler from now on.
    ///
    /// Loop only.
    func reassign(_ registration: Registration, to handler: any EventHandler) {
        let slot = Int(registration.slot)
        guard slots[slot].generation == registration.generation, slots[slot].handler != nil else { return }
        slots[slot].handler = handler
    }

    /// Takes a descriptor out of the set; `closing` when its close does that by itself.
    ///
    /// Loop only.
    package func deregister(_ registration: Registration, _ descriptor: Int32, closing: Bool = false) {
        if !closing {
            var event = unsafe epoll_event()
            _ = SystemCall.retrying { unsafe epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event) }
        }
        release(registration)
    }

    private func reserve(_ handler: any EventHandler) -> Registration {
        if let slot = freeSlots.popLast() {
            slots[Int(slot)].handler = handler
            return Registration(slot: slot, generation: slots[Int(slot)].generation)
        }
        slots.append((handler, 0))
        return Registration(slot: UInt32(slots.count - 1), generation: 0)
    }

    private func release(_ registration: Registration) {
        let slot = Int(registration.slot)
        guard slots[slot].generation == registration.generation, slots[slot].handler != nil else { return }
        slots[slot].handler = nil
        slots[slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    // MARK: - Turns

    private func serve() {
        dispatchPrecondition(condition: .onQueue(queue))
        // Any other thread finds another name here, or 0: what it reads too early or too late is never its own.
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        defer { thread.store(0, ordering: .relaxed) }
        var turn = 0
        while turn < Self.turnsPerCall, source != nil {
            let linger = turn == 0 || !newcomers.isEmpty ? 0 : Self.lingerMilliseconds
            guard runTurn(waiting: min(linger, untilNextTimer())) || turn == 0 else { break }
            turn += 1
        }
        // The source tells of events, and a request that waits here has had its own.
        if !newcomers.isEmpty { enqueue {} }
        armAlarm()
    }

    /// One round of events, timers, deferred work and writes.
    ///
    /// Returns whether anything happened.
    private func runTurn(waiting milliseconds: Int32) -> Bool {
        let (count, _) = SystemCall.retrying { unsafe epoll_wait(epoll, events, Int32(Self.batch), milliseconds) }
        now = MonotonicClock.now()
        wall = WallClock.now()
        let began = now
        begun = 0
        backlog.turn(isFull: count == Self.batch, now: now)
        for index in 0..<max(0, Int(count)) {
            let event = unsafe events[index]
            unsafe dispatch(event.data.u64, event.events)
            runDeferred()
        }
        let fired = runTimers() || !newcomers.isEmpty
        runNewcomers()
        runFlushes()
        buffers.tell()
        turns.add(1, ordering: .relaxed)
        lastTurn = MonotonicClock.now() &- began
        return count > 0 || fired
    }

    private func dispatch(_ key: UInt64, _ bits: UInt32) {
        guard key != .max else { return runInbox() }
        guard key != Self.markKey else { return backlog.markArrived(now: now) }
        let slot = Int(truncatingIfNeeded: key & 0xFFFF_FFFF)
        guard slot < slots.count, slots[slot].generation == UInt32(truncatingIfNeeded: key >> 32) else { return }
        slots[slot].handler?.handle(events: bits)
    }

    private func runInbox() {
        var count: UInt64 = 0
        _ = SystemCall.retrying { unsafe read(wake, &count, 8) }
        let work = inbox.withLock { box in
            let all = box
            box.removeAll(keepingCapacity: true)
            return all
        }
        for item in work { item() }
    }

    private func runDeferred() {
        while !deferred.isEmpty {
            let work = deferred
            deferred.removeAll(keepingCapacity: true)
            for item in work { item() }
        }
    }

    /// Thousands of deadlines may pass at once, of clients that came at once: the others get their turns between them.
    private func runTimers() -> Bool {
        for count in 0..<Self.timersPerTurn {
            guard let timer = timers.popDue(at: now) else { return count > 0 }
            timer.run()
            runDeferred()
        }
        return true
    }

    private func runNewcomers() {
        guard !newcomers.isEmpty else { return }
        for _ in 0..<AdmissionQueue.perTurn {
            guard let (newcomer, since) = newcomers.popFirst() else { break }
            backlog.admitted(after: now &- since)
            newcomer.admit()
            runDeferred()
        }
        if newcomers.isEmpty { backlog.admitted(after: 0) }
    }

    private func runFlushes() {
        while !flushes.isEmpty {
            let targets = flushes
            flushes.removeAll(keepingCapacity: true)
            for target in targets { target.flush() }
            runDeferred()
        }
    }

    private func untilNextTimer() -> Int32 {
        guard let next = timers.next else { return Int32.max }
        guard next > now else { return 0 }
        return Int32(clamping: (next - now + 999_999) / 1_000_000)
    }

    /// While the loop sleeps in Dispatch, a Dispatch timer stands in for the next deadline.
    private func armAlarm() {
        guard let alarm, let next = timers.next else { return }
        if next == armed, next > now { return }
        armed = next
        let delay = next > now ? next - now : 0
        alarm.schedule(deadline: .now() + .nanoseconds(Int(clamping: delay)), leeway: .milliseconds(1))
    }
}

/// Something that gathers output in a turn and writes it out once at the end.
protocol Flushable: AnyObject {
    func flush()
}

/// The buffer every read of a loop lands in first.
final class ReadScratch {
    static let size = 64 << 10
    var bytes = [UInt8](repeating: 0, count: ReadScratch.size)
}

/// CLOCK_MONOTONIC, for timeouts and lifetimes.
package enum MonotonicClock {
    /// Nanoseconds since an arbitrary start.
    package static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

/// CLOCK_REALTIME, for claims and logs.
package enum WallClock {
    /// Nanoseconds since 1970.
    package static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension Duration {
    /// Nanoseconds, clamped to what fits; negative durations are 0.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64.max / 1_000_000_000 else { return UInt64(Int64.max) }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
