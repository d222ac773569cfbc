// SPDX-License-Identifier: Apache-2.0

/// How servers are asked whether they are well.
package struct HealthPolicy: Sendable, Hashable {
    /// The request-target.
    package var path: String
    package var interval: Duration = .seconds(5)
    /// For one check as a whole.
    package var timeout: Duration = .seconds(2)
    /// Final statuses that are good.
    package var statuses: [ClosedRange<Int>] = [200...399]
    /// So many good checks one after the other bring a server back.
    package var rise = 2
    /// So many bad checks one after the other take it out.
    package var fall = 3
    /// What Host says; nil: host and port of the server.
    package var host: String?

    package init(path: String) {
        self.path = path
    }
}

/// Counts checks one after the other; a server starts as up.
struct HealthCounter {
    enum Change: Equatable { case up, down }

    private(set) var isUp = true
    private var streak = 0

    mutating func note(isGood: Bool, _ policy: HealthPolicy) -> Change? {
        guard isGood != isUp else {
            streak = 0
            return nil
        }
        streak += 1
        guard streak >= (isUp ? policy.fall : policy.rise) else { return nil }
        isUp.toggle()
        streak = 0
        return isUp ? .up : .down
    }
}
