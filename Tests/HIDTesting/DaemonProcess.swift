// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization

/// Why a program of the product could not be driven.
package struct DaemonFault: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// A folder of a test, gone with its owner.
package final class TestFolder: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/hid-e2e-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw WireError.system("mkdtemp", errno) }
        path = unsafe String(cString: made)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path. It takes the place of an older one in one step.
    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"), options: .atomic)
        return "\(path)/\(name)"
    }
}

/// A child with its standard error (and output) gathered by lines. Killed at the latest with its owner.
package final class ChildProcess: Sendable {
    private struct Output: Sendable {
        var lines: [String] = []
        var isEnded = false
    }

    package let pid: Int32
    private let output = Monitor(Output())
    private let exit = Monitor<Int32?>(nil)

    /// Starts a program with exactly these arguments and the present environment, changed as told; `socket` is its
    /// descriptor 3.
    package init(
        _ program: String, _ arguments: [String], environment changes: [String: String] = [:], socket: Wire? = nil
    ) throws {
        let (near, far) = try Wire.pair()
        var environment = ProcessInfo.processInfo.environment
        environment["STATE_DIRECTORY"] = nil
        environment["NOTIFY_SOCKET"] = nil
        environment.merge(changes) { $1 }
        pid = try Self.spawn(
            program, [program] + arguments, environment.map { "\($0.key)=\($0.value)" }, output: far.descriptor,
            socket: socket?.descriptor)
        far.close()
        Thread.detachNewThread { [output] in Self.gather(near, output) }
        Thread.detachNewThread { [exit, pid] in
            var status: Int32 = 0
            while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let code = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
            exit.withLock { $0 = code }
        }
    }

    deinit {
        if exit.withLock({ $0 }) == nil { kill(pid, SIGKILL) }
    }

    private static func spawn(
        _ program: String, _ arguments: [String], _ environment: [String], output: Int32, socket: Int32?
    ) throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 2)
        if let socket { unsafe posix_spawn_file_actions_adddup2(&actions, socket, 3) }
        // A program must get along by itself: what this process ignores, or this thread blocks, would be so there, too.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&defaults, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var pid: Int32 = 0
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        let code = unsafe posix_spawn(&pid, program, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw DaemonFault(description: "cannot start \(program): errno \(code)") }
        return pid
    }

    private static func gather(_ wire: Wire, _ output: Monitor<Output>) {
        var rest: [UInt8] = []
        while true {
            let bytes: [UInt8]
            do {
                bytes = try wire.receive(Deadline(in: .seconds(60)))
            } catch WireError.timedOut {
                continue
            } catch {
                bytes = []
            }
            guard !bytes.isEmpty else { break }
            rest += bytes
            while let end = rest.firstIndex(of: 0x0A) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                output.withLock { $0.lines.append(line) }
                rest.removeFirst(end + 1)
            }
        }
        output.withLock { $0.isEnded = true }
    }

    /// Everything it wrote so far.
    package var lines: [String] { output.withLock { $0.lines } }

    /// All lines, once the program has closed its output.
    package func allLines() -> [String] {
        _ = output.wait { $0.isEnded ? true : nil }
        return lines
    }

    /// The first value that `pick` finds in a line, as soon as it is there; nil when the deadline passed or the output
    /// ended first.
    package func firstLine<Value>(_ deadline: Deadline = Deadline(), _ pick: (String) -> Value?) -> Value? {
        var seen = 0
        let found: Value?? = output.wait(deadline) { output in
            while seen < output.lines.count {
                defer { seen += 1 }
                if let value = pick(output.lines[seen]) { return value }
            }
            return output.isEnded ? Value??.some(nil) : nil
        }
        return found ?? nil
    }

    package func signal(_ number: Int32) { kill(pid, number) }

    /// The exit code, negative for a signal; nil when the deadline has passed.
    package func exitCode(within time: Duration = .seconds(20)) -> Int32? {
        exit.wait(Deadline(in: time)) { $0 }
    }
}

/// A running daemon of the product.
package final class DaemonProcess: Sendable {
    package let child: ChildProcess
    /// Where its listeners really are.
    package let listeners: [WireAddress]
    package let admin: WireAddress?

    /// The gateway's program.
    package static var program: String { built("hidgated") }

    /// A built program, beside the test bundle.
    package static func built(_ name: String) -> String {
        let this = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (this as NSString).deletingLastPathComponent + "/" + name
    }

    /// Starts a daemon, hidgated unless told otherwise, and waits until it is ready.
    package init(
        _ program: String = DaemonProcess.program, configuration path: String, environment: [String: String] = [:],
        socket: Wire? = nil
    ) throws {
        let child =
            if let socket {
                // As a service manager does it: the socket is descriptor 3, and meant for that very process.
                try ChildProcess(
                    "/bin/sh", ["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\"", program, "--config", path],
                    environment: environment.merging(["LISTEN_FDS": "1", "LISTEN_FDNAMES": "http"]) { first, _ in first
                    },
                    socket: socket)
            } else {
                try ChildProcess(program, ["--config", path], environment: environment)
            }
        self.child = child
        let ready = child.firstLine { line -> JSONValue? in
            guard line.hasPrefix("{"), let json = JSONValue(line), json["event"].text == "ready" else { return nil }
            return json
        }
        guard let ready else {
            throw DaemonFault(description: "\(program) did not get ready: \(child.lines.joined(separator: "\n"))")
        }
        listeners = (ready["listeners"].text ?? "").split(separator: " ").compactMap { WireAddress(String($0)) }
        admin = ready["admin"].text.flatMap { $0.isEmpty ? nil : WireAddress($0) }
    }

    /// The access-log line that fits, as soon as it is there.
    package func accessLine(
        within time: Duration = .seconds(20), where fits: (JSONValue) -> Bool
    ) -> JSONValue? {
        child.firstLine(Deadline(in: time)) { line in
            guard let json = JSONValue(line), json["request_id"] != .missing, fits(json) else { return nil }
            return json
        }
    }

    /// The line of one of its own events; of the last of `count` that there are to be.
    package func event(_ name: String, count: Int = 1, within time: Duration = .seconds(20)) -> JSONValue? {
        var left = count
        return child.firstLine(Deadline(in: time)) { line in
            guard line.contains(name), let json = JSONValue(line), json["event"].text == name else { return nil }
            left -= 1
            return left > 0 ? nil : json
        }
    }

    /// Access-log lines written so far.
    package var accessLines: [JSONValue] {
        child.lines.compactMap { JSONValue($0) }.filter { $0["request_id"] != .missing }
    }
}
