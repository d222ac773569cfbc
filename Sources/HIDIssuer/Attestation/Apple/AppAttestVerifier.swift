// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// Verifies App Attest attestations and assertions; a value without state, to be used from any thread.
///
/// Source: Apple, "Validating apps that connect to your server".
package struct AppAttestVerifier: Sendable {
    package init() {}

    /// Looks at everything that an attestation object says.
    ///
    /// Every check is made even after one has failed, so that the report tells all; about 2 ms, most of it the two
    /// signatures by P-384 keys.
    ///
    /// - Parameters:
    ///   - object: The CBOR of `attestKey`.
    ///   - policy: What it is measured by.
    ///   - now: Wall clock, seconds since 1970; all certificates must be valid then.
    package func verifyAttestation(_ object: [UInt8], policy: AppAttestPolicy, now: Int64) -> AttestationReport {
        var examination = AppAttestExamination(policy: policy, now: now)
        examination.run(object)
        return examination.report
    }
}

/// One attestation under examination.
struct AppAttestExamination {
    let policy: AppAttestPolicy
    /// Seconds since 1970.
    let now: Int64
    private(set) var report = AttestationReport()

    init(policy: AppAttestPolicy, now: Int64) {
        self.policy = policy
        self.now = now
    }

    mutating func run(_ octets: [UInt8]) {
        guard let object = readObject(octets) else { return }
        let leaf = checkChain(object.certificates)
        let data = readData(object.authenticatorData)
        let point = leaf.flatMap { readKey($0) }
        if let leaf { checkNonce(leaf, object.authenticatorData) }
        guard let data, let credential = data.credential else { return }
        if let point { checkKey(point, credential) }
        checkApp(data)
        checkEnvironment(credential.aaguid)
        checkCounter(data.counter)
        checkCategory(data.extensions)
        if let leaf, let point { setKey(leaf, point, data) }
    }

    // MARK: - Form

    private mutating func readObject(_ octets: [UInt8]) -> AppAttestObject? {
        do {
            let object = try AppAttestObject(octets)
            report.pass("object", "\(octets.count) octets")
            return object
        } catch {
            switch error {
            case .format: report.fail("object", .attestationFormat, "the format is not apple-appattest")
            case .tooLong: report.fail("object", .malformed, "\(octets.count) octets")
            case .cbor(let fault): report.fail("object", .malformed, "not CBOR: \(fault)")
            case .members: report.fail("object", .malformed, "not a map of fmt, attStmt and authData")
            case .statement: report.fail("object", .malformed, "attStmt is not a map of x5c and receipt")
            }
            return nil
        }
    }

    private mutating func readData(_ octets: [UInt8]) -> AuthenticatorData? {
        do {
            let data = try AuthenticatorData(attestation: octets)
            report.pass("authenticator_data", "\(octets.count) octets")
            return data
        } catch {
            report.fail("authenticator_data", .malformed, "\(octets.count) octets: \(error)")
            return nil
        }
    }

    // MARK: - Certificates

    /// Gives the leaf whenever it can be read.
    private mutating func checkChain(_ list: [[UInt8]]) -> Certificate? {
        guard (2...3).contains(list.count) else {
            report.fail("chain_length", .chainLength, "\(list.count) certificates")
            return list.first.flatMap { try? Certificate($0) }
        }
        report.pass("chain_length", "\(list.count) certificates")
        var certificates: [Certificate] = []
        for (index, der) in list.enumerated() {
            do {
                certificates.append(try Certificate(der))
            } catch {
                report.fail("certificates", .malformed, "certificate \(index): \(error)")
                return certificates.first
            }
        }
        report.pass("certificates")
        let builtin = policy.usesBuiltinRoots ? [AppleAnchor.appAttest] : []
        let anchors = builtin + policy.extraRoots.map { AppleAnchor($0) }
        do {
            check(try AppleChain(certificates, anchors: anchors))
        } catch {
            report.fail("chain", error.reason, error.detail)
        }
        return certificates.first
    }

    private mutating func check(_ chain: AppleChain) {
        let now = now
        attempt("chain_order") { () throws(AppleChain.Fault) in
            try chain.checkOrder()
            return ""
        }
        attempt("constraints") { () throws(AppleChain.Fault) in
            try chain.checkConstraints()
            return ""
        }
        attempt("chain") { () throws(AppleChain.Fault) in try chain.checkSignatures() }
        attempt("validity") { () throws(AppleChain.Fault) in
            try chain.checkDates(at: now)
            return "leaf from \(chain.leaf.notBefore) to \(chain.leaf.notAfter)"
        }
    }

    private mutating func attempt(_ name: StaticString, _ check: () throws(AppleChain.Fault) -> String) {
        do {
            report.pass(name, try check())
        } catch {
            report.fail(name, error.reason, error.detail)
        }
    }

    /// The uncompressed point of the leaf.
    private mutating func readKey(_ leaf: Certificate) -> [UInt8]? {
        guard let key = try? P256PublicKey(subjectPublicKeyInfo: leaf.subjectPublicKeyInfo) else {
            report.fail("leaf_key", .keyNotP256, "\(leaf.keyKind)")
            return nil
        }
        report.pass("leaf_key", "P-256")
        return key.point
    }

    // MARK: - What is bound to what

    private mutating func checkNonce(_ leaf: Certificate, _ authenticatorData: [UInt8]) {
        guard let nonce = AppAttestLeaf.nonce(of: leaf) else {
            return report.fail("nonce", .attestationFormat, "the leaf has no nonce in its one form")
        }
        guard let hash = policy.clientDataHash else {
            return report.skip("nonce", "no challenge was given")
        }
        guard nonce == AppAttestNonce.make(authenticatorData: authenticatorData, clientDataHash: hash) else {
            return report.fail("nonce", .nonceMismatch, "not made for this challenge")
        }
        report.pass("nonce")
    }

    private mutating func checkKey(_ point: [UInt8], _ credential: AuthenticatorData.Credential) {
        let keyID = SHA256.digest(point.span)
        if credential.keyID == keyID {
            report.pass("credential_id")
        } else {
            report.fail("credential_id", .keyIDMismatch, "not SHA-256 of the certified key")
        }
        if credential.point == point {
            report.pass("credential_key")
        } else {
            report.fail("credential_key", .keyIDMismatch, "not the certified key")
        }
        guard let given = policy.keyID else { return report.skip("key_id", "no key identifier was given") }
        if given == keyID {
            report.pass("key_id")
        } else {
            report.fail("key_id", .keyIDMismatch, "another key identifier was given")
        }
    }

    private mutating func checkApp(_ data: AuthenticatorData) {
        guard let appIDs = policy.appIDs else { return report.skip("app_id", "no app was given") }
        if let appID = AppAttestAppID.match(data.appIDHash, among: appIDs) {
            report.pass("app_id", appID)
        } else {
            report.fail("app_id", .wrongApp, "hash \(Hex.octets(data.appIDHash))")
        }
    }

    private mutating func checkEnvironment(_ aaguid: [UInt8]) {
        guard let environment = AppAttestEnvironment(aaguid: aaguid) else {
            return report.fail("environment", .attestationFormat, "unknown AAGUID \(Hex.octets(aaguid))")
        }
        guard let wanted = policy.environment else {
            return report.skip("environment", "\(environment.rawValue); none was given")
        }
        if environment == wanted {
            report.pass("environment", environment.rawValue)
        } else {
            report.fail("environment", .wrongEnvironment, environment.rawValue)
        }
    }

    private mutating func checkCounter(_ counter: UInt32) {
        if counter == 0 {
            report.pass("counter", "0")
        } else {
            report.fail("counter", .counterNotZero, "\(counter)")
        }
    }

    private mutating func checkCategory(_ extensions: AppAttestExtensions) {
        guard let wanted = policy.validationCategories else {
            return report.skip("validation_category", "none was given")
        }
        guard let category = extensions.validationCategory else {
            return report.skip("validation_category", "the system states none")
        }
        if wanted.contains(category) {
            report.pass("validation_category", "\(category)")
        } else {
            report.fail("validation_category", .validationCategory, "\(category)")
        }
    }

    // MARK: - Result

    private mutating func setKey(_ leaf: Certificate, _ point: [UInt8], _ data: AuthenticatorData) {
        if let deviceKey = policy.deviceKey {
            guard (try? P256PublicKey(subjectPublicKeyInfo: deviceKey)) != nil else {
                return report.fail("device_key", .keyNotP256, "not the DER of an uncompressed P-256 key")
            }
            report.pass("device_key", "P-256")
        } else {
            report.skip("device_key", "no second key was given")
        }
        var key = AttestedKey(
            subjectPublicKeyInfo: policy.deviceKey ?? leaf.subjectPublicKeyInfo, level: .secureEnclave)
        key.keyID = SHA256.digest(point.span)
        key.assertionKey = point
        key.facts = facts(leaf, data)
        report.key = key
        report.tier = .secureEnclave
    }

    private func facts(_ leaf: Certificate, _ data: AuthenticatorData) -> [AttestedKey.Fact] {
        var facts: [AttestedKey.Fact] = []
        if let appID = policy.appIDs.flatMap({ AppAttestAppID.match(data.appIDHash, among: $0) }) {
            facts.append(AttestedKey.Fact("app_id", appID))
        }
        if let environment = data.credential.flatMap({ AppAttestEnvironment(aaguid: $0.aaguid) }) {
            facts.append(AttestedKey.Fact("environment", environment.rawValue))
        }
        facts += AppAttestLeaf.systemFacts(of: leaf)
        facts.append(AttestedKey.Fact("flags", Hex.octets([data.flags])))
        if let category = data.extensions.validationCategory {
            facts.append(AttestedKey.Fact("validation_category", "\(category)"))
        }
        if let version = data.extensions.bundleVersion {
            facts.append(AttestedKey.Fact("bundle_version", version))
        }
        if data.extensions.unknownCount > 0 {
            facts.append(AttestedKey.Fact("unknown_extensions", "\(data.extensions.unknownCount)"))
        }
        return facts
    }
}
