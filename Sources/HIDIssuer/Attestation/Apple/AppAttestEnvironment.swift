// SPDX-License-Identifier: Apache-2.0

/// Which App Attest service attested a key; TestFlight and enterprise builds use the production one.
///
/// Source: Apple, "Validating apps that connect to your server" (AAGUID of the authenticator data).
package enum AppAttestEnvironment: String, Sendable, CaseIterable {
    case production
    case development

    /// Reads an AAGUID of 16 octets; nil for any other text than Apple's two.
    init?(aaguid: [UInt8]) {
        guard let match = Self.allCases.first(where: { $0.aaguid == aaguid }) else { return nil }
        self = match
    }

    /// The AAGUID in authenticator data.
    package var aaguid: [UInt8] {
        switch self {
        case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        case .development: Array("appattestdevelop".utf8)
        }
    }

    /// The word in a receipt.
    package var receiptName: String {
        switch self {
        case .production: "production"
        case .development: "sandbox"
        }
    }
}
