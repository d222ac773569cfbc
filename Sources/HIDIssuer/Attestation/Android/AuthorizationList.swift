// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// One of the two lists of a KeyDescription: what is enforced, by software or by hardware.
///
/// Tags may come in any order and unknown ones are skipped, because phones do so; a tag twice is refused. Values of the
/// tags 710 to 717 and 723, which identify a phone, are checked for their form and dropped.
package struct AuthorizationList: Sendable, Equatable {
    package private(set) var purposes: [Int64]?
    package private(set) var algorithm: Int64?
    package private(set) var keySize: Int64?
    package private(set) var digests: [Int64]?
    package private(set) var curve: Int64?
    package private(set) var noAuthRequired = false
    package private(set) var userAuthType: Int64?
    package private(set) var allApplications = false
    /// Milliseconds since 1970 by the clock of the phone, which is often wrong.
    package private(set) var creation: Int64?
    package private(set) var origin: Int64?
    package private(set) var rootOfTrust: RootOfTrust?
    package private(set) var osVersion: Int64?
    package private(set) var osPatch: Int64?
    package private(set) var vendorPatch: Int64?
    package private(set) var bootPatch: Int64?
    package private(set) var applicationID: AttestationApplicationID?
    /// How many tags are in no version of the schema that is known here.
    package private(set) var unknownTags = 0
    /// Whether the tags stand in ascending order, as DER wants it.
    package private(set) var isOrdered = true

    /// Reads everything inside the SEQUENCE.
    init(_ reader: DERReader) throws(DERFault) {
        var fields = reader
        var seen: Set<UInt32> = []
        var last: UInt32 = 0
        while !fields.isAtEnd {
            let element = try fields.next()
            guard element.tag.tagClass == .context, element.tag.isConstructed else { throw .unexpectedTag }
            let number = element.tag.number
            guard seen.insert(number).inserted else { throw .value }
            if number < last { isOrdered = false }
            last = number
            let value = try fields.single(in: element)
            try read(number, value, in: fields)
        }
    }

    private mutating func read(_ tag: UInt32, _ value: DERValue, in fields: DERReader) throws(DERFault) {
        switch tag {
        case 1: purposes = try Self.integers(value, in: fields)
        case 2: algorithm = try fields.integer(value)
        case 3: keySize = try fields.integer(value)
        case 5: digests = try Self.integers(value, in: fields)
        case 10: curve = try fields.integer(value)
        case 503: noAuthRequired = try Self.flag(value)
        case 504: userAuthType = try fields.integer(value)
        case 600: allApplications = try Self.flag(value)
        case 701: creation = try fields.integer(value)
        case 702: origin = try fields.integer(value)
        case 704: rootOfTrust = try RootOfTrust(Self.opened(.sequence, value, in: fields))
        case 705: osVersion = try fields.integer(value)
        case 706: osPatch = try fields.integer(value)
        case 709:
            applicationID = try AttestationApplicationID(Array(fields.bytes[try fields.octetString(value)]))
        case 718: vendorPatch = try fields.integer(value)
        case 719: bootPatch = try fields.integer(value)
        default:
            try fields.check(value)
            if !Self.skipped.contains(tag) { unknownTags += 1 }
        }
    }

    private static func integers(_ value: DERValue, in fields: DERReader) throws(DERFault) -> [Int64] {
        var reader = try opened(.set, value, in: fields)
        var found: [Int64] = []
        while !reader.isAtEnd { found.append(try reader.integer(reader.next(.integer))) }
        return found
    }

    private static func opened(
        _ tag: DERTag, _ value: DERValue, in fields: DERReader
    ) throws(DERFault) -> DERReader {
        guard value.tag == tag else { throw .unexpectedTag }
        return try fields.inside(value)
    }

    private static func flag(_ value: DERValue) throws(DERFault) -> Bool {
        guard value.tag == .null, value.content.isEmpty else { throw .value }
        return true
    }

    /// Tags of the schema that nothing here depends on.
    private static let skipped: Set<UInt32> = [
        4, 6, 8, 11, 200, 203, 301, 302, 303, 305, 400, 401, 402, 405, 502, 505, 506, 507, 508, 509, 601, 700, 703,
        710, 711, 712, 713, 714, 715, 716, 717, 720, 721, 723, 724,
    ]
}
