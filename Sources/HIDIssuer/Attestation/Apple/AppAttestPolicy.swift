// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// What an App Attest attestation is measured by; what is nil is not given, and its check is skipped.
///
/// A server gives everything and uses the long initialiser; only a replay of stored evidence may know less.
package struct AppAttestPolicy: Sendable {
    /// What the client had to hand to `attestKey`.
    package var clientDataHash: [UInt8]?
    /// The apps that may ask, `TEAM.BUNDLE`; from configuration, never from the evidence.
    package var appIDs: [String]?
    package var environment: AppAttestEnvironment?
    /// The key identifier that the client sent, 32 octets.
    package var keyID: [UInt8]?
    /// SubjectPublicKeyInfo, DER, of the Secure Enclave key that becomes the device key; nil: the App Attest key.
    package var deviceKey: [UInt8]?
    /// The ways onto the device that are accepted; a system that states none passes.
    package var validationCategories: Set<UInt32>?
    /// Anchors besides Apple's.
    package var extraRoots: [Certificate] = []
    /// Whether Apple's own root counts.
    package var usesBuiltinRoots = true

    /// Nothing is given.
    package init() {}

    /// Everything that PROTOCOL section 2 asks for: the client data hash is SHA-256 of nonce and device key.
    package init(
        nonce: [UInt8], deviceKey: [UInt8], keyID: [UInt8], appIDs: [String], environment: AppAttestEnvironment,
        extraRoots: [Certificate] = []
    ) {
        clientDataHash = Self.clientDataHash(nonce: nonce, deviceKey: deviceKey)
        self.appIDs = appIDs
        self.environment = environment
        self.keyID = keyID
        self.deviceKey = deviceKey
        self.extraRoots = extraRoots
    }

    /// SHA-256 of the nonce octets and then the SubjectPublicKeyInfo of the device key.
    package static func clientDataHash(nonce: [UInt8], deviceKey: [UInt8]) -> [UInt8] {
        let clientData = nonce + deviceKey
        return SHA256.digest(clientData.span)
    }
}
