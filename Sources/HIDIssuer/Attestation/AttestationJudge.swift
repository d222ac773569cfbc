// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto

/// Puts evidence before the verifier of its platform, with what the configuration expects.
///
/// Safe from any thread.
final class AttestationJudge: Sendable {
    private let configuration: AttestationConfiguration
    private let android = AndroidAttestationVerifier()
    private let apple = AppAttestVerifier()
    private let androidRoots: [Certificate]
    private let appleRoots: [Certificate]

    init(_ configuration: AttestationConfiguration) {
        self.configuration = configuration
        // The decoder has read them once: a file that does not parse never comes here.
        androidRoots = configuration.androidRoots.extra.compactMap { try? Certificate($0) }
        appleRoots = configuration.appleRoots.extra.compactMap { try? Certificate($0) }
    }

    /// Judges an attestation; a key proof is none.
    ///
    /// - Throws: `unavailable` when Android devices cannot be judged for want of a fresh revocation list.
    func judge(
        _ request: VerifyRequest, app: AppConfiguration, nonce: [UInt8], revocations: RevocationKeeper?, now: Int64,
        verifier: P256Verifier
    ) throws(IssuerFailure) -> AttestationReport {
        switch request.evidence {
        case .android(let chain):
            return android.verify(
                chain: chain, policy: androidPolicy(app.android, nonce: nonce),
                revocation: try list(revocations, now: now),
                now: now)
        case .apple(let keyID, let object, let publicKey):
            return apple.verifyAttestation(
                object, policy: applePolicy(app.ios, nonce: nonce, keyID: keyID, publicKey: publicKey), now: now)
        case .test(let publicKey, let claims, let signature):
            let test = TestAttestationVerifier(authorityKeys: app.test?.authorityKeys ?? [])
            return test.verify(
                client: request.client, nonce: nonce, publicKey: publicKey, claims: claims, signature: signature,
                verifier: verifier)
        case .keyProof: throw IssuerFailure(.badRequest, detail: "type")
        }
    }

    private func list(_ keeper: RevocationKeeper?, now: Int64) throws(IssuerFailure) -> RevocationList? {
        guard let keeper else { return nil }
        if keeper.isStale(at: now), configuration.revocationList?.whenStale != .open {
            throw IssuerFailure(
                .unavailable, detail: "the revocation list is older than max_age and when_stale is closed")
        }
        return keeper.list
    }

    private func androidPolicy(_ app: AndroidAppConfiguration?, nonce: [UInt8]) -> AndroidAttestationPolicy {
        var policy = AndroidAttestationPolicy()
        policy.challenge = nonce
        policy.packages = app?.packages ?? []
        policy.signerDigests = app?.signerDigests ?? []
        policy.securityLevels = app?.securityLevels ?? []
        policy.verifiedBootKeys = app?.verifiedBootKeys ?? []
        policy.allowAttestKey = configuration.allowsAttestKey
        policy.sdkKeysOnly = configuration.sdkKeysOnly
        policy.extraRoots = androidRoots
        policy.usesBuiltinRoots = configuration.androidRoots.builtin
        // Curve work for nobody who is not signed by a root we trust; the outcome is the same.
        policy.verifiesEveryLink = false
        return policy
    }

    private func applePolicy(
        _ app: AppleAppConfiguration?, nonce: [UInt8], keyID: [UInt8], publicKey: [UInt8]
    ) -> AppAttestPolicy {
        var policy = AppAttestPolicy()
        policy.clientDataHash = AppAttestPolicy.clientDataHash(nonce: nonce, deviceKey: publicKey)
        policy.appIDs = app?.appIDs ?? []
        policy.environment = app?.environment ?? .production
        policy.keyID = keyID
        policy.deviceKey = publicKey
        policy.extraRoots = appleRoots
        policy.usesBuiltinRoots = configuration.appleRoots.builtin
        return policy
    }
}
