// SPDX-License-Identifier: Apache-2.0

/// What a process says to its parent when it ends.
///
/// The service manager does not start a daemon again after 64 and 78.
package enum ExitCode {
    package static let success: Int32 = 0
    /// A daemon could not start, or hidctl refused.
    package static let failure: Int32 = 1
    /// hidctl was called in a wrong way.
    package static let controlUsage: Int32 = 2
    /// A daemon was called in a wrong way (EX_USAGE).
    package static let usage: Int32 = 64
    /// A bug (EX_SOFTWARE).
    package static let bug: Int32 = 70
    /// The configuration is faulty (EX_CONFIG).
    package static let configuration: Int32 = 78
}
