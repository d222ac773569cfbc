// SPDX-License-Identifier: Apache-2.0

/// Names a session: 128 random bits, written as 32 hexadecimal digits.
package struct SessionID: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// One exchange as it is kept: what the access log says of it, and what its decision rested on.
///
/// Holds no secret: no token, no signature, no content; values that are secrets are hashed before they get here.
package struct RecordedExchange: Sendable, Equatable {
    /// Wall clock at the end, nanoseconds since 1970.
    package var time: Int64 = 0
    package var requestID: [UInt8] = []
    /// Empty: the gateway made no answer of its own.
    package var supportCode: [UInt8] = []
    package var session = SessionID(high: 0, low: 0)
    /// What the session is grouped by: a kind, a colon and a value, as in `hid:…`, `address:192.0.2.1`.
    package var sessionKey = ""
    /// Of a token whose signature was verified; nil: there was none.
    package var hid: String?
    /// RFC 7638 thumbprint of the device's key; nil: no verified token, or one without a key.
    package var thumbprint: String?
    /// Of the client, without port.
    package var address = ""
    package var userAgent: [UInt8] = []
    package var listener = ""
    /// As the access log says it: `HTTP/1.1`, `HTTP/2`.
    package var version = ""
    package var tls: String?
    package var method: [UInt8] = []
    package var host: [UInt8] = []
    /// Canonical, without query; empty when the target was refused.
    package var path: [UInt8] = []
    /// nil: no rule matched.
    package var route: String?
    /// `canonical`, `fold` or nil.
    package var match: String?
    package var mode = ""
    package var isCritical = false
    package var decision = ""
    /// The code that the access log shows.
    package var reason: String?
    package var status = 0
    package var upstream: String?
    package var server: String?
    package var isReused = false
    package var attempts = 0
    package var upstreamStatus: Int?
    package var bytesIn = 0
    package var bytesOut = 0
    /// Nanoseconds.
    package var totalTime: UInt64 = 0
    package var verifyTime: UInt64 = 0
    package var upstreamTime: UInt64?
    package var end: String?
    /// Values of the context parameters of `sessions.parameters`, by name; hashed where the parameter says so.
    package var parameters: [Parameter] = []
    package var facts = RecordedFacts()

    package struct Parameter: Sendable, Equatable {
        package enum Kind: String, Sendable, CaseIterable {
            case context
            case user
            case role
        }
        package var name: String
        package var kind: Kind
        package var value: String

        package init(name: String, kind: Kind, value: String) {
            self.name = name
            self.kind = kind
            self.value = value
        }
    }

    package init() {}
}

/// What a decision rested on, so that other rules can be tried on it later.
package struct RecordedFacts: Sendable, Equatable {
    /// Stored as a number: never renumber, only add.
    package struct Flags: OptionSet, Sendable, Hashable {
        package var rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let hasToken = Flags(rawValue: 1 << 0)
        package static let severalTokens = Flags(rawValue: 1 << 1)
        package static let hasSignature = Flags(rawValue: 1 << 2)
        package static let severalSignatures = Flags(rawValue: 1 << 3)
        /// A field whose name becomes a HID header when `_` is read as `-`.
        package static let hasTwin = Flags(rawValue: 1 << 4)
        package static let methodNotListed = Flags(rawValue: 1 << 5)
        /// The checks of a critical route were begun.
        package static let checked = Flags(rawValue: 1 << 6)
        /// Every check that can run was run: none was left out because an earlier one refused the request.
        package static let complete = Flags(rawValue: 1 << 7)
        /// The token's own signature was verified.
        package static let tokenProven = Flags(rawValue: 1 << 8)
        package static let tokenBlocked = Flags(rawValue: 1 << 9)
        package static let tokenMonitoring = Flags(rawValue: 1 << 10)
        package static let tokenHasKey = Flags(rawValue: 1 << 11)
        /// The signature is of profile v2; without this flag a well-formed one is v1.
        package static let signatureV2 = Flags(rawValue: 1 << 12)
        /// The signature over the content was judged.
        package static let signatureJudged = Flags(rawValue: 1 << 13)
        package static let replayAsked = Flags(rawValue: 1 << 14)
        package static let replayRepeated = Flags(rawValue: 1 << 15)
        /// Repeated, within the grace and with the same request.
        package static let replayGraced = Flags(rawValue: 1 << 16)
        package static let addressAllowed = Flags(rawValue: 1 << 17)
        package static let addressDenied = Flags(rawValue: 1 << 18)
        package static let addressGray = Flags(rawValue: 1 << 19)
        /// The device, its key, or the session is on the denylist.
        package static let sessionDenied = Flags(rawValue: 1 << 20)
        package static let sessionAllowed = Flags(rawValue: 1 << 21)
        /// `rollout` left this device out: it was judged as in monitoring.
        package static let outsideRollout = Flags(rawValue: 1 << 22)
    }

    package var flags: Flags = []
    /// Codes of every check that failed, in the order in which they run.
    package var failed: [String] = []
    /// The word in the token; nil: no verified token.
    package var verdict: String?
    /// Seconds since 1970.
    package var issuedAt: Int64?
    package var expiresAt: Int64?
    /// The application of the token: the audience that was accepted.
    package var application: String?
    package var keyID: String?
    /// What was counted, where a limit was reached.
    package var limits: [Limit] = []
    /// Fingerprint of the configuration that judged.
    package var configuration: UInt64 = 0
    /// Version of the lists that judged.
    package var listVersion: UInt64 = 0

    package struct Limit: Sendable, Equatable {
        /// Name of the limit or detector.
        package var name: String
        package var value: Int
        package var maximum: Int
        /// What it led to: `log`, `reject`, `block`, `deny`.
        package var action: String

        package init(name: String, value: Int, maximum: Int, action: String) {
            self.name = name
            self.value = value
            self.maximum = maximum
            self.action = action
        }
    }

    package init() {}
}
