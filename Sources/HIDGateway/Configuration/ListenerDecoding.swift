// SPDX-License-Identifier: Apache-2.0
import HIDService

extension ConfigurationDecoder {
    func decodeListeners(_ map: MappingReader) {
        var seen: [ListenAddress: Mark] = [:]
        for value in map.required("listeners")?.nonEmptyList() ?? [] {
            value.mapping { listener in
                listener.notAvailable("tls", "proxy_protocol")
                let trusted = (listener.value("trusted_proxies")?.list() ?? []).compactMap(addressBlock)
                guard let value = listener.required("address"), let address = listenAddress(value) else { return }
                if let first = seen[address], !address.isAnyPort {
                    value.error("duplicate listener, first on line \(first.line)")
                }
                seen[address] = value.mark
                var result = ListenerConfiguration(address: address)
                result.trustedProxies = trusted
                configuration.listeners.append(result)
            }
        }
    }

    func decodeAdmin(_ map: MappingReader) {
        let tokenFile = map.value("token_file").flatMap(existingFile)
        guard let value = map.required("address"), let address = listenAddress(value) else { return }
        if case .tcp(let host, _) = address, !HostName.isLoopback(host), map.keyMark("token_file") == nil {
            value.error("an admin address that is not loopback needs 'token_file'")
        }
        if configuration.listeners.contains(where: { $0.address == address && !address.isAnyPort }) {
            value.error("the admin address is also the address of a listener")
        }
        var admin = AdminConfiguration(address: address)
        admin.tokenFile = tokenFile
        configuration.admin = admin
    }

    private func listenAddress(_ value: ConfigurationValue) -> ListenAddress? {
        switch value.address() {
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .unix(let path): .unix(path: path)
        case .descriptor(let name): .descriptor(name: name)
        case nil: nil
        }
    }

    private func addressBlock(_ value: ConfigurationValue) -> AddressBlock? {
        guard let text = value.scalar("an address block like 10.0.0.0/8") else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let (octets, isIPv4) = IPAddressText.octets(parts[0]) else {
            value.mustBe("an address block like 10.0.0.0/8")
            return nil
        }
        let bits = isIPv4 ? 32 : 128
        guard let length = parts.count == 1 ? bits : ScalarText.integer(parts[1].utf8), length <= bits else {
            value.error("the prefix length of \(text.quoted) must be from 0 to \(bits)")
            return nil
        }
        let block = AddressBlock(masking: octets, prefixLength: 128 - bits + length)
        guard block.prefix == octets else {
            value.error("\(text.quoted) has bits set beyond its prefix length")
            return nil
        }
        return block
    }
}

extension ListenAddress {
    /// Port 0: each listener gets a port of its own.
    var isAnyPort: Bool {
        if case .tcp(_, 0) = self { return true }
        return false
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
