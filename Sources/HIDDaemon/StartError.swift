// SPDX-License-Identifier: Apache-2.0

/// Why a daemon did not start.
package enum StartError: Error, CustomStringConvertible {
    /// Something a referenced file says: exit code 78.
    case configuration(String)
    /// Something the machine refuses: exit code 1.
    case startup(String)

    package var description: String {
        switch self {
        case .configuration(let message), .startup(let message): message
        }
    }
}
