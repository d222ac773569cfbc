// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// How far the server's clock is from the device's; for diagnostics alone, nothing is judged by it.
final class ServerTime: Sendable {
    private let seconds = Mutex<Int64?>(nil)

    /// Server time minus device time; nil before the first answer.
    var offset: Duration? { seconds.withLock { $0 }.map { .seconds($0) } }

    /// Keeps the offset of an answer.
    func note(_ serverTime: Int64?, at deviceTime: Int64) {
        guard let serverTime else { return }
        let (difference, isOver) = serverTime.subtractingReportingOverflow(deviceTime)
        guard !isOver else { return }
        seconds.withLock { $0 = difference }
    }
}
