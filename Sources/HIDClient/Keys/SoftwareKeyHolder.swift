// SPDX-License-Identifier: Apache-2.0

#if !canImport(CryptoKit)
    internal import Glibc
    internal import HIDCrypto
    internal import Synchronization

    /// A device key in software, vouched for by a test authority: for tests, demonstrations and load generators.
    ///
    /// Servers accept it for applications that allow the platform `test` and know the authority's public key; the
    /// tokens say `"env":"test"`. Key and device id live in memory, or in a file with the mode 0600 that is always
    /// replaced as a whole. A file that is damaged, or that others may read, is an error and is left as it is.
    public final class SoftwareKeyHolder: HumanIDKeyHolder {
        /// The environment variable that names the PEM file of the test authority's private key.
        public static let authorityVariable = "HUMANID_TEST_AUTHORITY_KEY"
        /// The environment variable that names the file of the device's key; without it the key lives in memory.
        public static let keyVariable = "HUMANID_DEVICE_KEY"

        /// Always `test`.
        public let platform = HumanIDPlatform.test

        private let authority: P256PrivateKey?
        private let claims: [String: HumanIDClaim]
        private let file: KeyFile?
        private let identity = Mutex<SoftwareIdentity?>(nil)

        /// Makes a key holder; nothing is read or made before it is used.
        ///
        /// - Parameters:
        ///   - authorityKey: PEM of the test authority's P-256 private key; nil: the key can sign, not be attested.
        ///   - claims: What the authority says about the key.
        ///   - file: The path of the file that keeps key and device id; nil: they live in memory.
        /// - Throws: `corrupt` for a PEM that is no P-256 private key.
        public init(
            authorityKey: [UInt8]?, claims: [String: HumanIDClaim] = ["level": .text("tee")], file: String? = nil
        ) throws(HumanIDKeyError) {
            authority = try authorityKey.map { (pem) throws(HumanIDKeyError) in
                guard let key = try? P256PrivateKey(pem: pem) else {
                    throw .corrupt("the test authority's key is no PEM of a P-256 private key")
                }
                return key
            }
            self.claims = claims
            self.file = file.map { KeyFile(path: $0) }
        }

        /// The key holder that the environment describes, or one that says what is missing.
        static func ofEnvironment() -> any HumanIDKeyHolder {
            guard let path = value(of: authorityVariable) else {
                return AbsentKeyHolder(error: .unsupported("set \(authorityVariable), or give a key holder"))
            }
            do throws(HumanIDKeyError) {
                guard let pem = try KeyFile(path: path).read(isSecret: false) else {
                    throw .unavailable("no file \(path)")
                }
                return try SoftwareKeyHolder(authorityKey: pem, file: value(of: keyVariable))
            } catch {
                return AbsentKeyHolder(error: error)
            }
        }

        /// The id in the file or in memory, made at the first use.
        ///
        /// - Throws: `corrupt`, `unavailable`.
        public func deviceID() async throws(HumanIDKeyError) -> String { try current().deviceID }

        /// The public key in the file or in memory.
        ///
        /// - Throws: `corrupt`, `unavailable`.
        public func loadKey() async throws(HumanIDKeyError) -> [UInt8]? {
            try current().key?.publicKey.subjectPublicKeyInfo
        }

        /// Makes a key, and writes it before it is used.
        ///
        /// - Throws: `corrupt` for a damaged file, `unavailable` when it cannot be written.
        public func makeKey() async throws(HumanIDKeyError) -> [UInt8] {
            guard let key = try? P256PrivateKey() else { throw .unavailable("no key could be generated") }
            try replaceKey(key)
            return key.publicKey.subjectPublicKeyInfo
        }

        /// Takes the key out of the file or out of memory.
        ///
        /// - Throws: `corrupt`, `unavailable`.
        public func deleteKey() async throws(HumanIDKeyError) { try replaceKey(nil) }

        /// Signs with ECDSA in DER.
        ///
        /// - Throws: `invalidated` when another key, or none, is current.
        public func sign(_ message: [UInt8], with publicKey: [UInt8]) async throws(HumanIDKeyError) -> [UInt8] {
            guard let key = try current().key, key.publicKey.subjectPublicKeyInfo == publicKey else {
                throw .invalidated
            }
            return try Self.sign(message, key)
        }

        /// Signs the statement `hid-test-attestation-v1` with the authority's key.
        ///
        /// - Throws: `unsupported` without an authority, `invalidated` when another key, or none, is current.
        public func attest(
            _ challenge: HumanIDChallenge, for publicKey: [UInt8]
        ) async throws(HumanIDKeyError) -> HumanIDEvidence {
            guard let authority else { throw .unsupported("there is no test authority") }
            guard try current().key?.publicKey.subjectPublicKeyInfo == publicKey else { throw .invalidated }
            let statement = RequestBase.testAttestation(challenge, publicKey: publicKey, claims: claims)
            return .test(claims: claims, signature: try Self.sign(statement, authority))
        }

        // MARK: - The identity

        private func current() throws(HumanIDKeyError) -> SoftwareIdentity {
            try identity.withLock { (identity) throws(HumanIDKeyError) in
                try Self.load(&identity, from: file)
            }
        }

        private func replaceKey(_ key: P256PrivateKey?) throws(HumanIDKeyError) {
            try identity.withLock { (identity) throws(HumanIDKeyError) in
                var changed = try Self.load(&identity, from: file)
                changed.key = key
                _ = try file?.write(changed.encoded(), replacing: true)
                identity = changed
            }
        }

        private static func load(
            _ identity: inout SoftwareIdentity?, from file: KeyFile?
        ) throws(HumanIDKeyError) -> SoftwareIdentity {
            if let identity { return identity }
            if let kept = try read(file) {
                identity = kept
                return kept
            }
            let made = try make(file)
            identity = made
            return made
        }

        private static func read(_ file: KeyFile?) throws(HumanIDKeyError) -> SoftwareIdentity? {
            guard let bytes = try file?.read(isSecret: true) else { return nil }
            return try SoftwareIdentity(decoding: bytes)
        }

        private static func make(_ file: KeyFile?) throws(HumanIDKeyError) -> SoftwareIdentity {
            let made = SoftwareIdentity(deviceID: "dev-" + Primitives.base64URL(Primitives.random(16)), key: nil)
            guard let file, !(try file.write(made.encoded(), replacing: false)) else { return made }
            // Another process was faster; its identity is the one that counts.
            guard let other = try read(file) else { throw .unavailable("\(file.path) comes and goes") }
            return other
        }

        private static func sign(_ message: [UInt8], _ key: P256PrivateKey) throws(HumanIDKeyError) -> [UInt8] {
            let digest = SHA256.digest(message.span)
            guard let signature = try? key.signDER(digest: digest.span) else {
                throw .unavailable("the signature could not be made")
            }
            return signature
        }

        private static func value(of variable: String) -> String? {
            guard let text = unsafe getenv(variable) else { return nil }
            let value = unsafe String(cString: text)
            return value.isEmpty ? nil : value
        }
    }
#endif
