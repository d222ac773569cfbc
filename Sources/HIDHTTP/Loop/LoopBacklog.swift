// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// How long events wait in the kernel before the loop comes to them: the measure of overload.
///
/// The ready list of epoll is a queue: what became ready first is reported first. While a turn takes all there is,
/// nothing waits. Once a turn ends with more left, a mark is sent through the same queue, an eventfd that becomes
/// ready now; when it is reported, everything in front of it has had its turn, and its age is what the others waited.
/// A loop that keeps up never sends one. Confined to its loop.
package struct LoopBacklog {
    let mark: Int32
    private var sent: UInt64?
    private var credit = 0
    /// Nanoseconds an event waits in the kernel, as known now.
    private var kernelDelay: UInt64 = 0
    /// Nanoseconds the request that was admitted last has waited since its event.
    private var admissionDelay: UInt64 = 0
    /// Nanoseconds a request waits, as known now.
    package var delay: UInt64 { kernelDelay &+ admissionDelay }
    /// Whether the last turn left events behind.
    package private(set) var isBehind = false

    init() throws(SystemCallError) {
        mark = try SystemCall.require("eventfd") { eventfd(0, hid_eventfd_flags) }
    }

    /// Notes what a wait has brought.
    mutating func turn(isFull: Bool, now: UInt64) {
        isBehind = isFull
        guard isFull else {
            kernelDelay = 0
            return
        }
        if let sent {
            kernelDelay = max(kernelDelay, now &- sent)
        } else {
            sent = now
            var one: UInt64 = 1
            _ = SystemCall.retrying { unsafe write(mark, &one, 8) }
        }
    }

    /// The mark has come through.
    mutating func markArrived(now: UInt64) {
        guard let sent else { return }
        kernelDelay = now &- sent
        self.sent = nil
    }

    /// A request begins that has waited so long; 0: none waits any more.
    mutating func admitted(after wait: UInt64) {
        admissionDelay = wait
    }

    /// Whether the request at hand is one of those that must be refused so that the others wait no longer than
    /// `target` nanoseconds: of a backlog of twice the target every second one.
    mutating func sheds(above target: UInt64) -> Bool {
        guard delay > target else { return false }
        credit += 1000 - Int(clamping: target &* 1000 / delay)
        guard credit >= 1000 else { return false }
        credit -= 1000
        return true
    }
}
