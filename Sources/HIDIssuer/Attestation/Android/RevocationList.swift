// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// Why a revocation list is not taken over.
package enum RevocationListFault: Error, Sendable, Equatable {
    /// Over 8 MiB.
    case tooLong
    /// No JSON that we accept.
    case json(StrictJSONFault)
    /// Another shape than `{"entries":{SERIAL:{"status":TEXT,...}}}`.
    case shape
    /// A serial number that is not hexadecimal.
    case serial
}

/// The certificates of attestation chains that Google withdrew (https://android.googleapis.com/attestation/status).
///
/// Serial numbers are compared as numbers: lower-case hex without leading zeros, as Google writes them. Every entry
/// refuses; nothing in it, `expires` included, makes an exception.
package struct RevocationList: Sendable, Equatable {
    /// What an entry says.
    package enum Status: Sendable, Equatable {
        case revoked
        case suspended
        /// A word that is not known; counts as revoked.
        case unknown
    }

    package static let maximumSize = 8 << 20

    let entries: [String: Status]

    /// Reads a list in full; there is no list with a part of the entries.
    package init(json: [UInt8]) throws(RevocationListFault) {
        guard json.count <= Self.maximumSize else { throw .tooLong }
        let document: StrictJSON
        do throws(StrictJSONFault) {
            document = try StrictJSON(json, limits: StrictJSON.Limits(depth: 8, members: 200_000))
        } catch { throw .json(error) }
        guard let list = document.member("entries", of: document.root), document.kind(list) == .object else {
            throw .shape
        }
        var found: [String: Status] = [:]
        for (name, value) in document.members(of: list) {
            guard let serial = Hex.normalise(document.bytes[name]) else { throw .serial }
            guard let word = document.member("status", of: value), document.kind(word) == .string else {
                throw .shape
            }
            let status: Status =
                document.isText(word, "REVOKED") ? .revoked : document.isText(word, "SUSPENDED") ? .suspended : .unknown
            // Two spellings of one number: the worse counts.
            found[serial] = found[serial] == nil || found[serial] == .suspended ? status : found[serial]
        }
        entries = found
    }

    /// The number of entries.
    package var count: Int { entries.count }

    /// What the list says of a serial number in minimal lower-case hex.
    package func status(ofSerial serial: String) -> Status? { entries[serial] }
}
