// SPDX-License-Identifier: Apache-2.0

package import HIDService

/// How the descriptors of a process are shared out: a reserve that clients cannot take, and the rest.
package struct DescriptorPlan: Sendable, Equatable {
    /// The process may hold so many.
    package let limit: Int
    /// Kept for upstream connections, logs, key sets and files of a reload.
    package let reserve: Int
    /// What the configuration may come to need.
    package let needed: Int

    /// libcurl holds two more for each connection that it dials.
    private static let perUpstreamConnection = 3
    /// Standard streams, listeners, loops, logs, stores, and room for what is opened now and then.
    private static let others = 64

    /// Shares out `limit` descriptors; clients get at least half of them.
    package init(limit: Int, connections: Int, upstreamConnections: Int) {
        self.limit = limit
        let wanted = Self.others + upstreamConnections * Self.perUpstreamConnection
        reserve = min(limit / 2, wanted)
        needed = connections + wanted
    }

    /// The first descriptor that is not given to a client.
    ///
    /// The kernel gives the lowest free one (accept(2)): when it reaches this, all below are in use.
    package var ceiling: Int32 { Int32(clamping: limit - reserve) }

    /// Tells when the limit is too low for the configuration.
    package func remark(_ log: Log) {
        guard needed > limit else { return }
        log.warning(
            "limits.descriptors",
            [
                "limit": .integer(limit), "needed": .integer(needed),
                "advice":
                    "raise LimitNOFILE of the unit (or ulimit -n), or lower limits.connections or max_connections",
            ])
    }
}
