// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// The attestation extension of an Android key, versions 1 to 500 and later.
///
/// Source: https://source.android.com/docs/security/features/keystore/attestation, "Schema". Later versions add tags
/// and change no field, so that an unknown version is read like the known ones.
package struct KeyDescription: Sendable, Equatable {
    /// Where something lives (`SecurityLevel` of the schema).
    package enum Level: Int64, Sendable {
        case software = 0
        case tee = 1
        case strongbox = 2
    }

    /// The identifier of the extension: 1.3.6.1.4.1.11129.2.1.17.
    package static let oid = OID(1, 3, 6, 1, 4, 1, 11129, 2, 1, 17)

    package let attestationVersion: Int64
    package let attestationLevel: Level
    package let keymintVersion: Int64
    package let keymintLevel: Level
    package let challenge: [UInt8]
    package let softwareEnforced: AuthorizationList
    package let hardwareEnforced: AuthorizationList

    /// Reads the value of the extension.
    ///
    /// Refused: octets behind any value, forms that are not the shortest, a tag twice in one list, an INTEGER of more
    /// than 8 octets, more than 8 levels. The unique identifier and the tags of device-id attestation are not kept.
    package init(_ value: [UInt8]) throws(DERFault) {
        var fields = try DERReader.only(.sequence, in: value, depth: 8)
        attestationVersion = try fields.integer(fields.next(.integer))
        attestationLevel = try Self.level(&fields)
        keymintVersion = try fields.integer(fields.next(.integer))
        keymintLevel = try Self.level(&fields)
        challenge = fields.octets(try fields.next(.octetString))
        _ = try fields.next(.octetString)
        softwareEnforced = try AuthorizationList(fields.open(.sequence))
        hardwareEnforced = try AuthorizationList(fields.open(.sequence))
        try fields.finish()
    }

    /// The application that owns the key; the operating system supplies it, so it stands in the software list.
    package var applicationID: AttestationApplicationID? {
        softwareEnforced.applicationID ?? hardwareEnforced.applicationID
    }

    private static func level(_ fields: inout DERReader) throws(DERFault) -> Level {
        guard let level = Level(rawValue: try fields.integer(fields.next(.enumerated), .enumerated)) else {
            throw .range
        }
        return level
    }
}

/// Who asked for a key (`AttestationApplicationId` of the schema).
package struct AttestationApplicationID: Sendable, Equatable {
    /// Names of the packages that share the user id, as octets.
    package let packages: [[UInt8]]
    package let versions: [Int64]
    /// SHA-256 of the signing certificates.
    package let signerDigests: [[UInt8]]

    /// Reads the content of the OCTET STRING of tag 709.
    init(_ content: [UInt8]) throws(DERFault) {
        var fields = try DERReader.only(.sequence, in: content, depth: 4)
        var names = try fields.open(.set)
        var digests = try fields.open(.set)
        try fields.finish()
        var found: (packages: [[UInt8]], versions: [Int64], digests: [[UInt8]]) = ([], [], [])
        while !names.isAtEnd {
            var package = try names.open(.sequence)
            found.packages.append(package.octets(try package.next(.octetString)))
            found.versions.append(try package.integer(package.next(.integer)))
            try package.finish()
        }
        while !digests.isAtEnd { found.digests.append(digests.octets(try digests.next(.octetString))) }
        (packages, versions, signerDigests) = found
    }
}

/// How the phone was booted (`RootOfTrust` of the schema).
package struct RootOfTrust: Sendable, Equatable {
    package let verifiedBootKey: [UInt8]
    package let deviceLocked: Bool
    /// 0 verified, 1 self-signed, 2 unverified, 3 failed.
    package let verifiedBootState: Int64
    /// Absent before version 3.
    package let verifiedBootHash: [UInt8]?

    /// Reads everything inside the SEQUENCE; a flag of any octet but 0 is true, as phones write it.
    init(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        verifiedBootKey = fields.octets(try fields.next(.octetString))
        deviceLocked = try fields.lenientBoolean(fields.next(.boolean))
        verifiedBootState = try fields.integer(fields.next(.enumerated), .enumerated)
        verifiedBootHash = fields.isAtEnd ? nil : fields.octets(try fields.next(.octetString))
        try fields.finish()
    }
}
