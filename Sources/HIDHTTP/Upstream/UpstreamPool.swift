// SPDX-License-Identifier: Apache-2.0

package import Synchronization

/// How many connections all loops together hold to one upstream.
package final class UpstreamBudget: Sendable {
    package let open = Atomic<Int>(0)

    package init() {}
}

/// The connections of one loop to one upstream.
///
/// Confined to the loop.
package final class UpstreamPool {
    private let loop: EventLoop
    package let target: UpstreamTarget
    let delays: UpstreamDelays
    private var isRetired = false
    private let budget: UpstreamBudget
    private var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    /// The most recently used last: it is the least likely to have been closed.
    private var idle: [UpstreamConnection] = []

    package init(loop: EventLoop, target: UpstreamTarget, budget: UpstreamBudget) {
        self.loop = loop
        self.target = target
        delays = UpstreamDelays(target)
        self.budget = budget
    }

    /// Connections now, in use and idle.
    package var count: Int { connections.count }

    /// Gives an exchange a connection that it may write to at once: an idle one, unless `fresh`, or a new one.
    package func acquire(
        for handler: any UpstreamHandler, isHeadRequest: Bool, fresh: Bool = false
    ) throws(UpstreamFault) -> UpstreamConnection {
        while !fresh, let connection = idle.popLast() {
            guard connection.isClean() else {
                connection.close()
                continue
            }
            connection.begin(for: handler, isHeadRequest: isHeadRequest)
            return connection
        }
        let connection = try dial()
        connection.begin(for: handler, isHeadRequest: isHeadRequest)
        return connection
    }

    private func dial() throws(UpstreamFault) -> UpstreamConnection {
        guard budget.open.add(1, ordering: .relaxed).newValue <= target.maximumConnections else {
            budget.open.subtract(1, ordering: .relaxed)
            throw .tooManyConnections
        }
        do throws(UpstreamFault) {
            let connection = try UpstreamConnection(target: target, pool: self, loop: loop)
            connections[ObjectIdentifier(connection)] = connection
            return connection
        } catch {
            budget.open.subtract(1, ordering: .relaxed)
            throw error
        }
    }

    /// Takes a connection back.
    ///
    /// Whether it stays open.
    func becameIdle(_ connection: UpstreamConnection) {
        idle.append(connection)
        if isRetired { loop.afterEvents { connection.close() } }
    }

    func closed(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        budget.open.subtract(1, ordering: .relaxed)
        idle.removeAll { $0 === connection }
    }

    /// Closes what is idle now; what is in use closes after its exchange.
    package func retire() {
        isRetired = true
        for connection in idle { connection.close() }
    }
}
