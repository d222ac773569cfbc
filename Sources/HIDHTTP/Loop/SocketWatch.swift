// SPDX-License-Identifier: Apache-2.0

/// One descriptor that a C library wants watched on a loop.
final class SocketWatch: EventHandler {
    private let descriptor: Int32
    private unowned let loop: EventLoop
    private let action: (Int32, UInt32) -> Void
    private var registration: Registration?

    init(descriptor: Int32, loop: EventLoop, action: @escaping (Int32, UInt32) -> Void) {
        self.descriptor = descriptor
        self.loop = loop
        self.action = action
    }

    func start(_ mask: UInt32) {
        registration = try? loop.register(descriptor, events: mask, level: true, handler: self)
    }

    func change(to mask: UInt32) {
        guard let registration else { return }
        loop.modify(registration, descriptor, events: mask)
    }

    func stop() {
        guard let registration else { return }
        loop.deregister(registration, descriptor)
        self.registration = nil
    }

    func handle(events: UInt32) {
        action(descriptor, events)
    }
}
