// SPDX-License-Identifier: Apache-2.0

/// What the server is told a device is.
public enum HumanIDPlatform: String, Sendable {
    /// App Attest and a Secure Enclave key.
    case ios
    /// Android Key Attestation.
    case android
    /// A key that a test authority vouches for; only where the application's configuration allows it.
    case test
}

/// What an attestation must answer.
public struct HumanIDChallenge: Sendable, Equatable {
    /// The `app_id` that the nonce is bound to.
    public let applicationID: String
    /// The `device_id` that the nonce is bound to.
    public let deviceID: String
    /// The nonce as it was received: base64url.
    public let nonceText: String
    /// The 32 octets of the nonce.
    public let nonce: [UInt8]

    /// Makes a challenge.
    public init(applicationID: String, deviceID: String, nonceText: String, nonce: [UInt8]) {
        self.applicationID = applicationID
        self.deviceID = deviceID
        self.nonceText = nonceText
        self.nonce = nonce
    }
}

/// The proof that a key lives where it should.
public enum HumanIDEvidence: Sendable, Equatable {
    /// An Android Key Attestation chain.
    ///
    /// - chain: DER certificates, leaf first.
    case android(chain: [[UInt8]])
    /// An App Attest object whose clientDataHash is SHA-256 of the nonce octets and then the public key's DER.
    ///
    /// - keyID: The App Attest key id, base64 as the system gives it.
    /// - attestationObject: CBOR.
    case ios(keyID: String, attestationObject: [UInt8])
    /// A statement by a test authority.
    ///
    /// - claims: What the authority says about the key.
    /// - signature: ECDSA in DER or 64 octets over the statement `hid-test-attestation-v1`.
    case test(claims: [String: HumanIDClaim], signature: [UInt8])
}

/// One value among the claims of a test attestation.
public enum HumanIDClaim: Sendable, Equatable {
    /// A string.
    case text(String)
    /// A whole number.
    case integer(Int64)
    /// A truth value.
    case flag(Bool)
}

/// Where the device's key lives: the only part of the SDK that touches it.
///
/// Any thread may call any method, also several at the same time. The SDK holds no lock while it waits for one, so a
/// slow key delays nobody but who uses it. Only one attestation runs at a time.
public protocol HumanIDKeyHolder: Sendable {
    /// What the server is told this device is.
    var platform: HumanIDPlatform { get }

    /// The installation's own id, made once and kept: 1 to 128 of `A-Z a-z 0-9 . _ -`.
    ///
    /// - Throws: `corrupt` or `unavailable` when it cannot be read; never a new id instead.
    func deviceID() async throws(HumanIDKeyError) -> String

    /// The public half of the current key as DER SubjectPublicKeyInfo; nil when there is no key.
    ///
    /// - Throws: `corrupt` or `unavailable` when that cannot be told, never nil instead; `invalidated` for a key that
    ///   is gone for good.
    func loadKey() async throws(HumanIDKeyError) -> [UInt8]?

    /// Makes a P-256 key, which replaces the current one.
    ///
    /// - Returns: Its public half as DER SubjectPublicKeyInfo.
    /// - Throws: `unsupported`, `unavailable`.
    func makeKey() async throws(HumanIDKeyError) -> [UInt8]

    /// Takes the current key away; without one nothing happens. The device id stays.
    ///
    /// - Throws: `unavailable`.
    func deleteKey() async throws(HumanIDKeyError)

    /// Signs the SHA-256 of a message with the current key.
    ///
    /// - Parameters:
    ///   - message: The octets, not their digest.
    ///   - publicKey: The key that is meant, as `loadKey` gave it.
    /// - Returns: ECDSA P-256 in DER, or 64 octets r then s.
    /// - Throws: `invalidated` when `publicKey` is not the current key or can no longer sign; `unavailable`.
    func sign(_ message: [UInt8], with publicKey: [UInt8]) async throws(HumanIDKeyError) -> [UInt8]

    /// Proves where the current key lives.
    ///
    /// A platform that can attest a key only while it makes it replaces the current key here.
    ///
    /// - Parameters:
    ///   - challenge: What to answer.
    ///   - publicKey: The key that is meant, as `loadKey` or `makeKey` gave it.
    /// - Returns: Evidence of this holder's platform.
    /// - Throws: `unsupported`, `unavailable`, `invalidated`, `attestationFailed`.
    func attest(
        _ challenge: HumanIDChallenge, for publicKey: [UInt8]
    ) async throws(HumanIDKeyError) -> HumanIDEvidence
}

/// Stands where a platform has no keys of its own; every use fails with the same words.
struct AbsentKeyHolder: HumanIDKeyHolder {
    let platform = HumanIDPlatform.test
    let error: HumanIDKeyError

    func deviceID() async throws(HumanIDKeyError) -> String { throw error }
    func loadKey() async throws(HumanIDKeyError) -> [UInt8]? { throw error }
    func makeKey() async throws(HumanIDKeyError) -> [UInt8] { throw error }
    func deleteKey() async throws(HumanIDKeyError) { throw error }
    func sign(_ message: [UInt8], with publicKey: [UInt8]) async throws(HumanIDKeyError) -> [UInt8] { throw error }
    func attest(
        _ challenge: HumanIDChallenge, for publicKey: [UInt8]
    ) async throws(HumanIDKeyError) -> HumanIDEvidence { throw error }
}
