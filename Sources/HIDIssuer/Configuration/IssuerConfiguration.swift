// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
package import HIDService

/// Everything his.yaml says, checked and with every default filled in.
package struct IssuerConfiguration: Sendable, Equatable {
    package var listeners: [ListenerConfiguration] = []
    /// The `iss` of every token.
    package var issuer = ""
    /// Where the signing keys are; made on the first start.
    package var keyDirectory = ""
    package var store = Store.memory
    package var tokenLife: Duration = .seconds(30)
    /// By app_id.
    package var apps: [String: AppConfiguration] = [:]
    package var attestation = AttestationConfiguration()
    package var rateLimits = RateLimitConfiguration()
    package var admin: AdminConfiguration?
    package var timeouts = TimeoutsConfiguration()
    /// Event loops; 0 means one per core.
    package var loops = 0

    /// Where challenges, device keys and denials are kept.
    package enum Store: Sendable, Equatable {
        /// Lost with the process: for tests and trials.
        case memory
        case sqlite(path: String)
    }

    package init() {}
}

/// One protected application and what its devices must prove.
package struct AppConfiguration: Sendable, Equatable {
    package var appID: String
    /// nil: the platform is not enabled.
    package var android: AndroidAppConfiguration?
    package var ios: AppleAppConfiguration?
    package var test: TestAppConfiguration?

    package init(appID: String) {
        self.appID = appID
    }
}

/// What an Android app's attestation must say.
package struct AndroidAppConfiguration: Sendable, Equatable {
    package var packages: [String] = []
    /// SHA-256 of signing certificates, 32 octets each; every digest of a device must be here.
    package var signerDigests: [[UInt8]] = []
    package var securityLevels: Set<SecurityLevel> = [.strongbox, .tee]
    /// Boot keys of other makers that are accepted with a locked boot loader.
    package var verifiedBootKeys: [[UInt8]] = []

    package init() {}
}

/// What an iOS app's attestation must say.
package struct AppleAppConfiguration: Sendable, Equatable {
    package var teamID = ""
    package var bundleIDs: [String] = []
    package var environment = AppAttestEnvironment.production

    package init() {}

    /// `TEAM.BUNDLE` for each bundle.
    package var appIDs: [String] { bundleIDs.map { "\(teamID).\($0)" } }
}

/// Who vouches for devices of the platform `test`.
package struct TestAppConfiguration: Sendable, Equatable {
    /// Uncompressed points of 65 octets, read from PEM files.
    package var authorityKeys: [[UInt8]] = []

    package init() {}
}

/// What holds for the attestations of all apps.
package struct AttestationConfiguration: Sendable, Equatable {
    /// DER of extra roots; `builtin` tells whether Google's and Apple's count, too.
    package struct Roots: Sendable, Equatable {
        package var builtin = true
        package var extra: [[UInt8]] = []
    }

    package var androidRoots = Roots()
    package var appleRoots = Roots()
    /// nil: Android attestations are not checked against a list.
    package var revocationList: RevocationListConfiguration?
    package var allowsAttestKey = false
    package var sdkKeysOnly = true

    package init() {}
}

/// Where the list of revoked attestation keys comes from and what its age means.
package struct RevocationListConfiguration: Sendable, Equatable {
    /// What happens to new Android devices when the list is older than `maximumAge`.
    package enum Staleness: String, Sendable, CaseIterable {
        /// They get no token.
        case closed
        /// They are judged by the old list.
        case open
    }

    package var url: String?
    /// The last good copy, or with no URL the list that somebody else keeps fresh.
    package var file: String?
    /// A copy that came with the installation, used when there is no other.
    package var snapshot: String?
    package var maximumAge: Duration = .seconds(7 * 86400)
    package var whenStale = Staleness.closed

    package init() {}
}

/// How often one client or device may ask.
package struct RateLimitConfiguration: Sendable, Equatable {
    /// Requests of one address (IPv6: one /64).
    package var perClient = Rate(count: 50, per: .seconds(1))
    /// Challenges, and again verifications, of one app_id and device_id.
    package var perDevice = Rate(count: 5, per: .seconds(1))
    /// Attestations of one app_id and device_id.
    package var attestations = Rate(count: 30, per: .seconds(60))

    package init() {}
}
