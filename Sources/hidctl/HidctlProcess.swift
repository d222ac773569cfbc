// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDGateway
import HIDService

/// The process around ``HidctlProgram``.
enum HidctlProcess {
    /// Runs the command line of this process, writes what it said, and gives the exit code.
    static func run() -> Int32 {
        ServiceSignals.ignoreFailedWrites()
        let environment = ControlEnvironment(now: { Int64(time(nil)) }, readInput: { input(limit: $0) })
        let outcome = HidctlProgram.run(arguments: arguments(), environment: environment)
        write(outcome.stderr, to: STDERR_FILENO)
        write(outcome.stdout, to: STDOUT_FILENO)
        return outcome.exit
    }

    /// The octets of argv: `CommandLine.arguments` repairs what is not UTF-8.
    private static func arguments() -> [[UInt8]] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            guard let text = unsafe CommandLine.unsafeArgv[index] else { return nil }
            return unsafe UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
        }
    }

    private static func input(limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= limit {
            let count = unsafe read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: position), bytes.count - position)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            position += count
        }
    }
}
