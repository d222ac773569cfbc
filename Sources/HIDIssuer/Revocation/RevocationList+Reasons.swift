// SPDX-License-Identifier: Apache-2.0

extension RevocationList {
    /// For each serial what a device that carries it is blocked for.
    var reasons: [String: String] { entries.mapValues(Self.reason) }

    /// The same for those of some serials that are on the list.
    func reasons(among serials: [String]) -> [String: String] {
        var found: [String: String] = [:]
        for serial in serials { found[serial] = status(ofSerial: serial).map(Self.reason) }
        return found
    }

    private static func reason(_ status: Status) -> String {
        switch status {
        case .suspended: AttestationReason.suspended.rawValue
        case .revoked, .unknown: AttestationReason.revoked.rawValue
        }
    }
}
