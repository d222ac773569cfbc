// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

extension ListenerSettings {
    /// What the configuration says of a listener; `tls` makes its sessions.
    package init(_ configuration: ListenerConfiguration, tls: ListenerTLSSource?) {
        self.init()
        let trusted = AddressSet(configuration.trustedProxies)
        isTrusted = { trusted.contains($0) }
        if let tls { self.tls = { tls.context } }
    }
}
