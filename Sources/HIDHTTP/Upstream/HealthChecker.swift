// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Checks one address of an upstream at its interval, over the same dialling and parsing as requests take.
///
/// Confined to the control loop. Each check has a connection of its own.
final class HealthChecker: UpstreamHandler, UpstreamConnectionOwner {
    let endpoint: UpstreamEndpoint
    private var server: UpstreamServer
    private var cluster: UpstreamCluster
    private var policy: HealthPolicy
    private var target: UpstreamTarget
    private let loop: EventLoop
    private var counter = HealthCounter()
    private var connection: UpstreamConnection?
    private var timer: LoopTimer?
    private var began: UInt64 = 0
    private var isStopped = false

    init(
        _ endpoint: UpstreamEndpoint, of server: UpstreamServer, in cluster: UpstreamCluster, _ policy: HealthPolicy,
        loop: EventLoop
    ) {
        self.endpoint = endpoint
        self.server = server
        self.cluster = cluster
        self.policy = policy
        self.loop = loop
        target = Self.target(of: server, policy)
        timer = LoopTimer { [unowned self] in timerFired() }
    }

    deinit { timer?.cancel() }

    private static func target(of server: UpstreamServer, _ policy: HealthPolicy) -> UpstreamTarget {
        var target = server.addresses.target
        target.connectTimeout = min(target.connectTimeout, policy.timeout)
        // The check's own timer strikes first.
        target.responseTimeout = policy.timeout + .seconds(1)
        return target
    }

    /// Goes on, with what is known so far, for the upstream that replaces its own.
    func move(to cluster: UpstreamCluster, as server: UpstreamServer, _ policy: HealthPolicy) {
        self.cluster = cluster
        self.server = server
        self.policy = policy
        target = Self.target(of: server, policy)
    }

    /// Makes the first check at once.
    func start() { check() }

    /// Ends the checks; a server that they held down is let go.
    func stop() {
        isStopped = true
        timer?.cancel()
        connection?.cancel()
        connection = nil
        if !counter.isUp { endpoint.isDown.store(false, ordering: .relaxed) }
    }

    private func check() {
        guard !isStopped else { return }
        began = loop.now
        do throws(UpstreamFault) {
            let connection = try UpstreamConnection(
                target: target, delays: UpstreamDelays(target), endpoint: endpoint,
                preamble: cluster.policy.sendsProxyHeader ? ProxyProtocol.header(nil) : [], owner: self, loop: loop)
            self.connection = connection
            connection.begin(for: self, isHeadRequest: false)
            connection.write { out in
                out += "GET \(policy.path) HTTP/1.1\r\nHost: ".utf8
                out += (policy.host ?? target.hostField).utf8
                out += "\r\nUser-Agent: hidgate-health\r\nAccept: */*\r\nConnection: close\r\n\r\n".utf8
            }
            connection.endRequest()
            if let timer { loop.set(timer, after: Delay(policy.timeout)) }
        } catch {
            done(error.explanation)
        }
    }

    private func timerFired() {
        guard let connection else { return check() }
        self.connection = nil
        connection.cancel()
        done("no answer within the timeout of the check")
    }

    /// Ends a check; `cause` nil: it was good.
    private func done(_ cause: String?) {
        guard !isStopped else { return }
        if cause == nil {
            server.addresses.checksPassed.add(1, ordering: .relaxed)
        } else {
            server.addresses.checksFailed.add(1, ordering: .relaxed)
        }
        switch counter.note(isGood: cause == nil, policy) {
        case .down:
            endpoint.isDown.store(true, ordering: .relaxed)
            cluster.report(.down(server: endpoint.label, cause: cause ?? ""))
            cluster.changed()
        case .up:
            endpoint.isDown.store(false, ordering: .relaxed)
            cluster.report(.up(server: endpoint.label))
            cluster.changed()
        case nil: break
        }
        let passed = loop.now &- began
        let interval = policy.interval.nanoseconds
        guard let timer else { return }
        loop.set(timer, at: loop.now &+ max(interval > passed ? interval - passed : 0, 10_000_000))
    }

    // MARK: - UpstreamHandler

    func upstreamHead(_ connection: UpstreamConnection) {
        let status = connection.response.status
        guard status >= 200, self.connection != nil else { return }
        self.connection = nil
        // Not from inside the connection's own work.
        loop.afterEvents { connection.cancel() }
        done(policy.statuses.contains { $0.contains(status) } ? nil : "the check was answered with \(status)")
    }

    func upstreamContent(_ connection: UpstreamConnection, _ content: Span<UInt8>) {}
    func upstreamEnded(trailers: [UInt8]) {}
    func upstreamDrained() {}

    func upstreamFailed(_ fault: UpstreamFault) {
        guard connection != nil else { return }
        connection = nil
        done(fault.explanation)
    }

    // MARK: - UpstreamConnectionOwner

    func exchangeEnded(_ connection: UpstreamConnection, _ fault: UpstreamFault?) {}
    func becameIdle(_ connection: UpstreamConnection) { loop.afterEvents { connection.close() } }
    func closed(_ connection: UpstreamConnection) {}
}
