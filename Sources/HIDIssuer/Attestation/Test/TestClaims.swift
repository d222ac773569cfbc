// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto

/// What a test authority says of a device: `level`, and what else is to be played.
package struct TestClaims: Sendable, Equatable {
    package var level: SecurityLevel?
    /// `locked`: false plays an unlocked boot loader.
    package var isLocked = true
    /// `boot`: `verified`, `self_signed`, `unverified` or `failed`.
    package var boot = Boot.verified
    /// `revoked`: true plays a key on the revocation list.
    package var isRevoked = false
    /// Compact JSON of all members, sorted by name (PROTOCOL.md section 2): what the authority signs.
    package var canonical: [UInt8]

    /// How a played device started.
    package enum Boot: String, Sendable, CaseIterable {
        case verified
        case selfSigned = "self_signed"
        case unverified
        case failed
    }

    /// Reads the object; nil when it is none, or a known member has another type.
    ///
    /// Unknown members are signed, too.
    init?(_ document: StrictJSON, _ node: StrictJSON.Node) {
        guard document.kind(node) == .object else { return nil }
        canonical = []
        CanonicalJSON.append(document, node, to: &canonical)
        if let member = document.member("level", of: node) {
            guard let text = document.textBytes(member) else { return nil }
            level = SecurityLevel(rawValue: String(decoding: text, as: UTF8.self))
        }
        if let member = document.member("locked", of: node) {
            guard let value = document.boolean(member) else { return nil }
            isLocked = value
        }
        if let member = document.member("revoked", of: node) {
            guard let value = document.boolean(member) else { return nil }
            isRevoked = value
        }
        if let member = document.member("boot", of: node) {
            guard let text = document.textBytes(member),
                let value = Boot(rawValue: String(decoding: text, as: UTF8.self))
            else { return nil }
            boot = value
        }
    }
}
