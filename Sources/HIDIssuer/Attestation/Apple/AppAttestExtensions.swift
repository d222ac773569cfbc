// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// What iOS 27 and later append to authenticator data about the app that asks.
///
/// Members that are not known are counted and otherwise ignored. Source: Apple, "Validating apps that connect to
/// your server".
struct AppAttestExtensions: Sendable, Equatable {
    /// How the app came onto the device.
    ///
    /// 1 part of the system, 2 TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc, 6 Developer ID, 10
    /// another way.
    var validationCategory: UInt32?
    /// CFBundleVersion of the app, at most 255 octets.
    var bundleVersion: String?
    /// How many further members there are.
    var unknownCount = 0

    init() {}

    /// Reads the map; nil when it is none, or when a known member has another type or length.
    init?(_ item: CBOR) {
        guard let entries = item.entries(of: item.root) else { return nil }
        for (key, value) in entries {
            if item.isText(key, "apple_validation_category_01") {
                guard let octets = item.octetArray(value), octets.count == 4 else { return nil }
                validationCategory = octets.reversed().reduce(0) { $0 << 8 | UInt32($1) }
            } else if item.isText(key, "apple_bundle_version_01") {
                guard let range = item.text(value), range.count <= 255 else { return nil }
                bundleVersion = String(decoding: item.bytes[range], as: UTF8.self)
            } else {
                unknownCount += 1
            }
        }
    }
}
