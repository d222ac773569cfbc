// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDDaemon
package import HIDService

extension IssuerConfiguration {
    /// Reads his.yaml and the key and certificate files it names.
    ///
    /// Gives nil after any error; warnings leave a configuration. Reads files, so not for event loops.
    package static func load(path: String) -> (IssuerConfiguration?, Diagnostics) {
        let reporter = Reporter()
        let decoder = IssuerDecoder(path: path, reporter: reporter)
        decoder.decode()
        let diagnostics = reporter.diagnostics
        return (diagnostics.hasErrors ? nil : decoder.configuration, diagnostics)
    }
}

/// One run over his.yaml; apps and attestation are in extensions beside it.
final class IssuerDecoder {
    let reporter: Reporter
    let path: String
    let paths: ConfigurationPaths
    var configuration = IssuerConfiguration()

    init(path: String, reporter: Reporter) {
        self.path = path
        self.reporter = reporter
        paths = ConfigurationPaths(relativeTo: path)
    }

    func decode() {
        let start = Mark(file: path, line: 1, column: 1)
        let bytes: [UInt8]
        do throws(SystemFault) {
            bytes = try FileSystem.contents(of: path, limit: YAMLLimits().bytes)
        } catch {
            return reporter.error("cannot read \(path.quoted): \(error)", at: start)
        }
        guard let root = YAMLParser.parse(bytes, file: path, reporter: reporter) else { return }
        ConfigurationValue(root, name: "", reporter: reporter).mapping(decodeRoot)
    }

    private func decodeRoot(_ map: MappingReader) {
        if let version = map.required("version"), let number = version.scalar("1"), number != "1" {
            version.mustBe("1")
        }
        configuration.listeners = map.listeners(paths: paths)
        configuration.issuer = map.required("issuer").flatMap(issuerName) ?? ""
        map.required("signing_keys")?.mapping { keys in
            configuration.keyDirectory = keys.required("directory")?.string().map(paths.resolved) ?? ""
        }
        map.required("store")?.mapping(decodeStore)
        map.value("token")?.mapping { token in
            let life = token.value("life")?.duration(in: .seconds(5) ... .seconds(60))
            configuration.tokenLife = life ?? configuration.tokenLife
        }
        decodeApps(map)
        map.value("attestation")?.mapping(decodeAttestation)
        map.value("rate_limits")?.mapping(decodeRateLimits)
        map.value("admin")?.mapping { admin in
            configuration.admin = admin.admin(beside: configuration.listeners, existingFile: paths.existingFile)
        }
        configuration.timeouts = map.value("timeouts")?.mapping { $0.timeouts() } ?? configuration.timeouts
        configuration.loops = map.value("loops")?.integer(in: 0...256) ?? 0
    }

    /// What stands in `iss`: a URL by custom, but compared byte for byte.
    private func issuerName(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        guard text.utf8.count <= 512 else {
            value.mustBe("at most 512 octets")
            return nil
        }
        return text
    }

    private func decodeStore(_ map: MappingReader) {
        let path = map.value("path")
        guard let kind = map.required("kind"), let word = kind.scalar("memory, sqlite or redis") else { return }
        switch word {
        case "memory":
            if let mark = map.keyMark("path") { reporter.error("'path' needs kind sqlite", at: mark) }
        case "sqlite":
            guard let path else {
                return reporter.error("store kind sqlite needs 'path'", at: map.mark)
            }
            if let text = path.string() { configuration.store = .sqlite(path: paths.resolved(text)) }
        case "redis":
            _ = map.value("url")
            kind.error("store kind \(word.quoted) is not available in this version")
        default: kind.refuseWord(word, known: ["memory", "sqlite", "redis"])
        }
    }

    private func decodeRateLimits(_ map: MappingReader) {
        let limits = configuration.rateLimits
        configuration.rateLimits.perClient = map.value("per_client")?.rate() ?? limits.perClient
        configuration.rateLimits.perDevice = map.value("per_device")?.rate() ?? limits.perDevice
        configuration.rateLimits.attestations = map.value("attestations")?.rate() ?? limits.attestations
    }
}
