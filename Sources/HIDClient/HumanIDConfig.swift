// SPDX-License-Identifier: Apache-2.0

/// Why a configuration is not accepted.
public enum HumanIDConfigError: Error, Sendable, Equatable {
    /// The application id is blank.
    case blankApplicationID
}
