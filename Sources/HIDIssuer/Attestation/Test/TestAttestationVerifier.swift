// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDVerifier

/// Judges the platform `test`: an authority of the configuration vouches for a key (PROTOCOL.md section 2).
struct TestAttestationVerifier: Sendable {
    /// Uncompressed points.
    let authorityKeys: [[UInt8]]

    func verify(
        client: ClientIdentity, nonce: [UInt8], publicKey: [UInt8], claims: TestClaims, signature: [UInt8],
        verifier: P256Verifier
    ) -> AttestationReport {
        var report = AttestationReport()
        do throws(CryptoError) {
            let key = try P256PublicKey(subjectPublicKeyInfo: publicKey)
            var attested = AttestedKey(subjectPublicKeyInfo: key.subjectPublicKeyInfo, level: claims.level ?? .software)
            attested.facts = [.init("claims", String(decoding: claims.canonical.prefix(512), as: UTF8.self))]
            report.key = attested
            report.pass("key", "P-256")
        } catch {
            report.fail("key", .keyNotP256, "public_key is no SubjectPublicKeyInfo of an uncompressed P-256 point")
        }
        let statement = Self.statement(client: client, nonce: nonce, publicKey: publicKey, claims: claims)
        if isSigned(statement, signature, verifier) {
            report.pass("signature", "by a test authority of the configuration")
        } else {
            report.fail("signature", .testSignature, "by no test authority of the configuration")
        }
        judge(claims, &report)
        report.tier = .test
        return report
    }

    private func judge(_ claims: TestClaims, _ report: inout AttestationReport) {
        if let level = claims.level, level != .software {
            report.pass("level", level.rawValue)
        } else {
            report.fail("level", .softwareAttestation, claims.level == nil ? "no known level" : "software")
        }
        if claims.isLocked {
            report.pass("boot_loader", "locked")
        } else {
            report.fail("boot_loader", .bootloaderUnlocked, "unlocked")
        }
        switch claims.boot {
        case .verified: report.pass("boot_state", "verified")
        case .selfSigned: report.fail("boot_state", .bootSelfSigned, "self-signed")
        case .unverified: report.fail("boot_state", .bootUnverified, "unverified")
        case .failed: report.fail("boot_state", .bootFailed, "failed")
        }
        if claims.isRevoked {
            report.fail("revocation", .revoked, "played as revoked")
        } else {
            report.pass("revocation")
        }
    }

    private func isSigned(_ statement: [UInt8], _ signature: [UInt8], _ verifier: P256Verifier) -> Bool {
        guard let octets = KeyProof.octets(signature) else { return false }
        let digest = SHA256.hash(statement.span)
        return authorityKeys.contains { key in
            verifier.verify(digest: digest.span, signature: octets.span, point: key.span) == .valid
        }
    }

    /// The octets that the authority signs.
    static func statement(
        client: ClientIdentity, nonce: [UInt8], publicKey: [UInt8], claims: TestClaims
    ) -> [UInt8] {
        let keyDigest = SHA256.hash(publicKey.span)
        let claimsDigest = SHA256.hash(claims.canonical.span)
        let lines = [
            Array("hid-test-attestation-v1".utf8), Array(client.appID.utf8), Array(client.deviceID.utf8),
            Base64URL.encode(nonce.span), Base64URL.encode(keyDigest.span), Base64URL.encode(claimsDigest.span),
        ]
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }
}
