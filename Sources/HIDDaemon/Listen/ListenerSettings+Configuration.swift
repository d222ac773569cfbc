// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

extension ListenerSettings {
    /// What the configuration says of a listener; `tls` makes its sessions.
    package init(_ configuration: ListenerConfiguration, tls: ListenerTLSSource?) {
        self.init()
        let trusted = AddressSet(configuration.trustedProxies)
        isTrusted = { trusted.contains($0) }
        expectsProxyHeader = configuration.proxyProtocol
        // Without a list the address is of this machine, whose processes are all believed.
        maySendProxyHeader = { $0.isLocal || trusted.isEmpty || trusted.contains($0) }
        if let tls { self.tls = { tls.context } }
    }
}
