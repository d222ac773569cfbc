// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Synchronization

/// Writes lines to a file or descriptor from a queue of its own, so that the caller never waits for a disk or reader.
///
/// Lines wait in a bounded buffer and go out many at a time; a line that finds the buffer full is dropped and
/// counted. A line is written whole or not at all, as long as the medium lets us; after a torn one the next starts
/// on a new line. Any thread may call.
package final class LineSink: Sendable {
    package enum Destination: Sendable, Equatable {
        /// Created with 0640 and appended to; opened again by `reopen`.
        case file(path: String)
        /// Borrowed: not closed, not opened again.
        case descriptor(Int32)
    }
    private struct Buffer {
        var bytes: [UInt8] = []
        var lineCount = 0
        var isScheduled = false
        /// Octets that the queue took and has not written.
        var inFlight = 0
    }

    private let capacity: Int
    private let queue: DispatchQueue
    private let buffer = Mutex(Buffer())
    private let droppedLines = Atomic(0)
    private let failedWrites = Atomic(0)
    private let output: LineOutput

    /// - Throws: when the file cannot be opened.
    package init(_ destination: Destination, label: String = "hid.lines", capacity: Int = 4 << 20)
        throws(SystemFault)
    {
        self.capacity = capacity
        queue = DispatchQueue(label: label, qos: .utility)
        output = try LineOutput(destination)
    }

    /// Lines that were not written: the buffer was full, or the medium failed.
    package var dropped: Int { droppedLines.load(ordering: .relaxed) }
    /// Writes and opens that failed, whatever became of their lines.
    package var failures: Int { failedWrites.load(ordering: .relaxed) }

    /// Takes one line with its line feed; never blocks.
    package func write(_ line: [UInt8]) {
        let mustSchedule = buffer.withLock { buffer -> Bool in
            guard buffer.bytes.count + buffer.inFlight + line.count <= capacity else {
                droppedLines.add(1, ordering: .relaxed)
                return false
            }
            buffer.bytes += line
            buffer.lineCount += 1
            defer { buffer.isScheduled = true }
            return !buffer.isScheduled
        }
        if mustSchedule { schedule() }
    }

    /// Opens the file again, after it was renamed; the old one stays in use when that fails.
    package func reopen() {
        queue.async { [self] in
            if !output.reopen() { failedWrites.add(1, ordering: .relaxed) }
        }
    }

    /// Writes what is there and waits for it, at most that long; what is left after it is dropped and counted.
    ///
    /// Blocks: for the end of the process and for tests.
    package func flush(within limit: Duration = .seconds(1)) {
        let deadline = SystemClock.monotonicMicroseconds + limit.inMicroseconds
        queue.sync {
            repeat {
                let left = Int32(clamping: max(0, (deadline - SystemClock.monotonicMicroseconds) / 1000))
                drain(waitMilliseconds: min(left, Self.turn))
            } while hasPending && SystemClock.monotonicMicroseconds < deadline
            count(output.discard())
            buffer.withLock { buffer in
                droppedLines.add(buffer.lineCount, ordering: .relaxed)
                buffer.bytes.removeAll(keepingCapacity: true)
                buffer.lineCount = 0
                buffer.inFlight = 0
            }
        }
    }

    // MARK: On the queue

    /// How long a turn of the queue waits for a slow reader, in milliseconds; bounds what `flush` waits for.
    private static let turn: Int32 = 50

    private var hasPending: Bool {
        output.hasPending || buffer.withLock { !$0.bytes.isEmpty }
    }

    private func schedule() {
        queue.async { [self] in
            drain(waitMilliseconds: Self.turn)
            let goesOn = buffer.withLock { buffer -> Bool in
                buffer.isScheduled = output.hasPending || !buffer.bytes.isEmpty
                return buffer.isScheduled
            }
            if goesOn { schedule() }
        }
    }

    private func drain(waitMilliseconds: Int32) {
        if !output.hasPending {
            let batch = buffer.withLock { buffer -> [UInt8] in
                defer {
                    buffer.inFlight = buffer.bytes.count
                    buffer.bytes = []
                    buffer.lineCount = 0
                }
                return buffer.bytes
            }
            output.take(batch)
        }
        count(output.write(waitMilliseconds: waitMilliseconds))
        buffer.withLock { $0.inFlight = output.pendingCount }
    }

    private func count(_ lost: LineOutput.Loss) {
        if lost.lines > 0 { droppedLines.add(lost.lines, ordering: .relaxed) }
        if lost.isFailure { failedWrites.add(1, ordering: .relaxed) }
    }
}

extension Duration {
    /// Whole microseconds.
    package var inMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
