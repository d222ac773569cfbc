// SPDX-License-Identifier: Apache-2.0

#if canImport(DeviceCheck)
    internal import CryptoKit
    internal import DeviceCheck
    internal import Foundation
    internal import Security

    /// A P-256 key in the Secure Enclave, bound to this application and device by App Attest.
    ///
    /// An App Attest key signs nothing but its own assertions. So it is used once, to vouch for a second key in the
    /// Secure Enclave, which then signs key proofs and requests. The keychain keeps the device id, the second key as
    /// the Secure Enclave's own sealed blob, and the id of an App Attest key that Apple could not vouch for yet.
    public final class SecureEnclaveKeyHolder: HumanIDKeyHolder {
        /// Always `ios`.
        public let platform = HumanIDPlatform.ios

        private let keychain: Keychain

        /// The accounts of the keychain items.
        private enum Item {
            static let deviceID = "device-id"
            static let deviceKey = "device-key"
            static let pendingAttestation = "app-attest-key-id"
        }

        /// Makes a key holder; nothing is read or made before it is used.
        ///
        /// - Parameters:
        ///   - applicationID: The `app_id`; each has a key and a device id of its own.
        ///   - accessGroup: The keychain access group; nil: the application's own.
        public init(applicationID: String, accessGroup: String? = nil) {
            keychain = Keychain(service: "hidgate." + applicationID, accessGroup: accessGroup)
        }

        /// The id in the keychain, made at the first use; it survives a reinstallation.
        ///
        /// - Throws: `unavailable` before the first unlock, `corrupt`.
        public func deviceID() async throws(HumanIDKeyError) -> String {
            if let kept = try keptDeviceID() { return kept }
            let made = "dev-" + Primitives.base64URL(Primitives.random(16))
            if try keychain.add(Item.deviceID, Data(made.utf8)) { return made }
            guard let other = try keptDeviceID() else { throw .unavailable("the device id comes and goes") }
            return other
        }

        /// The public key of the Secure Enclave key.
        ///
        /// - Throws: `invalidated` when the Secure Enclave no longer knows the key, as on another device;
        ///   `unavailable` before the first unlock.
        public func loadKey() async throws(HumanIDKeyError) -> [UInt8]? {
            try currentKey().map { Array($0.publicKey.derRepresentation) }
        }

        /// Makes a key in the Secure Enclave.
        ///
        /// - Throws: `unsupported` without a Secure Enclave or App Attest, as in a simulator; `unavailable`.
        public func makeKey() async throws(HumanIDKeyError) -> [UInt8] {
            guard SecureEnclave.isAvailable else { throw .unsupported("no Secure Enclave") }
            guard DCAppAttestService.shared.isSupported else { throw .unsupported("no App Attest") }
            let access = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, nil)
            guard let access else { throw .unavailable("no access control could be made") }
            let key: SecureEnclave.P256.Signing.PrivateKey
            do {
                key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: access)
            } catch {
                throw .unavailable("the Secure Enclave made no key: \(error.localizedDescription)")
            }
            try keychain.write(Item.deviceKey, key.dataRepresentation)
            return Array(key.publicKey.derRepresentation)
        }

        /// Takes the key and a pending App Attest key out of the keychain.
        ///
        /// - Throws: `unavailable`.
        public func deleteKey() async throws(HumanIDKeyError) {
            try keychain.delete(Item.pendingAttestation)
            try keychain.delete(Item.deviceKey)
        }

        /// Signs with ECDSA in DER.
        ///
        /// - Throws: `invalidated` when another key, or none, is current; `unavailable` when the Secure Enclave fails.
        public func sign(_ message: [UInt8], with publicKey: [UInt8]) async throws(HumanIDKeyError) -> [UInt8] {
            let key = try currentKey(publicKey)
            do {
                return Array(try key.signature(for: Data(message)).derRepresentation)
            } catch {
                throw .unavailable("the Secure Enclave made no signature: \(error.localizedDescription)")
            }
        }

        /// Lets a new App Attest key vouch for the Secure Enclave key.
        ///
        /// - Throws: `unsupported`; `invalidated` when another key, or none, is current; `unavailable` when Apple's
        ///   server cannot be reached or wants fewer calls: the next call tries again with the same App Attest key.
        public func attest(
            _ challenge: HumanIDChallenge, for publicKey: [UInt8]
        ) async throws(HumanIDKeyError) -> HumanIDEvidence {
            guard DCAppAttestService.shared.isSupported else { throw .unsupported("no App Attest") }
            _ = try currentKey(publicKey)
            let hash = RequestBase.clientDataHash(challenge, publicKey: publicKey)
            if let pending = try pendingAttestation() {
                if let evidence = try await attest(pending, hash) { return evidence }
            }
            let fresh = try await generateAttestationKey()
            guard let evidence = try await attest(fresh, hash) else {
                throw .unavailable("App Attest does not know the key that it made")
            }
            return evidence
        }

        // MARK: - Secure Enclave

        private func currentKey() throws(HumanIDKeyError) -> SecureEnclave.P256.Signing.PrivateKey? {
            guard let sealed = try keychain.read(Item.deviceKey) else { return nil }
            guard let key = try? SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: sealed) else {
                throw .invalidated
            }
            return key
        }

        private func currentKey(
            _ publicKey: [UInt8]
        ) throws(HumanIDKeyError) -> SecureEnclave.P256.Signing.PrivateKey {
            guard let key = try currentKey(), Array(key.publicKey.derRepresentation) == publicKey else {
                throw .invalidated
            }
            return key
        }

        private func keptDeviceID() throws(HumanIDKeyError) -> String? {
            guard let data = try keychain.read(Item.deviceID) else { return nil }
            let text = String(decoding: data, as: UTF8.self)
            guard Identifier.isValid(text, atMost: 128) else { throw .corrupt("the device id in the keychain") }
            return text
        }

        // MARK: - App Attest

        private func pendingAttestation() throws(HumanIDKeyError) -> String? {
            try keychain.read(Item.pendingAttestation).map { String(decoding: $0, as: UTF8.self) }
        }

        private func generateAttestationKey() async throws(HumanIDKeyError) -> String {
            let made: String
            do {
                made = try await DCAppAttestService.shared.generateKey()
            } catch {
                throw Self.failure(error)
            }
            try keychain.write(Item.pendingAttestation, Data(made.utf8))
            return made
        }

        /// Has a key attested; nil when App Attest does not know it, or vouched for it before.
        private func attest(_ keyID: String, _ hash: [UInt8]) async throws(HumanIDKeyError) -> HumanIDEvidence? {
            let object: Data
            do {
                object = try await DCAppAttestService.shared.attestKey(keyID, clientDataHash: Data(hash))
            } catch {
                let code = (error as? DCError)?.code
                // Apple: after serverUnavailable try again with the same key, after anything else with a new one.
                if code != .serverUnavailable { try keychain.delete(Item.pendingAttestation) }
                if code == .invalidKey { return nil }
                throw Self.failure(error)
            }
            // It has done its work; a second attestation by the same key would be refused.
            try keychain.delete(Item.pendingAttestation)
            return .ios(keyID: keyID, attestationObject: Array(object))
        }

        private static func failure(_ error: any Error) -> HumanIDKeyError {
            guard let code = (error as? DCError)?.code else { return .unavailable(error.localizedDescription) }
            return switch code {
            case .featureUnsupported: .unsupported("App Attest: \(error.localizedDescription)")
            case .invalidInput: .attestationFailed("App Attest refused its input")
            default: .unavailable("App Attest: \(error.localizedDescription)")
            }
        }
    }
#endif
