// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How often HTTP/2 streams and connections were cut, by cause.
///
/// Any thread.
package final class HTTP2FaultCounts: Sendable {
    private let counts = Mutex<[HTTP2Fault: Int]>([:])

    func note(_ fault: HTTP2Fault) {
        counts.withLock { $0[fault, default: 0] += 1 }
    }

    package func count(of fault: HTTP2Fault) -> Int { counts.withLock { $0[fault, default: 0] } }
}
