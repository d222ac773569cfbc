// SPDX-License-Identifier: Apache-2.0
import HIDService

extension ConfigurationDecoder {
    func decodeIssuers(_ map: MappingReader) {
        guard let section = map.value("issuers") else { return }
        guard let values = section.list() else {
            lacksIssuers = false
            return
        }
        // Somebody who wrote an issuer with a fault has configured one.
        lacksIssuers = values.isEmpty
        var seen: [String: Mark] = [:]
        for value in values {
            value.mapping { issuer in
                guard let decoded = decodeIssuer(issuer) else { return }
                let mark = issuer.value("issuer")?.mark ?? issuer.mark
                if let first = seen[decoded.issuer] {
                    reporter.error(
                        "duplicate issuer \(decoded.issuer.quoted), first on line \(first.line)", at: mark)
                }
                seen[decoded.issuer] = mark
                configuration.issuers.append(decoded)
            }
        }
    }

    private func decodeIssuer(_ map: MappingReader) -> IssuerConfiguration? {
        let leeway = map.value("leeway")?.duration(in: .zero ... .seconds(300))
        let maximumLife = map.value("max_life")?.duration(in: .seconds(1) ... .seconds(7 * 86400))
        let name = map.required("issuer")?.string()
        let audience = map.required("audience")?.nonEmptyList()?.compactMap { $0.string() }
        let keys = map.required("jwks")?.mapping(decodeKeySetSource) ?? nil
        guard let name, let audience, let keys else { return nil }
        var issuer = IssuerConfiguration(issuer: name, audience: audience, keys: keys)
        issuer.leeway = leeway ?? issuer.leeway
        issuer.maximumLife = maximumLife ?? issuer.maximumLife
        return issuer
    }

    private func decodeKeySetSource(_ map: MappingReader) -> KeySetSource? {
        let maximumStale = map.value("max_stale")?.duration() ?? .seconds(3600)
        let cooldown = map.value("cooldown")?.duration() ?? .seconds(30)
        let file = map.value("file")
        let url = map.value("url")
        guard let url else {
            guard let file else {
                reporter.error("'jwks' needs 'url' or 'file'", at: map.mark)
                return nil
            }
            for key in ["max_stale", "cooldown"] {
                if let mark = map.keyMark(key) { reporter.error("\(key.quoted) needs 'url'", at: mark) }
            }
            return paths.existingFile(file).map { .file(path: $0) }
        }
        if let mark = map.keyMark("file") {
            reporter.error("'jwks' takes 'url' or 'file', not both", at: mark)
        }
        guard let text = url.url(), case .scalar(let written, _) = url.node.content else { return nil }
        guard text.isTLS || HostName.isLoopback(text.host) else {
            url.error("'url' of 'jwks' must be https unless its host is a loopback address")
            return nil
        }
        return .url(written, maximumStale: maximumStale, cooldown: cooldown)
    }
}
