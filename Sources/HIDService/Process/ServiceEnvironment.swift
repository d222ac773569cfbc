// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Variables of the process.
package enum ServiceEnvironment {
    package static func value(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// `$STATE_DIRECTORY`: the first one when the unit has several.
    package static var stateDirectory: String? {
        value("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
    }
}
