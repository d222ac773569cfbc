// SPDX-License-Identifier: Apache-2.0

import HIDHTTP

/// Clients that come and then go without a word: a third sends the end of its stream in the middle of a head, a third
/// resets with a request under way, a third says nothing any more.
///
/// Confined to its loop, apart from `start`, `vanish` and `stop`.
final class VanishingHerd: @unchecked Sendable {
    private let loop: EventLoop
    private let target: LoopbackPort
    private let count: Int
    private var sockets: [LoopSocket] = []
    private var timer: LoopTimer?

    private static let half = Array("GET /slow HTTP/1.1\r\nHost".utf8)
    private static let whole = Array("GET /hold/60000 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

    init(_ count: Int, target: LoopbackPort, on loop: EventLoop) {
        (self.count, self.target, self.loop) = (count, target, loop)
    }

    func start() {
        loop.enqueue { [self] in
            timer = LoopTimer { [weak self] in self?.come() }
            come()
        }
    }

    private func come() {
        for _ in 0..<100 where sockets.count < count {
            if let socket = LoopSocket(to: target) { sockets.append(socket) }
        }
        if sockets.count < count, let timer { loop.set(timer, after: Delay(.milliseconds(10))) }
    }

    func vanish() {
        loop.value { [self] in
            for (index, socket) in sockets.enumerated() {
                switch index % 3 {
                case 0:
                    _ = socket.send(Self.half)
                    socket.halfClose()
                case 1:
                    _ = socket.send(Self.whole)
                    socket.reset()
                default: _ = socket.send(Self.half)
                }
            }
        }
    }

    func stop() {
        loop.value { [self] in
            timer?.cancel()
            sockets = []
        }
    }
}
