// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Sockets handed over by the service manager (sd_listen_fds(3)).
package struct ServiceSockets: Sendable, Equatable {
    /// Descriptors by name, in the order in which they came; several sockets may share a name.
    package private(set) var byName: [String: [Int32]] = [:]

    /// Reads `LISTEN_FDS`, `LISTEN_PID` and `LISTEN_FDNAMES`; sockets without a name are called `unknown`.
    ///
    /// The descriptors are marked close-on-exec. Variables meant for another process give no sockets.
    package init(
        environment: (String) -> String? = ServiceEnvironment.value, processID: Int32 = getpid(),
        firstDescriptor: Int32 = 3
    ) {
        guard environment("LISTEN_PID") == String(processID) else { return }
        let count = environment("LISTEN_FDS").flatMap { ScalarText.integer($0.utf8) } ?? 0
        let names = (environment("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
        for index in 0..<min(count, 1024) {
            let descriptor = firstDescriptor + Int32(index)
            let flags = fcntl(descriptor, F_GETFD)
            guard flags >= 0 else { continue }
            _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC)
            let name = index < names.count && !names[index].isEmpty ? String(names[index]) : "unknown"
            byName[name, default: []].append(descriptor)
        }
    }

    /// The sockets of a name; empty when the service manager gave none.
    package subscript(name: String) -> [Int32] { byName[name] ?? [] }
}
