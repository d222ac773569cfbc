// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
package import HIDHTTP

/// Everything gateway.yaml and its rule files say, checked and with every default filled in.
package struct GatewayConfiguration: Sendable, Equatable {
    package var listeners: [ListenerConfiguration] = []
    /// By name; every name that a route or the defaults mention is a key here.
    package var upstreams: [String: UpstreamConfiguration] = [:]
    package var resolver = ResolverSettings()
    package var issuers: [IssuerConfiguration] = []
    package var defaults = DefaultsConfiguration()
    /// All rule files in the order of `rules:` and, within one pattern, of their file names.
    package var routes: [RouteRule] = []
    package var sessions = SessionsConfiguration()
    package var store = StoreConfiguration()
    package var admin: AdminConfiguration?
    package var accessLog = AccessLogDestination.stderr
    package var limits = LimitsConfiguration()
    package var timeouts = TimeoutsConfiguration()
    /// How long nothing may pass through a WebSocket.
    package var tunnelIdle: Duration = .seconds(3600)
    /// Event loops; 0 means one per core.
    package var loops = 0
    /// Where state that survives a restart is kept; nil: `$STATE_DIRECTORY`, and nothing is kept without one.
    package var stateDirectory: String?
    /// FNV-1a over the octets of gateway.yaml and its rule files in the order in which they were read.
    ///
    /// Tells two versions of the files apart; of no use against somebody who wants a collision.
    package var fingerprint: UInt64 = 0

    package init() {}
}

package struct IssuerConfiguration: Sendable, Equatable {
    package var issuer: String
    package var audience: [String]
    package var keys: KeySetSource
    package var leeway: Duration = .seconds(5)
    /// Longest accepted `exp` - `iat`.
    package var maximumLife: Duration = .seconds(60)

    package init(issuer: String, audience: [String], keys: KeySetSource) {
        self.issuer = issuer
        self.audience = audience
        self.keys = keys
    }
}

package enum KeySetSource: Sendable, Equatable {
    case file(path: String)
    /// https, or http to a loopback address.
    case url(String, maximumStale: Duration, cooldown: Duration)
}

package struct DefaultsConfiguration: Sendable, Equatable {
    package var upstream = ""
    package var mode = Mode.monitoring
    package var block = BlockAnswer()
    package var pathPolicy = PathPolicy.strict

    package init() {}
}

/// What happens to a critical request that does not verify (PROTOCOL section 5).
package enum Mode: String, Sendable, CaseIterable {
    case off
    case monitoring
    case safeBlocking = "safe_blocking"
    case block
}

/// The one answer that every refused client sees.
package struct BlockAnswer: Sendable, Equatable {
    package enum Body: String, Sendable, CaseIterable {
        case json
        case empty
    }
    /// 400...499.
    package var status = 403
    package var body = Body.json
    package var supportCode = true

    package init() {}
}

/// One rule of a rules.d file.
package struct RouteRule: Sendable, Equatable {
    package struct Match: Sendable, Equatable {
        /// Lower case, without port; nil: any.
        ///
        /// `*.example.com` matches every name below it.
        package var host: String?
        package var path: PathPattern
        /// Case-sensitive tokens; empty: any.
        package var methods: [String]

        package init(host: String?, path: PathPattern, methods: [String]) {
            self.host = host
            self.path = path
            self.methods = methods
        }
    }
    package enum Replay: Sendable, Equatable {
        case off
        case once
        /// The same token with the same request may come again within that time.
        case onceWithGrace(Duration)
    }
    /// What to do when something that is needed to decide is not there.
    package enum DependencyPolicy: String, Sendable, CaseIterable {
        case closed
        case open
    }
    package enum VerdictAction: String, Sendable, CaseIterable {
        case pass
        case block
    }
    package struct Verdicts: Sendable, Equatable {
        package var human = VerdictAction.pass
        package var suspicious = VerdictAction.block
        package var bot = VerdictAction.block
        package var blocked = VerdictAction.block

        package init() {}
    }
    /// Protocols that a connection may switch to.
    package enum Upgrade: String, Sendable, CaseIterable {
        case websocket
    }
    package enum MethodsNotListed: String, Sendable, CaseIterable {
        case refuse
        case pass
    }

    package var name: String
    package var match: Match
    package var isCritical = false
    /// nil: the default mode.
    package var mode: Mode?
    package var acceptsSignatureV1 = true
    package var acceptsSignatureV2 = true
    package var requiresSignature = true
    package var upstream: String?
    /// Lower case.
    package var stripHeaders: [String] = []
    package var verdicts = Verdicts()
    package var replay = Replay.once
    package var onJWKSFailure = DependencyPolicy.closed
    package var onReplayFailure = DependencyPolicy.closed
    package var block: BlockAnswer?
    package var methodsNotListed = MethodsNotListed.refuse
    /// Empty: a request to upgrade is served as an ordinary one.
    package var upgrades: [Upgrade] = []
    /// Spellings of a path that are forwarded as they came where the rule holds in every reading.
    package var allowedSpellings: [AllowedSpelling] = []

    package init(name: String, match: Match) {
        self.name = name
        self.match = match
    }
}

package struct SessionsConfiguration: Sendable, Equatable {
    /// A device that is silent for that long starts a new session.
    package var idle: Duration = .seconds(30 * 60)
    package var retention: Duration = .seconds(7 * 24 * 3600)

    package init() {}
}

package struct StoreConfiguration: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case memory
    }
    package var kind = Kind.memory

    package init() {}
}

package enum AccessLogDestination: Sendable, Equatable {
    case stderr
    case stdout
    case file(path: String)
    case off
}

package struct LimitsConfiguration: Sendable, Equatable {
    package enum FailedVerifications: String, Sendable, CaseIterable {
        case always
        case overloaded
        case off
    }
    package var headerBytes = 64 << 10
    package var headerFields = 100
    /// Longest body a signature is checked over.
    package var signedBody = 1 << 20
    package var body = 1 << 30
    package var connections = 10_000
    package var connectionsPerClient = 1_000
    /// Octets that all connections together keep for slow peers, beyond which none is taken in.
    package var buffered = 256 << 20
    /// How long a request may wait for its loop before some are refused.
    package var queueDelay: Duration = .milliseconds(500)
    /// Failed verifications a second and client address before 429.
    package var failedVerificationsPerClient = 50
    package var failedVerifications = FailedVerifications.overloaded

    package init() {}
}
