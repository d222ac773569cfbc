// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDHTTP

/// One connection of a load: one request at a time, kept alive as long as the server likes.
///
/// Confined to the loop of its course.
final class LoadClient: EventHandler {
    private enum State { case connecting, idle, waiting, closed }

    private unowned let course: LoadCourse
    private let socket: LoopSocket
    private var registration: Registration?
    private var state = State.connecting
    /// When the request under way was due, 0 without one; a later one gets another number.
    private(set) var due: UInt64 = 0
    private(set) var number = 0
    private var sent = 0
    private var parser = ResponseParser()
    private var head = ResponseHead()
    private var reader: BodyReader?
    private var input: [UInt8] = []

    init?(_ course: LoadCourse) {
        guard let socket = LoopSocket(to: course.plan.target) else { return nil }
        self.course = course
        self.socket = socket
        registration = socket.register(on: course.loop, self)
        guard registration != nil else { return nil }
    }

    /// Sends a request that was due at that time.
    func begin(due: UInt64) {
        self.due = due
        number += 1
        sent = 0
        reader = nil
        parser.reset()
        head.reset()
        if state == .idle {
            state = .waiting
            push()
        }
    }

    /// There is no request under way.
    func rest() { due = 0 }

    func handle(events: UInt32) {
        if events & PollBits.output != 0 {
            if state == .connecting { state = .waiting }
            if state == .waiting { push() }
        }
        guard state != .closed, events & ~PollBits.output != 0 else { return }
        receive()
    }

    private func push() {
        while sent < course.plan.request.count {
            guard let count = socket.send(course.plan.request, from: sent) else { return lost() }
            guard count > 0 else { return }
            sent += count
        }
    }

    private func receive() {
        while state != .closed {
            switch socket.receive(into: &course.scratch) {
            case .nothing: return
            case .ended: return lost()
            case .octets(let count):
                guard state == .waiting else { continue }
                read(count)
            }
        }
    }

    private func read(_ count: Int) {
        if input.isEmpty, reader != nil {
            let octets = course.scratch
            consume(octets.span.extracting(0..<count))
            return
        }
        input += course.scratch[..<count]
        let octets = input
        guard reader == nil else { return }
        switch parser.parse(octets.span, into: &head, requestMethodIsHead: false) {
        case .needMore: return
        case .bad: return lost()
        case .complete(let used):
            guard head.status >= 200 else { return lost() }
            reader = BodyReader(framing: head.framing)
            input = []
            consume(octets.span.extracting(used..<octets.count))
        }
    }

    private func consume(_ octets: Span<UInt8>) {
        var used = 0
        while state == .waiting {
            switch reader?.next(octets.extracting(used..<octets.count)) {
            case .needMore: return
            case .data(let range): used += range.upperBound
            case .end: return answered()
            case .bad, nil: return lost()
            }
        }
    }

    private func answered() {
        let isPersistent = head.isPersistent
        state = isPersistent ? .idle : .closed
        if !isPersistent { drop() }
        course.answered(self, status: head.status, isOpen: isPersistent)
    }

    private func lost() {
        let wasWaiting = state == .waiting || state == .connecting
        drop()
        course.lost(self, wasWaiting: wasWaiting)
    }

    /// Closes without telling the course.
    func drop() {
        state = .closed
        if let registration { course.loop.deregister(registration, socket.descriptor) }
        registration = nil
        socket.close()
    }
}
