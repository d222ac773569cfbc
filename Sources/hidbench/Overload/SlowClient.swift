// SPDX-License-Identifier: Apache-2.0

import HIDHTTP

/// What makes a client slow.
enum SlowKind: String, CaseIterable, Sendable {
    /// A head that never ends, a line now and then.
    case heads
    /// A body that never ends, an octet now and then.
    case bodies
    /// An answer that is taken an octet at a time.
    case reads

    /// What it begins with.
    var opening: [UInt8] {
        switch self {
        case .heads: Array("GET /slow HTTP/1.1\r\nHost: a\r\n".utf8)
        case .bodies: Array("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n".utf8)
        case .reads: Array("GET /bytes/1000000 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        }
    }

    var drip: [UInt8] {
        switch self {
        case .heads: Array("X-A: b\r\n".utf8)
        case .bodies: [0x61]
        case .reads: []
        }
    }
}

/// A client that holds its connection and does next to nothing with it; cut, it comes again.
///
/// Confined to the loop of its herd.
final class SlowClient: EventHandler {
    private let kind: SlowKind
    private unowned let herd: SlowHerd
    private var socket: LoopSocket?
    private var registration: Registration?
    private var isConnected = false
    private var hasOpened = false

    init(_ kind: SlowKind, _ herd: SlowHerd) {
        self.kind = kind
        self.herd = herd
    }

    var isOpen: Bool { socket != nil }

    /// Connects, or sends or takes a little.
    func act() {
        guard let socket else { return open() }
        guard isConnected else { return }
        if !hasOpened {
            hasOpened = true
            guard socket.send(kind.opening) != nil else { return end() }
        } else if kind == .reads {
            if socket.receive(into: &herd.scratch, limit: 1) == .ended { end() }
        } else if socket.send(kind.drip) == nil {
            end()
        }
    }

    private func open() {
        guard let made = LoopSocket(to: herd.target, receiveBuffer: kind == .reads ? 4096 : nil) else { return }
        socket = made
        (isConnected, hasOpened) = (false, false)
        registration = made.register(on: herd.loop, self)
    }

    func handle(events: UInt32) {
        guard let socket else { return }
        if events & PollBits.output != 0, !isConnected {
            isConnected = true
            act()
        }
        let isEnding = events & ~(PollBits.input | PollBits.output) != 0
        guard isEnding || (kind != .reads && events & PollBits.input != 0) else { return }
        while true {
            switch socket.receive(into: &herd.scratch) {
            case .nothing: return
            case .octets: continue
            case .ended: return end()
            }
        }
    }

    private func end() {
        close()
        herd.cuts += 1
    }

    func close() {
        if let registration, let socket { herd.loop.deregister(registration, socket.descriptor) }
        registration = nil
        socket?.close()
        socket = nil
    }
}

/// Many slow clients.
///
/// Confined to its loop, apart from `start`, `stop` and `state`, which block.
final class SlowHerd: @unchecked Sendable {
    let loop: EventLoop
    let target: LoopbackPort
    var scratch = [UInt8](repeating: 0, count: 64 << 10)
    /// How often the server ended one.
    var cuts = 0
    private var clients: [SlowClient] = []
    private var next = 0
    private var timer: LoopTimer?
    /// Each client acts once in so many ticks.
    private static let ticks = 100
    private static let tick = Delay(.milliseconds(10))

    init(_ count: Int, kinds: [SlowKind], target: LoopbackPort, on loop: EventLoop) {
        self.loop = loop
        self.target = target
        clients = (0..<count).map { SlowClient(kinds[$0 % kinds.count], self) }
    }

    /// Lets them come, all within a second or two.
    func start() {
        loop.enqueue { [self] in
            timer = LoopTimer { [weak self] in self?.advance() }
            advance()
        }
    }

    private func advance() {
        let share = max(1, (clients.count + Self.ticks - 1) / Self.ticks)
        for _ in 0..<min(share, clients.count) {
            clients[next].act()
            next = (next + 1) % clients.count
        }
        if let timer { loop.set(timer, after: Self.tick) }
    }

    /// How many are connected, and how often one was cut.
    func state() -> (open: Int, cuts: Int) {
        loop.value { [self] in (clients.filter(\.isOpen).count, cuts) }
    }

    /// Lets them go.
    func stop() {
        loop.value { [self] in
            timer?.cancel()
            for client in clients { client.close() }
        }
    }
}
