// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The connections of one loop to one address of an upstream.
///
/// Confined to the loop. It moves to the next pool when a reload leaves its address alone.
final class EndpointPool: UpstreamConnectionOwner {
    let endpoint: UpstreamEndpoint
    private(set) var server: UpstreamServer
    private let loop: EventLoop
    private let delays: UpstreamDelays
    private var cluster: UpstreamCluster
    private weak var pool: UpstreamPool?
    private var connections: [ObjectIdentifier: UpstreamConnection] = [:]
    /// The most recently used last: it is the least likely to have been closed.
    private var idle: [UpstreamConnection] = []
    private var isRetired = false

    init(_ endpoint: UpstreamEndpoint, of server: UpstreamServer, in pool: UpstreamPool) {
        self.endpoint = endpoint
        self.server = server
        self.pool = pool
        loop = pool.loop
        cluster = pool.cluster
        delays = UpstreamDelays(server.addresses.target)
    }

    /// Goes on in the pool that replaces its own; server and upstream have the same addresses and counts there.
    func move(to pool: UpstreamPool, as server: UpstreamServer) {
        self.pool = pool
        self.server = server
        cluster = pool.cluster
    }

    /// Connections now, in use and idle.
    var count: Int { connections.count }
    var hasIdle: Bool { !idle.isEmpty }

    /// Whether an exchange could go there now.
    var hasRoom: Bool {
        hasIdle
            || (cluster.hasRoom && server.addresses.open.load(ordering: .relaxed) < server.maximumConnections)
    }

    /// A connection that may be written to at once: an idle one, unless `fresh`, or a new one.
    func connection(fresh: Bool, preamble: [UInt8]) throws(UpstreamFault) -> UpstreamConnection {
        while !fresh, let connection = idle.popLast() {
            if connection.isClean() { return connection }
            connection.close()
        }
        guard cluster.reserve(server) else { throw .tooManyConnections }
        do throws(UpstreamFault) {
            let connection = try UpstreamConnection(
                target: server.addresses.target, delays: delays, endpoint: endpoint, preamble: preamble, owner: self,
                loop: loop)
            connections[ObjectIdentifier(connection)] = connection
            return connection
        } catch {
            cluster.release(server)
            throw error
        }
    }

    /// Closes the idle connection that was used longest ago; false when there is none.
    func closeOneIdle() -> Bool {
        guard let connection = idle.first else { return false }
        connection.close()
        return true
    }

    // MARK: - UpstreamConnectionOwner

    func exchangeEnded(_ connection: UpstreamConnection, _ fault: UpstreamFault?) {
        endpoint.active.subtract(1, ordering: .relaxed)
        guard let ejection = cluster.policy.ejection else { return }
        if isFailure(connection, fault, ejection) { cluster.noteFailure(endpoint, of: server, now: loop.now) }
    }

    /// Whether the exchange speaks against the server.
    ///
    /// A reused connection that died before it said a word does not: servers close what is idle. Nor does an answer
    /// that stalls once it has begun.
    private func isFailure(
        _ connection: UpstreamConnection, _ fault: UpstreamFault?, _ ejection: EjectionPolicy
    ) -> Bool {
        guard let fault else {
            return ejection.countsStatuses && (502...504).contains(connection.response.status)
        }
        switch fault {
        case .connect, .connectTimeout, .tls, .malformed, .tooManyInterim, .switchedProtocols: return true
        case .closed: return connection.hasAnswered || !connection.isReused
        case .timeout: return !connection.hasAnswered
        case .truncated: return true
        case .resolve, .tooManyConnections, .queueFull: return false
        }
    }

    func becameIdle(_ connection: UpstreamConnection) {
        idle.append(connection)
        if isRetired || endpoint.isGone.load(ordering: .relaxed) {
            loop.afterEvents { connection.close() }
        } else {
            pool?.roomAppeared()
        }
    }

    func closed(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        cluster.release(server)
        idle.removeAll { $0 === connection }
        pool?.roomAppeared()
    }

    /// Closes what is idle now; what is in use closes after its exchange.
    func retire() {
        isRetired = true
        for connection in idle { connection.close() }
    }
}
