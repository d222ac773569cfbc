// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

/// The daemon's own events as JSON lines: `{"time":...,"level":...,"event":...,fields}`.
///
/// The event is a constant, what varies goes into fields with dotted keys (`upstream.name`). Tokens, signatures
/// and bodies are never logged, `hid` only shortened. Levels: error = a request failed by our fault, or start-up
/// failed; warning = degraded but served; info = life-cycle; debug = per request. Any thread may log.
package struct Log: Sendable {
    package enum Level: String, Sendable, CaseIterable, Comparable {
        case debug
        case info
        case warning
        case error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }
    package enum Sink: Sendable {
        /// One `write` a line, which may block.
        case stderr
        case memory(MemoryLog)
        /// Never blocks; lines are dropped and counted when the reader does not keep up.
        case lines(LineSink)
    }
    package typealias Fields = KeyValuePairs<StaticString, Value>

    package let minimum: Level
    private let sink: Sink
    private let now: @Sendable () -> Int64

    /// Makes a log; `now` gives milliseconds since 1970.
    package init(
        minimum: Level = .info, sink: Sink = .stderr,
        now: @escaping @Sendable () -> Int64 = { SystemClock.millisecondsSince1970 }
    ) {
        self.minimum = minimum
        self.sink = sink
        self.now = now
    }

    package func debug(_ event: StaticString, _ fields: Fields = [:]) { write(.debug, event, fields) }
    package func info(_ event: StaticString, _ fields: Fields = [:]) { write(.info, event, fields) }
    package func warning(_ event: StaticString, _ fields: Fields = [:]) { write(.warning, event, fields) }
    package func error(_ event: StaticString, _ fields: Fields = [:]) { write(.error, event, fields) }

    package func write(_ level: Level, _ event: StaticString, _ fields: Fields) {
        guard level >= minimum else { return }
        var line = JSONLineWriter(capacity: 256)
        line.begin()
        line.time("time", millisecondsSince1970: now())
        line.string("level", level.rawValue)
        line.constant("event", event)
        for (key, value) in fields {
            switch value {
            case .string(let text): line.string(key, text)
            case .bytes(let bytes): line.string(key, bytes)
            case .integer(let number): line.integer(key, number)
            case .double(let number): line.double(key, number)
            case .bool(let flag): line.bool(key, flag)
            case .null: line.null(key)
            }
        }
        line.end()
        deliver(line.bytes)
    }

    private func deliver(_ line: [UInt8]) {
        switch sink {
        case .memory(let memory): memory.append(line)
        case .lines(let sink): sink.write(line)
        case .stderr:
            // A log that cannot be written has nowhere to complain.
            while unsafe Glibc.write(STDERR_FILENO, line, line.count) < 0, errno == EINTR {}
        }
    }
}

extension Log {
    package enum Value: Sendable, Equatable {
        case string(String)
        case bytes([UInt8])
        case integer(Int)
        case double(Double)
        case bool(Bool)
        case null
    }
}

extension Log.Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
}

/// Keeps log lines for tests.
package final class MemoryLog: Sendable {
    private let stored = Mutex<[[UInt8]]>([])

    package init() {}

    /// Lines without their line feeds.
    package var lines: [String] {
        stored.withLock { lines in lines.map { String(decoding: $0.dropLast(), as: UTF8.self) } }
    }

    func append(_ line: [UInt8]) {
        stored.withLock { $0.append(line) }
    }
}
