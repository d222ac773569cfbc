// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Why an assertion does not hold.
package enum AssertionFault: String, Error, Sendable, Equatable, CaseIterable {
    /// Not the one CBOR form, or a signature that is no strict DER.
    case malformed
    /// Made for an app that is not expected.
    case wrongApp = "wrong_app"
    /// Not signed by this key over this client data.
    case badSignature = "bad_signature"
    /// Its counter is not above the stored one: seen before, or older than one seen.
    case counterReplayed = "counter_replayed"
}

/// An App Attest assertion, taken apart and not judged.
///
/// Source: Apple, "Validating apps that connect to your server", Verify the assertion.
struct AppAttestAssertion: Sendable, Equatable {
    /// The most octets that are looked at; real ones have less than 200.
    static let maximumLength = 1024

    /// r then s, 64 octets.
    var signature: [UInt8]
    var authenticatorData: [UInt8]
    var data: AuthenticatorData

    init(_ octets: [UInt8]) throws(AssertionFault) {
        let limits = CBOR.Limits(depth: 1, items: 8, octets: Self.maximumLength)
        guard let item = try? CBOR(octets, limits: limits), item.entries(of: item.root)?.count == 2,
            let first = item.value(of: item.root, "signature"), let der = item.octets(first),
            let second = item.value(of: item.root, "authenticatorData"), let read = item.octetArray(second),
            let data = try? AuthenticatorData(assertion: read),
            let raw = try? ECDSASignature.parseDER(item.bytes.span.extracting(der))
        else { throw .malformed }
        signature = raw
        authenticatorData = read
        self.data = data
    }

    /// Whether the signature is that of an uncompressed point over authenticator data and client data hash.
    ///
    /// The nonce, SHA-256 of both, is the message and is hashed once more by ECDSA with SHA-256.
    func isSigned(by point: [UInt8], clientDataHash: [UInt8]) -> Bool {
        let nonce = AppAttestNonce.make(authenticatorData: authenticatorData, clientDataHash: clientDataHash)
        let digest = SHA256.digest(nonce.span)
        guard let key = try? P256PublicKey(point: point) else { return false }
        return key.verify(digest: digest.span, signature: signature.span)
    }
}

/// What binds authenticator data to a challenge.
enum AppAttestNonce {
    /// SHA-256 of the authenticator data and then the client data hash.
    static func make(authenticatorData: [UInt8], clientDataHash: [UInt8]) -> [UInt8] {
        var hasher = SHA256Hasher()
        hasher.update(authenticatorData)
        hasher.update(clientDataHash)
        let digest = hasher.finish()
        return digest.indices.map { digest[$0] }
    }
}

/// What names an app to App Attest.
enum AppAttestAppID {
    /// The app among `appIDs` (`TEAM.BUNDLE`) whose SHA-256 this is.
    static func match(_ hash: [UInt8], among appIDs: [String]) -> String? {
        appIDs.first { appID in
            let name = Array(appID.utf8)
            return SHA256.digest(name.span) == hash
        }
    }
}

extension AppAttestVerifier {
    /// Verifies an assertion by a key that was attested before.
    ///
    /// The caller stores the counter in one atomic step (`IssuerStore.advance`) and refuses when that fails:
    /// between this check and the store another request may have used it.
    ///
    /// - Parameters:
    ///   - octets: The CBOR of the assertion.
    ///   - clientDataHash: SHA-256 of the client data, which must hold the server's one-time challenge.
    ///   - point: The App Attest key, uncompressed, 65 octets.
    ///   - appIDs: The apps that may ask, `TEAM.BUNDLE`.
    ///   - storedCounter: The last counter that was accepted, 0 after the attestation.
    /// - Returns: The new counter, greater than the stored one.
    package static func verifyAssertion(
        _ octets: [UInt8], clientDataHash: [UInt8], point: [UInt8], appIDs: [String], storedCounter: UInt32
    ) -> Result<UInt32, AssertionFault> {
        let assertion: AppAttestAssertion
        do {
            assertion = try AppAttestAssertion(octets)
        } catch {
            return .failure(error)
        }
        guard AppAttestAppID.match(assertion.data.appIDHash, among: appIDs) != nil else {
            return .failure(.wrongApp)
        }
        guard assertion.isSigned(by: point, clientDataHash: clientDataHash) else { return .failure(.badSignature) }
        guard assertion.data.counter > storedCounter else { return .failure(.counterReplayed) }
        return .success(assertion.data.counter)
    }
}
