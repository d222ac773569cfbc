// SPDX-License-Identifier: Apache-2.0

/// What an attestation leads to (PROTOCOL.md section 2).
package enum AttestationOutcome: String, Sendable, CaseIterable {
    /// A token with the verdict `human`.
    case human
    /// A token with the verdict `blocked`: proven hardware that is not wanted.
    case blocked
    /// No token: not proven to be a hardware key that answers this challenge.
    case rejected
}

/// Why an attestation is not accepted; the raw values stand in logs, metrics and `hidctl attest explain`.
package enum AttestationReason: String, Error, Sendable, CaseIterable {
    // Not proven: no token.
    case malformed
    case chainLength = "chain_length"
    case chainOrder = "chain_order"
    case badSignature = "bad_signature"
    case signatureAlgorithm = "signature_algorithm"
    case issuerConstraints = "issuer_constraints"
    case untrustedRoot = "untrusted_root"
    case softwareRoot = "software_root"
    case softwareAttestation = "software_attestation"
    case notYetValid = "not_yet_valid"
    case rkpExpired = "rkp_expired"
    case certificateExpired = "certificate_expired"
    case keyDescriptionMissing = "key_description_missing"
    case keyDescriptionMalformed = "key_description_malformed"
    case chainExtended = "chain_extended"
    case attestKeyUnsupported = "attest_key_unsupported"
    /// The leaf claims StrongBox, and its issuer is a key of the TEE.
    case levelMismatch = "level_mismatch"
    case nonceMismatch = "nonce_mismatch"
    case keyNotP256 = "key_not_p256"
    case keyImported = "key_imported"
    case keyPurpose = "key_purpose"
    case keyDigest = "key_digest"
    case keyShared = "key_shared"
    case rootOfTrustMissing = "root_of_trust_missing"
    case attestationFormat = "attestation_format"
    case keyIDMismatch = "key_id_mismatch"
    case counterNotZero = "counter_not_zero"
    case counterReplayed = "counter_replayed"
    case keyReused = "key_reused"
    case testSignature = "test_signature"
    // Proven hardware, not wanted: a token that says `blocked`.
    case bootloaderUnlocked = "bootloader_unlocked"
    case bootSelfSigned = "boot_self_signed"
    case bootUnverified = "boot_unverified"
    case bootFailed = "boot_failed"
    case revoked
    case suspended
    case wrongPackage = "wrong_package"
    case wrongSigner = "wrong_signer"
    case appIDUnavailable = "app_id_unavailable"
    case levelNotAccepted = "level_not_accepted"
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"
    case validationCategory = "validation_category"
    case denied

    /// What follows from this reason alone; with several, the worst counts.
    package var outcome: AttestationOutcome {
        switch self {
        case .malformed, .chainLength, .chainOrder, .badSignature, .signatureAlgorithm, .issuerConstraints,
            .untrustedRoot, .softwareRoot, .softwareAttestation, .notYetValid, .rkpExpired, .certificateExpired,
            .keyDescriptionMissing, .keyDescriptionMalformed, .chainExtended, .attestKeyUnsupported, .levelMismatch,
            .nonceMismatch, .keyNotP256, .keyImported, .keyPurpose, .keyDigest, .keyShared, .rootOfTrustMissing,
            .attestationFormat,
            .keyIDMismatch, .counterNotZero, .counterReplayed, .keyReused, .testSignature:
            .rejected
        case .bootloaderUnlocked, .bootSelfSigned, .bootUnverified, .bootFailed, .revoked, .suspended, .wrongPackage,
            .wrongSigner, .appIDUnavailable, .levelNotAccepted, .wrongApp, .wrongEnvironment, .validationCategory,
            .denied:
            .blocked
        }
    }
}
