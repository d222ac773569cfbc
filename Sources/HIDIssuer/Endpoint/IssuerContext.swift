// SPDX-License-Identifier: Apache-2.0

internal import HIDDaemon
internal import HIDHTTP
package import HIDService
package import HIDStore
internal import Synchronization

/// The part of the configuration that a reload may change, ready for use.
package final class IssuerPlan: Sendable {
    package let configuration: IssuerConfiguration
    let judge: AttestationJudge
    let limits: IssuerLimits

    package init(_ configuration: IssuerConfiguration) {
        self.configuration = configuration
        judge = AttestationJudge(configuration.attestation)
        limits = IssuerLimits(configuration.rateLimits)
    }
}

/// Everything that the requests of an issuer share.
///
/// Safe from any thread.
package final class IssuerContext: Sendable {
    let store: any IssuerStore
    let keys: SigningKeys
    let tokens: TokenIssuer
    let workers: WorkerPool
    let revocations: RevocationKeeper?
    let metrics: IssuerMetrics
    let log: Log
    let clock: IssuerClock
    private let plan: Mutex<IssuerPlan>
    private let identity = Mutex(RequestIdentity())
    private let trusted: [AddressSet]

    package init(
        plan: IssuerPlan, store: any IssuerStore, keys: SigningKeys, tokens: TokenIssuer, workers: WorkerPool,
        revocations: RevocationKeeper?, metrics: IssuerMetrics, log: Log, clock: IssuerClock = .system
    ) {
        self.store = store
        self.keys = keys
        self.tokens = tokens
        self.workers = workers
        self.revocations = revocations
        self.metrics = metrics
        self.log = log
        self.clock = clock
        self.plan = Mutex(plan)
        trusted = plan.configuration.listeners.map { AddressSet($0.trustedProxies) }
    }

    package var current: IssuerPlan { plan.withLock { $0 } }

    /// Takes over a new plan for the requests that come from now on.
    package func replace(_ new: IssuerPlan) {
        plan.withLock { $0 = new }
    }

    /// The address that limits count.
    func address(of request: WholeRequest) -> ClientAddress {
        let trusted = trusted.indices.contains(request.listener) ? trusted[request.listener] : AddressSet([])
        return ClientAddress(peer: request.peer, request: request.head, trusted: trusted)
    }

    /// The address that limits count, and the id that log and answer carry.
    func identify(_ request: WholeRequest) -> (client: PeerAddress, requestID: [UInt8]) {
        let address = address(of: request)
        if address.isBehindTrustedProxy, let given = RequestIdentity.trusted(request.head) {
            return (address.client, given)
        }
        return (address.client, identity.withLock { $0.nextRequestID() })
    }
}
