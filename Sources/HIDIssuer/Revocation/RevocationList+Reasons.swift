// SPDX-License-Identifier: Apache-2.0

extension RevocationList {
    /// For each serial what a device that carries it is blocked for.
    var reasons: [String: String] {
        entries.mapValues { status in
            switch status {
            case .suspended: AttestationReason.suspended.rawValue
            case .revoked, .unknown: AttestationReason.revoked.rawValue
            }
        }
    }
}
