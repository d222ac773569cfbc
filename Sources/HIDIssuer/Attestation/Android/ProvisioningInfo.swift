// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// What the remote provisioning service says of a phone, in the extension of the attestation certificate.
///
/// A CBOR map: key 1 is the number of certificates that were issued to this phone lately, key 3 the maker. A hint that
/// decides nothing: certificates of 2023 lack it.
struct ProvisioningInfo: Equatable {
    /// A high number is a sign of a farm; phones have 8 to 64.
    let certificatesIssued: UInt64?

    /// Reads the value of the extension; nil when it is no CBOR map.
    init?(_ value: [UInt8]) {
        guard let map = try? CBOR(value), map.kind(map.root) == .map else { return nil }
        certificatesIssued = map.value(of: map.root, 1).flatMap(map.unsigned)
    }
}
