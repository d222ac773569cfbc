// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// The authenticator data that App Attest signs or hashes, taken apart and not judged.
///
/// The flags are kept as they are: Apple sets 0x40 with and without credential data, and appends extensions while the
/// bit that would announce them is clear. What follows is decided by who reads: an attestation or an assertion.
/// Source: W3C Web Authentication section 6.1; Apple, "Validating apps that connect to your server".
struct AuthenticatorData: Sendable, Equatable {
    /// Why octets are no authenticator data.
    enum Fault: Error, Sendable, Equatable {
        case truncated
        /// The key identifier has not 32 octets.
        case keyIDLength
        /// Not the COSE map of a P-256 signature key with coordinates of 32 octets each.
        case key
        /// What follows is not exactly one map of extensions.
        case extensions
    }

    /// What an attestation has and an assertion has not.
    struct Credential: Sendable, Equatable {
        /// 16 octets.
        var aaguid: [UInt8]
        /// 32 octets.
        var keyID: [UInt8]
        /// Uncompressed point, 65 octets; not checked to be on the curve.
        var point: [UInt8]
    }

    /// Hash, flags and counter.
    private static let headLength = 37

    /// SHA-256 of `TEAM.BUNDLE`, 32 octets.
    var appIDHash: [UInt8]
    var flags: UInt8
    var counter: UInt32
    var credential: Credential?
    var extensions = AppAttestExtensions()

    /// Reads what an attestation object holds.
    init(attestation octets: [UInt8]) throws(Fault) {
        try self.init(head: octets)
        // AAGUID 16, length of the identifier 2.
        let start = Self.headLength + 18
        guard octets.count >= start else { throw .truncated }
        guard octets[start - 2] == 0, octets[start - 1] == 32 else { throw .keyIDLength }
        guard octets.count >= start + 32 else { throw .truncated }
        let (point, end) = try Self.readKey(octets, at: start + 32)
        credential = Credential(
            aaguid: Array(octets[Self.headLength..<start - 2]), keyID: Array(octets[start..<start + 32]), point: point)
        try readExtensions(octets, at: end)
    }

    /// Reads what an assertion holds.
    init(assertion octets: [UInt8]) throws(Fault) {
        try self.init(head: octets)
        try readExtensions(octets, at: Self.headLength)
    }

    private init(head octets: [UInt8]) throws(Fault) {
        guard octets.count >= Self.headLength else { throw .truncated }
        appIDHash = Array(octets[0..<32])
        flags = octets[32]
        counter = octets[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads `{1: 2, 3: -7, -1: 1, -2: x, -3: y}` (RFC 9053 sections 2.1 and 7.1.1): EC2, ES256, P-256.
    private static func readKey(_ octets: [UInt8], at offset: Int) throws(Fault) -> (point: [UInt8], end: Int) {
        guard let item = try? CBOR(prefixOf: octets, from: offset, limits: .init(depth: 1, items: 16)) else {
            throw .key
        }
        let root = item.root
        let expected: [(label: Int64, value: Int64)] = [(1, 2), (3, -7), (-1, 1)]
        for (label, value) in expected {
            guard let node = item.value(of: root, label), item.integer(node) == value else { throw .key }
        }
        guard item.entries(of: root)?.count == 5,
            let x = item.value(of: root, -2), let xOctets = item.octetArray(x), xOctets.count == 32,
            let y = item.value(of: root, -3), let yOctets = item.octetArray(y), yOctets.count == 32
        else { throw .key }
        return ([0x04] + xOctets + yOctets, item.end)
    }

    private mutating func readExtensions(_ octets: [UInt8], at offset: Int) throws(Fault) {
        guard offset < octets.count else { return }
        guard let item = try? CBOR(prefixOf: octets, from: offset, limits: .init(depth: 4, items: 64)),
            item.end == octets.count, let read = AppAttestExtensions(item)
        else { throw .extensions }
        extensions = read
    }
}
