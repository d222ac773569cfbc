// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting

/// Writes an attestation extension field by field.
struct KeyDescriptionWriter: Sendable {
    typealias Tags = [(tag: UInt64, value: [UInt8])]

    var attestationVersion = DERWriter.integer(300)
    var attestationLevel = DERWriter.enumerated(1)
    var keymintVersion = DERWriter.integer(300)
    var keymintLevel = DERWriter.enumerated(1)
    var challenge = DERWriter.octetString(AndroidTestChain.nonce)
    var uniqueID = DERWriter.octetString([])
    var software: Tags = [
        (701, DERWriter.integer(1_772_323_200_000)), (709, DERWriter.octetString(application())),
    ]
    var hardware: Tags = [
        (1, DERWriter.set(DERWriter.integer(2))), (2, DERWriter.integer(3)), (3, DERWriter.integer(256)),
        (5, DERWriter.set(DERWriter.integer(4))), (10, DERWriter.integer(1)), (503, DERWriter.null),
        (702, DERWriter.integer(0)), (704, root()), (705, DERWriter.integer(160000)),
        (706, DERWriter.integer(202602)), (718, DERWriter.integer(20_260_205)), (719, DERWriter.integer(20_260_205)),
    ]
    /// Whole elements behind the others of the hardware list.
    var tail: [UInt8] = []

    static func application(
        packages: [String] = [AndroidTestChain.package], digests: [[UInt8]] = [AndroidTestChain.signer]
    ) -> [UInt8] {
        let names = packages.map { DERWriter.sequence(DERWriter.octetString(Array($0.utf8)), DERWriter.integer(7)) }
        return DERWriter.sequence(DERWriter.set(names), DERWriter.set(digests.map(DERWriter.octetString)))
    }

    static func root(
        key: [UInt8] = [UInt8](repeating: 0x5A, count: 32), locked: [UInt8] = [0x01, 0x01, 0xFF], state: Int64 = 0,
        hash: [UInt8]? = [UInt8](repeating: 0xA5, count: 32)
    ) -> [UInt8] {
        let hash = hash.map(DERWriter.octetString) ?? []
        return DERWriter.sequence(DERWriter.octetString(key), locked, DERWriter.enumerated(state), hash)
    }

    mutating func set(_ tag: UInt64, _ value: [UInt8]) {
        remove(tag)
        hardware.append((tag, value))
        hardware.sort { $0.tag < $1.tag }
    }

    mutating func remove(_ tag: UInt64) { hardware.removeAll { $0.tag == tag } }

    mutating func setLevels(_ level: Int64) {
        attestationLevel = DERWriter.enumerated(level)
        keymintLevel = DERWriter.enumerated(level)
    }

    func written() -> [UInt8] {
        func list(_ tags: Tags) -> [[UInt8]] { tags.map { DERWriter.explicit($0.tag, $0.value) } }
        return DERWriter.sequence(
            attestationVersion, attestationLevel, keymintVersion, keymintLevel, challenge, uniqueID,
            DERWriter.sequence(list(software)), DERWriter.sequence(list(hardware) + [tail]))
    }

    /// The whole Extension.
    func asExtension() -> [UInt8] { CertificateBuilder.extension("1.3.6.1.4.1.11129.2.1.17", written()) }
}

/// A chain of a phone that does not exist, with an own root, right by default.
struct AndroidTestChain: Sendable {
    /// Pairs that are shared, since making them takes long.
    struct Keys: Sendable {
        let root, upper, middle, batch, leaf, attest, forged: TestSigningKey

        static let shared = Result { try Keys() }

        private init() throws {
            (root, upper, middle) = (try TestSigningKey(.p384), try TestSigningKey(.p384), try TestSigningKey(.p256))
            (batch, leaf, attest, forged) = (
                try TestSigningKey(), try TestSigningKey(), try TestSigningKey(), try TestSigningKey()
            )
        }
    }

    static let now: Int64 = 1_772_323_200
    static let nonce = [UInt8](0x80..<0xA0)
    static let package = "com.example.app"
    static let signer = [UInt8](repeating: 0xC7, count: 32)

    let keys: Keys
    var description = KeyDescriptionWriter()
    var leaf: CertificateBuilder
    var batch: CertificateBuilder
    /// From the batch or attestation certificate up, without it: intermediates, then the root.
    var above: [CertificateBuilder]
    var leafSigner: TestSigningKey

    private static let keystore = CertificateBuilder.name("Android Keystore Key")
    static let root = CertificateBuilder.name([("2.5.4.5", "0badcafe0badcafe")])
    static let serial: [UInt8] = [0x0A, 0xBC, 0xDE, 0xF0, 0x12]

    /// A factory chain: leaf, batch, intermediate, root.
    init(level: String = "TEE") throws {
        keys = try Keys.shared.get()
        let batchName = CertificateBuilder.name([("2.5.4.5", "00C0FFEE"), ("2.5.4.12", level)])
        let upperName = CertificateBuilder.name([("2.5.4.5", "0d0d"), ("2.5.4.12", level)])
        leaf = CertificateBuilder(
            subject: Self.keystore, issuer: batchName, publicKey: keys.leaf.subjectPublicKeyInfo)
        (leaf.notBefore, leaf.notAfter) = (0, -1)
        batch = .authority(batchName, issuer: upperName, key: keys.batch)
        var upper = CertificateBuilder.authority(upperName, issuer: Self.root, key: keys.upper)
        upper.serial = DERWriter.unsignedInteger([0x77])
        above = [upper, .authority(Self.root, key: keys.root)]
        batch.serial = DERWriter.unsignedInteger(Self.serial)
        leafSigner = keys.batch
        if level == "StrongBox" { description.setLevels(2) }
    }

    /// A remotely provisioned chain: leaf, attestation certificate, CA3, CA2, root.
    init(remote level: String) throws {
        try self.init(level: level)
        let name = CertificateBuilder.name([("2.5.4.10", level), ("2.5.4.3", "abcdef012")])
        let third = CertificateBuilder.name("Droid CA3", organization: "Google LLC")
        let second = CertificateBuilder.name("Droid CA2", organization: "Google LLC")
        leaf.issuer = name
        (batch.subject, batch.issuer) = (name, third)
        above = [
            .authority(third, issuer: second, key: keys.middle), .authority(second, issuer: Self.root, key: keys.upper),
            above[1],
        ]
        for index in above.indices { above[index].serial = DERWriter.unsignedInteger([0x70 + UInt8(index)]) }
        (batch.notBefore, batch.notAfter) = (Self.now - 1000, Self.now + 1000)
    }

    /// Everything given, so that no check is skipped.
    func policy() throws -> AndroidAttestationPolicy {
        var policy = AndroidAttestationPolicy()
        policy.challenge = Self.nonce
        policy.packages = [Self.package]
        policy.signerDigests = [Self.signer, [UInt8](repeating: 0xC8, count: 32)]
        policy.securityLevels = [.tee, .strongbox]
        policy.sdkKeysOnly = true
        let root = CertificateBuilder.authority(Self.root, key: keys.root)
        policy.extraRoots = [try Certificate(root.signed(by: keys.root))]
        return policy
    }

    /// The signed chain with its root.
    func signed() throws -> [[UInt8]] {
        var leaf = leaf
        leaf.extensions.append(description.asExtension())
        let uppers = above.count == 3 ? [keys.middle, keys.upper, keys.root] : [keys.upper, keys.root]
        var chain = [try leaf.signed(by: leafSigner), try batch.signed(by: uppers[0])]
        for (index, builder) in above.enumerated() {
            chain.append(try builder.signed(by: uppers[min(index + 1, uppers.count - 1)]))
        }
        return chain
    }

    /// An ATTEST_KEY between the leaf and the batch certificate.
    func signedWithAttestKey(_ change: (inout KeyDescriptionWriter) -> Void = { _ in }) throws -> [[UInt8]] {
        var upper = description
        upper.set(1, DERWriter.set(DERWriter.integer(7)))
        change(&upper)
        var middle = CertificateBuilder(
            subject: Self.keystore, issuer: leaf.issuer, publicKey: keys.attest.subjectPublicKeyInfo)
        middle.extensions = [CertificateBuilder.keyUsage([], unused: 0), upper.asExtension()]
        var own = self
        own.leaf.issuer = Self.keystore
        own.leafSigner = keys.attest
        var chain = try own.signed()
        chain.insert(try middle.signed(by: keys.batch), at: 1)
        return chain
    }

    /// A forged certificate below the genuine leaf, signed by the key of that leaf.
    func signedWithForgery() throws -> [[UInt8]] {
        var forged = CertificateBuilder(
            subject: Self.keystore, issuer: leaf.subject, publicKey: keys.forged.subjectPublicKeyInfo)
        forged.extensions = [description.asExtension()]
        return try [forged.signed(by: keys.leaf)] + signed()
    }
}
