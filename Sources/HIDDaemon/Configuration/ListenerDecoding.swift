// SPDX-License-Identifier: Apache-2.0
package import HIDService

/// The sections that every daemon has.
extension MappingReader {
    /// `listeners`: at least one, no two alike; reads the files of their TLS.
    package func listeners(paths: ConfigurationPaths) -> [ListenerConfiguration] {
        var seen: [AddressText: Mark] = [:]
        var listeners: [ListenerConfiguration] = []
        for value in required("listeners")?.nonEmptyList() ?? [] {
            value.mapping { listener in
                let tls = listener.value("tls")?.mapping { $0.listenerTLS(paths: paths) } ?? nil
                let blocks = listener.value("trusted_proxies")?.list()
                let trusted = (blocks ?? []).compactMap { $0.addressBlock() }
                let proxyProtocol = listener.value("proxy_protocol")
                let expectsHeader = proxyProtocol?.bool() ?? false
                guard let value = listener.required("address"), let address = value.address() else { return }
                if let first = seen[address], !address.isAnyPort {
                    value.error("duplicate listener, first on line \(first.line)")
                }
                seen[address] = value.mark
                var result = ListenerConfiguration(address: address)
                result.trustedProxies = trusted
                result.tls = tls
                result.proxyProtocol = expectsHeader
                let isListed = listener.keyMark("trusted_proxies") != nil && blocks?.isEmpty != true
                if expectsHeader, !address.isLocal, !isListed {
                    proxyProtocol?.error(
                        "'proxy_protocol' lets whoever connects choose the client's address: list the proxies in "
                            + "'trusted_proxies', or listen on a loopback address or a unix socket")
                }
                listeners.append(result)
            }
        }
        return listeners
    }

    /// The inside of `admin`; `existingFile` resolves a path and reports one that is not there.
    package func admin(
        beside listeners: [ListenerConfiguration], existingFile: (ConfigurationValue) -> String?
    ) -> AdminConfiguration? {
        let tokenFile = value("token_file").flatMap(existingFile)
        guard let value = required("address"), let address = value.address() else { return nil }
        if case .tcp(let host, _) = address, !HostName.isLoopback(host), keyMark("token_file") == nil {
            value.error("an admin address that is not loopback needs 'token_file'")
        }
        if listeners.contains(where: { $0.address == address && !address.isAnyPort }) {
            value.error("the admin address is also the address of a listener")
        }
        var admin = AdminConfiguration(address: address)
        admin.tokenFile = tokenFile
        return admin
    }

    /// The inside of `timeouts`.
    package func timeouts() -> TimeoutsConfiguration {
        var timeouts = TimeoutsConfiguration()
        timeouts.header = value("header")?.duration() ?? timeouts.header
        timeouts.bodyIdle = value("body_idle")?.duration() ?? timeouts.bodyIdle
        timeouts.keepAlive = value("keep_alive")?.duration() ?? timeouts.keepAlive
        timeouts.write = value("write")?.duration() ?? timeouts.write
        timeouts.drain = value("drain")?.duration() ?? timeouts.drain
        return timeouts
    }
}

extension ConfigurationValue {
    /// An address block like 10.0.0.0/8, without bits beyond its prefix.
    func addressBlock() -> AddressBlock? {
        guard let text = scalar("an address block like 10.0.0.0/8") else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let (octets, isIPv4) = IPAddressText.octets(parts[0]) else {
            mustBe("an address block like 10.0.0.0/8")
            return nil
        }
        let bits = isIPv4 ? 32 : 128
        guard let length = parts.count == 1 ? bits : ScalarText.integer(parts[1].utf8), length <= bits else {
            error("the prefix length of \(text.quoted) must be from 0 to \(bits)")
            return nil
        }
        let block = AddressBlock(masking: octets, prefixLength: 128 - bits + length)
        guard block.prefix == octets else {
            error("\(text.quoted) has bits set beyond its prefix length")
            return nil
        }
        return block
    }
}

extension AddressText {
    /// Port 0: each listener gets a port of its own.
    package var isAnyPort: Bool {
        if case .tcp(_, 0) = self { return true }
        return false
    }

    /// Whether only programs on this machine can connect, as far as the address says.
    var isLocal: Bool {
        switch self {
        case .tcp(let host, _): HostName.isLoopback(host)
        case .unix: true
        case .descriptor: false
        }
    }

    /// As it stands in the configuration.
    package var text: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .descriptor(let name): "fd:\(name)"
        }
    }
}

extension AddressBlock {
    /// The block of that length that holds an address of 16 octets.
    init(masking octets: [UInt8], prefixLength: Int) {
        let masked = octets.enumerated().map { index, octet in
            let bits = min(8, max(0, prefixLength - index * 8))
            return octet & ~UInt8(truncatingIfNeeded: 0xFF >> bits)
        }
        self.init(prefix: masked, prefixLength: prefixLength)
    }
}
