// SPDX-License-Identifier: Apache-2.0

import HIDHTTP
import Synchronization

/// One large upload to a slow upstream, or one large download by a slow client: 1 MB/s for two seconds, then all out.
///
/// Confined to its loop, apart from `start`, `isDone` and `hasSucceeded`.
final class Transfer: EventHandler, @unchecked Sendable {
    private let isUpload: Bool
    private let target: LoopbackPort
    private let loop: EventLoop
    private let head: [UInt8]
    private var left: Int
    private var sentOfHead = 0
    private var socket: LoopSocket?
    private var registration: Registration?
    private var timer: LoopTimer?
    private var ticks = 0
    /// Octets that may be read before the next tick.
    private var credit = 0
    private var input: [UInt8] = []
    private var scratch = [UInt8](repeating: 0x61, count: 256 << 10)
    private let state = Atomic<Int>(0)

    init(isUpload: Bool, count: Int, target: LoopbackPort, loop: EventLoop) {
        (self.isUpload, self.target, self.loop) = (isUpload, target, loop)
        left = count
        head = Array(
            (isUpload
                ? "POST /sink/slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(count)\r\n\r\n"
                : "GET /bytes/\(count) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").utf8)
    }

    var isDone: Bool { state.load(ordering: .acquiring) != 0 }
    var hasSucceeded: Bool { state.load(ordering: .acquiring) == 1 }

    func start() {
        loop.enqueue { [self] in
            guard let socket = LoopSocket(to: target) else { return end(false) }
            self.socket = socket
            registration = socket.register(on: loop, self)
            timer = LoopTimer { [weak self] in self?.tick() }
            tick()
        }
    }

    private var isSlow: Bool { !isUpload && ticks <= 20 }

    private func tick() {
        ticks += 1
        credit = 100_000
        if !isUpload { download() }
        if isSlow, let timer { loop.set(timer, after: Delay(.milliseconds(100))) }
    }

    func handle(events: UInt32) {
        guard let socket else { return }
        while sentOfHead < head.count {
            guard let count = socket.send(head, from: sentOfHead) else { return end(false) }
            guard count > 0 else { return }
            sentOfHead += count
        }
        if isUpload { upload(socket) } else { download() }
    }

    private func upload(_ socket: LoopSocket) {
        while left > 0 {
            let offset = max(0, scratch.count - left)
            guard let count = socket.send(scratch, from: offset) else { return end(false) }
            guard count > 0 else { return }
            left -= count
        }
        var answer = [UInt8](repeating: 0, count: 4096)
        while true {
            switch socket.receive(into: &answer) {
            case .nothing: return
            case .octets(let count): input += answer[..<count]
            case .ended: return end(input.starts(with: Array("HTTP/1.1 200".utf8)))
            }
        }
    }

    private func download() {
        guard let socket, sentOfHead == head.count else { return }
        while !isSlow || credit > 0 {
            switch socket.receive(into: &scratch, limit: isSlow ? credit : scratch.count) {
            case .nothing: return
            case .ended: return end(left <= 0)
            case .octets(let count):
                // The head of the answer is on top: a few hundred octets too many prove as much.
                left -= count
                credit -= count
            }
        }
    }

    private func end(_ isGood: Bool) {
        timer?.cancel()
        if let registration, let socket { loop.deregister(registration, socket.descriptor) }
        registration = nil
        socket = nil
        state.store(isGood ? 1 : 2, ordering: .releasing)
    }
}
