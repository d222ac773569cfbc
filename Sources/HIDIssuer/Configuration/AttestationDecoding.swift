// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDService

extension IssuerDecoder {
    func decodeAttestation(_ map: MappingReader) {
        configuration.attestation.androidRoots = roots(map.value("android_roots"))
        configuration.attestation.appleRoots = roots(map.value("ios_roots"))
        configuration.attestation.revocationList = map.value("revocation_list")?.mapping(decodeRevocationList)
        configuration.attestation.allowsAttestKey = map.value("attest_key")?.bool() ?? false
        configuration.attestation.sdkKeysOnly = map.value("sdk_keys_only")?.bool() ?? true
    }

    /// `builtin` and PEM files; only what is listed is trusted.
    private func roots(_ value: ConfigurationValue?) -> AttestationConfiguration.Roots {
        guard let elements = value?.nonEmptyList() else { return AttestationConfiguration.Roots() }
        var roots = AttestationConfiguration.Roots(builtin: false)
        for element in elements {
            if case .scalar("builtin", _) = element.node.content {
                roots.builtin = true
                continue
            }
            guard let pem = paths.contents(element, limit: 1 << 20) else { continue }
            guard let certificates = try? PEM.blocks(pem, label: "CERTIFICATE") else {
                element.error("\(element.name.quoted): \(element.node.shown) must hold certificates in PEM")
                continue
            }
            for (index, der) in certificates.enumerated() where (try? Certificate(der)) == nil {
                element.error(
                    "\(element.name.quoted): certificate \(index + 1) of \(element.node.shown) cannot be read")
            }
            roots.extra += certificates
        }
        return roots
    }

    private func decodeRevocationList(_ map: MappingReader) -> RevocationListConfiguration {
        var list = RevocationListConfiguration()
        if let url = map.value("url"), let text = url.url(), case .scalar(let written, _) = url.node.content {
            if !text.isTLS, !HostName.isLoopback(text.host) {
                url.error("'url' of 'revocation_list' must be https unless its host is a loopback address")
            }
            list.url = written
        }
        let file = map.value("file")
        // With a URL the file is ours to write, so it need not be there yet.
        list.file = list.url == nil ? file.flatMap(paths.existingFile) : file?.string().map(paths.resolved)
        // An installation without network could not fetch it.
        list.snapshot = map.value("snapshot").flatMap(paths.optionalFile)
        if map.keyMark("url") == nil, map.keyMark("file") == nil {
            reporter.error("'revocation_list' needs 'url' or 'file'", at: map.mark)
        }
        list.maximumAge = map.value("max_age")?.duration() ?? list.maximumAge
        list.whenStale = map.value("when_stale")?.word(RevocationListConfiguration.Staleness.self) ?? list.whenStale
        return list
    }
}
