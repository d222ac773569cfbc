// SPDX-License-Identifier: Apache-2.0

/// Why a store could not do its work; nothing of the call has happened then.
package enum StoreFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// No room: the disk or a bound of the store.
    case full(String)
    /// The store cannot be asked now; the text is for the log.
    case unavailable(String)

    package var description: String {
        switch self {
        case .full(let words), .unavailable(let words): words
        }
    }
}

/// A challenge that was given out and not yet used.
package struct Challenge: Sendable, Equatable {
    /// Names it; unguessable.
    package var id: String
    /// 32 octets.
    package var nonce: [UInt8]
    package var appID: String
    package var deviceID: String
    /// `ios`, `android` or `test`.
    package var platform: String
    /// Wall clock, seconds since 1970; from this second on it is void.
    ///
    /// The caller judges, the store only sweeps.
    package var expiry: Int64

    package init(id: String, nonce: [UInt8], appID: String, deviceID: String, platform: String, expiry: Int64) {
        self.id = id
        self.nonce = nonce
        self.appID = appID
        self.deviceID = deviceID
        self.platform = platform
        self.expiry = expiry
    }
}

/// A device key that was proven, and what its attestation said.
package struct DeviceRecord: Sendable, Equatable {
    /// Derived from app_id and key by the caller; the same key always has the same one.
    package var hid: String
    package var appID: String
    /// The client's own hint; one key a device_id is in force, older ones are retired.
    package var deviceID: String
    package var platform: String
    /// Uncompressed point, 65 octets.
    package var publicKey: [UInt8]
    /// As in the token: `strongbox`, `tee`, `secure_enclave`, `software`.
    package var level: String
    /// As in the token: `production`, `development`, `test`.
    package var environment: String
    package var tier: String
    /// The reason code when its tokens say `blocked`; nil: `human`.
    package var blocked: String?
    package var batchID: String?
    /// Serials that a revocation list would name.
    package var serials: [String] = []
    /// The App Attest key identifier; one that was ever registered is never registered again.
    package var keyID: [UInt8]?
    /// The App Attest key, uncompressed point.
    package var assertionKey: [UInt8]?
    /// The last assertion counter that was accepted.
    package var counter: UInt32 = 0
    /// Further facts of the attestation, one JSON object.
    package var facts = "{}"
    /// When the key was first registered; wall clock, seconds since 1970.
    package var registered: Int64
    /// When another key took its place; nil while it is in force.
    package var retired: Int64?

    package init(
        hid: String, appID: String, deviceID: String, platform: String, publicKey: [UInt8], level: String,
        environment: String, tier: String, registered: Int64
    ) {
        self.hid = hid
        self.appID = appID
        self.deviceID = deviceID
        self.platform = platform
        self.publicKey = publicKey
        self.level = level
        self.environment = environment
        self.tier = tier
        self.registered = registered
    }
}

/// An operator's decision against a device.
package struct Denial: Sendable, Equatable {
    package var hid: String
    /// Wall clock, seconds since 1970; nil: for ever.
    package var until: Int64?
    package var reason: String
    package var by: String
    package var created: Int64
    /// When and why it was lifted; `Denial.replaced` when another one took its place.
    package var lifted: Int64?
    package var liftReason: String?

    /// The reason of a denial that gave way to a newer one of the same hid.
    package static let replaced = "replaced"

    package init(hid: String, until: Int64?, reason: String, by: String, created: Int64) {
        self.hid = hid
        self.until = until
        self.reason = reason
        self.by = by
        self.created = created
    }

    /// Whether it holds at `now`: not lifted and not over; in its last second `until` it holds no more.
    package func isInForce(at now: Int64) -> Bool {
        lifted == nil && until.map { $0 > now } != false
    }
}

/// What a used challenge was bound to, and what is known of its device at that moment.
package struct ConsumedChallenge: Sendable, Equatable {
    package var challenge: Challenge
    /// The key in force for its app_id and device_id.
    package var device: DeviceRecord?
    /// A denial of that device in force now.
    package var denial: Denial?

    package init(challenge: Challenge, device: DeviceRecord? = nil, denial: Denial? = nil) {
        self.challenge = challenge
        self.device = device
        self.denial = denial
    }
}

/// What became of a registration.
package enum RegistrationAnswer: Sendable, Equatable {
    /// In force now; `retired` is the hid whose place it took, `denial` what stands against it.
    case registered(isNew: Bool, retired: String?, denial: Denial?)
    /// The App Attest key was registered before.
    case keyIDUsed
}

/// Something about a device that an operator may ask for later.
package struct RegistryEvent: Sendable, Equatable {
    /// Wall clock, seconds since 1970.
    package var time: Int64
    /// `attested`, `attestation_rejected`, `key_proof_rejected`, `recovered`, `retired`, `revoked`, `denied`, `allowed`.
    package var kind: String
    package var appID: String
    package var deviceID: String
    package var platform: String
    package var hid: String?
    package var reason: String?
    package var requestID: String?

    package init(
        time: Int64, kind: String, appID: String, deviceID: String, platform: String, hid: String? = nil,
        reason: String? = nil, requestID: String? = nil
    ) {
        self.time = time
        self.kind = kind
        self.appID = appID
        self.deviceID = deviceID
        self.platform = platform
        self.hid = hid
        self.reason = reason
        self.requestID = requestID
    }
}

/// Challenges, device keys and denials of a Human Identification Server.
///
/// Every verb has one atomic meaning. Safe from any thread; the answer comes once, in place or later, on any thread.
/// What was answered with success survives a crash of the process; registrations and denials also a loss of power.
/// `now` is always the wall clock in seconds since 1970; a clock that steps neither loses nor revives anything but
/// challenges that it makes look expired.
package protocol IssuerStore: AnyObject, Sendable {
    /// Keeps a challenge; true when its app_id and device_id have a key in force.
    ///
    /// Long expired ones make room. An id that is taken is `unavailable`: the caller draws another.
    func issue(_ challenge: Challenge, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void)
    /// Removes a challenge, also one that has expired, and tells what it was; nil when there is none of that name.
    ///
    /// Of any number of calls for one id exactly one gets it.
    func consume(
        _ id: String, now: Int64, answer: @escaping @Sendable (Result<ConsumedChallenge?, StoreFault>) -> Void)
    /// Puts a key into force for its app_id and device_id and retires the one before.
    ///
    /// A key that is known under the same hid is brought back into force with the new attestation's facts, also for
    /// another device_id; only the time of its first registration stays. `retired` of the record is not looked at. A
    /// hid that is known with another key or application is `unavailable`, and nothing changes.
    func register(
        _ device: DeviceRecord, now: Int64,
        answer: @escaping @Sendable (Result<RegistrationAnswer, StoreFault>) -> Void)
    /// Raises an assertion counter; false when `counter` is not above the stored one or the key is unknown.
    ///
    /// A key identifier that gave way to a newer one of the same hid is unknown, one of a retired device is not.
    func advance(
        keyID: [UInt8], to counter: UInt32, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void)
    /// Blocks every key in force, or retired, that carries one of the serials (serial: reason code).
    ///
    /// Tells the hids that were not blocked before, sorted; the others keep their reason. Of several serials of one
    /// device the lowest gives the reason.
    func block(
        serials: [String: String], now: Int64, answer: @escaping @Sendable (Result<[String], StoreFault>) -> Void)
    /// Writes a denial; a former one of the same hid that is in force is replaced and kept as history.
    ///
    /// At the bound of the store the oldest that is not in force makes room.
    func deny(_ denial: Denial, answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void)
    /// Lifts the denial in force; false when there is none.
    func allow(
        _ hid: String, reason: String, now: Int64, answer: @escaping @Sendable (Result<Bool, StoreFault>) -> Void)
    /// The denials in force, or all that are kept, the last written first.
    func denials(
        history: Bool, now: Int64, answer: @escaping @Sendable (Result<[Denial], StoreFault>) -> Void)
    /// The record of a hid, also a retired one.
    func device(_ hid: String, answer: @escaping @Sendable (Result<DeviceRecord?, StoreFault>) -> Void)
    /// How many keys of a batch were registered at or after `since`.
    func registrations(
        ofBatch batchID: String, since: Int64, answer: @escaping @Sendable (Result<Int, StoreFault>) -> Void)
    /// Notes an event; lost ones are counted, not told.
    func record(_ event: RegistryEvent)
    /// Events that were given to `record` and not kept.
    var lostEvents: Int { get }
    /// The last events, the last written first, of one hid or all.
    func events(
        hid: String?, limit: Int, answer: @escaping @Sendable (Result<[RegistryEvent], StoreFault>) -> Void)
    /// Whether a write would succeed now.
    func probe(answer: @escaping @Sendable (Result<Void, StoreFault>) -> Void)
    /// Closes files after what was asked before is done; what is asked later is `unavailable`.
    ///
    /// Returns when all of it is done, but at once when an answer calls it.
    func close()
}

extension IssuerStore {
    package var lostEvents: Int { 0 }
}

/// How much a store keeps; whatever goes beyond is `full`.
package struct IssuerStoreLimits: Sendable, Equatable {
    package var challenges: Int
    /// Keys, retired ones included.
    package var devices: Int
    package var denials: Int
    /// The oldest make room for new ones.
    package var events: Int
    /// Seconds for which an event is kept; older ones go as new ones come.
    package var eventAge: Int64 = 30 * 86_400
    /// Seconds for which an expired challenge is still told, while there is room.
    package var challengeGrace: Int64 = 60

    package init(challenges: Int, devices: Int, denials: Int, events: Int) {
        self.challenges = challenges
        self.devices = devices
        self.denials = denials
        self.events = events
    }

    /// For a store that lives in memory: about 200 MiB when all of it is used.
    package static let memory = IssuerStoreLimits(
        challenges: 200_000, devices: 100_000, denials: 10_000, events: 10_000)
    /// For a store on disk.
    package static let disk = IssuerStoreLimits(
        challenges: 500_000, devices: 50_000_000, denials: 100_000, events: 1_000_000)
}

extension Int64 {
    /// `self - seconds`, held to what 64 bits can say.
    func before(_ seconds: Int64) -> Int64 {
        let (value, isOver) = subtractingReportingOverflow(seconds)
        guard isOver else { return value }
        return seconds > 0 ? .min : .max
    }
}
