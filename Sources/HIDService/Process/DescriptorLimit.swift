// SPDX-License-Identifier: Apache-2.0
import Glibc

/// RLIMIT_NOFILE: how many descriptors the process may hold (getrlimit(2)).
package enum DescriptorLimit {
    /// More than any configuration needs; the hard limit may be a billion, and tables grow with the soft one.
    private static let most: rlim_t = 1 << 21

    /// The soft limit.
    package static var current: Int { Int(clamping: limits.rlim_cur) }

    /// Raises the soft limit to the hard one and returns what it is then.
    ///
    /// Where that is refused the old one stays.
    @discardableResult
    package static func raise() -> Int {
        var wanted = limits
        let target = min(wanted.rlim_max, most)
        guard wanted.rlim_cur < target else { return current }
        wanted.rlim_cur = target
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
        return current
    }

    private static var limits: rlimit {
        var limits = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return limits
    }
}
