// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HIDHTTP

/// What a load is to be.
struct LoadPlan: Sendable {
    let target: LoopbackPort
    let request: [UInt8]
    /// Requests a second that become due, whatever the server does; nil: each connection sends when it can.
    var rate: Double?
    var connections: Int
    var seconds: Double
    /// What counts only from here on, in seconds.
    var warmUp = 1.0
    /// A client that waits longer gives up, in seconds.
    var patience = 1.0
}

/// What a load came to, after its warm-up.
struct LoadResult: Sendable {
    /// Milliseconds from the moment a request was due to the end of its answer, of good answers.
    var latency = Samples()
    var due = 0
    var good = 0
    /// 503, in time.
    var refused = 0
    var otherStatus = 0
    /// Clients that gave up.
    var late = 0
    /// Connections that ended instead of an answer.
    var lost = 0
    /// Requests that were due while every connection waited for an answer.
    var unsent = 0
    var seconds = 0.0

    var goodput: Double { seconds > 0 ? Double(good) / seconds : 0 }
}

/// A load on one loop.
///
/// Confined to it, apart from `run`.
final class LoadCourse: @unchecked Sendable {
    let loop: EventLoop
    let plan: LoadPlan
    /// Where every read lands.
    var scratch = [UInt8](repeating: 0, count: 64 << 10)
    private var idle: [LoadClient] = []
    private var clients: [ObjectIdentifier: LoadClient] = [:]
    /// By the time at which their clients give up.
    private var waiting: [(client: LoadClient, number: Int, due: UInt64)] = []
    private var firstWaiting = 0
    private var result = LoadResult()
    private var begin: UInt64 = 0
    private var counted: UInt64 = 0
    private var end: UInt64 = 0
    private var begun = 0
    private var timer: LoopTimer?
    private var done: ((LoadResult) -> Void)?
    private static let tick = Delay(.milliseconds(1))

    init(_ plan: LoadPlan, on loop: EventLoop) {
        self.plan = plan
        self.loop = loop
    }

    /// Runs the load and waits for its end.
    func run() -> LoadResult {
        let ready = DispatchSemaphore(value: 0)
        let box = LoadBox()
        loop.enqueue { [self] in
            start { result in
                box.result = result
                ready.signal()
            }
        }
        ready.wait()
        return box.result
    }

    private func start(_ done: @escaping (LoadResult) -> Void) {
        self.done = done
        begin = MonotonicClock.now()
        counted = begin + UInt64(plan.warmUp * 1e9)
        end = counted + UInt64(plan.seconds * 1e9)
        timer = LoopTimer { [weak self] in self?.advance() }
        advance()
    }

    private func advance() {
        let now = MonotonicClock.now()
        guard now < end else { return finish() }
        expire(now)
        if let rate = plan.rate {
            while true {
                let due = begin + UInt64(Double(begun) * 1e9 / rate)
                guard due <= now else { break }
                begun += 1
                if due >= counted { result.due += 1 }
                send(due: due)
            }
        } else {
            while let client = idle.popLast() { give(client, due: now) }
            while clients.count < plan.connections, open(due: now) {}
        }
        if let timer { loop.set(timer, after: Self.tick) }
    }

    private func send(due: UInt64) {
        if let client = idle.popLast() { return give(client, due: due) }
        if clients.count < plan.connections, open(due: due) { return }
        if due >= counted { result.unsent += 1 }
    }

    private func open(due: UInt64) -> Bool {
        guard let client = LoadClient(self) else { return false }
        clients[ObjectIdentifier(client)] = client
        give(client, due: due)
        return true
    }

    private func give(_ client: LoadClient, due: UInt64) {
        client.begin(due: due)
        waiting.append((client, client.number, due))
    }

    private func expire(_ now: UInt64) {
        let patience = UInt64(plan.patience * 1e9)
        while firstWaiting < waiting.count, waiting[firstWaiting].due + patience <= now {
            let entry = waiting[firstWaiting]
            firstWaiting += 1
            guard clients[ObjectIdentifier(entry.client)] === entry.client, entry.client.number == entry.number,
                !isIdle(entry.client)
            else { continue }
            entry.client.drop()
            clients[ObjectIdentifier(entry.client)] = nil
            if entry.due >= counted { result.late += 1 }
        }
        if firstWaiting > 65_536 {
            waiting.removeFirst(firstWaiting)
            firstWaiting = 0
        }
    }

    private func isIdle(_ client: LoadClient) -> Bool { client.due == 0 }

    // MARK: - From the clients

    func answered(_ client: LoadClient, status: Int, isOpen: Bool) {
        let now = MonotonicClock.now()
        if !isOpen { clients[ObjectIdentifier(client)] = nil }
        // By when they end: by when they begin, those still under way at the end would be missing.
        if now >= counted, now < end {
            switch status {
            case 200:
                result.good += 1
                result.latency.add(Double(now - min(now, client.due)) / 1e6)
            case 503: result.refused += 1
            default: result.otherStatus += 1
            }
        }
        client.rest()
        guard isOpen else { return }
        if plan.rate == nil, now < end { give(client, due: now) } else { idle.append(client) }
    }

    func lost(_ client: LoadClient, wasWaiting: Bool) {
        clients[ObjectIdentifier(client)] = nil
        idle.removeAll { $0 === client }
        if wasWaiting, client.due >= counted { result.lost += 1 }
    }

    private func finish() {
        guard let done else { return }
        self.done = nil
        timer?.cancel()
        for client in clients.values { client.drop() }
        clients = [:]
        idle = []
        waiting = []
        result.seconds = plan.seconds
        done(result)
    }
}

/// Written on the loop before the semaphore that its reader waits for.
private final class LoadBox: @unchecked Sendable {
    var result = LoadResult()
}
