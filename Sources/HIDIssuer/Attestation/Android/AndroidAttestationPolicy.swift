// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// What an Android attestation is held against; nil means not given, and the check is skipped.
package struct AndroidAttestationPolicy: Sendable {
    /// The octets of the nonce that was handed out; an empty one never matches.
    package var challenge: [UInt8]?
    /// Package names of the application: one of them must be among the attested names.
    package var packages: [String]?
    /// SHA-256 of signing certificates, 32 octets each: every attested digest must be one of them.
    package var signerDigests: [[UInt8]]?
    /// Hardware levels that are wanted; software is refused whatever stands here.
    package var securityLevels: Set<SecurityLevel>?
    /// Boot keys of other operating systems that are as good as the maker's, when the boot loader is locked.
    package var verifiedBootKeys: [[UInt8]] = []
    /// Whether a chain through an ATTEST_KEY of the application is accepted.
    package var allowAttestKey = false
    /// Whether the key must allow exactly SIGN with SHA-256, as the client SDK makes it.
    package var sdkKeysOnly = false
    /// Roots besides Google's; a report says when one of them was used.
    package var extraRoots: [Certificate] = []
    /// Whether signatures are verified where that changes no outcome: without an anchor, and below a wrong one.
    ///
    /// A report for people wants all reasons; a server need not do work for strangers (1 ms a link of P-384).
    package var verifiesEveryLink = true
    /// Whether Google's roots count.
    package var usesBuiltinRoots = true

    package init() {}

    /// The anchors in the order in which they are tried.
    var anchors: [AndroidAnchor] {
        extraRoots.map(AndroidAnchor.init(extra:)) + (usesBuiltinRoots ? AndroidAnchor.google : [])
    }
}
