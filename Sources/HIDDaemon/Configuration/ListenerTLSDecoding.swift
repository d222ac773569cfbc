// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto
internal import HIDService

/// Where the files of a section `tls` stand in the configuration.
private struct ListenerTLSMarks {
    struct Identity {
        var certificate: ConfigurationValue?
        var key: ConfigurationValue?
    }

    var whole: Mark
    var identity = Identity()
    var named: [Identity] = []
    var clientAuthorities: ConfigurationValue?

    /// Where a fault of a file is shown.
    func mark(of role: TLSContextFault.Role) -> Mark {
        func files(_ index: Int?) -> Identity? {
            guard let index else { return identity }
            return named.indices.contains(index) ? named[index] : nil
        }
        let value: ConfigurationValue? =
            switch role {
            case .certificate(let index): files(index)?.certificate
            case .key(let index): files(index)?.key
            case .names(let index): files(index)?.certificate
            case .clientAuthorities: clientAuthorities
            case .library: nil
            }
        return value?.mark ?? whole
    }
}

extension MappingReader {
    /// The inside of a listener's `tls`; reads its files, so that a fault in them is found before anything runs.
    func listenerTLS(paths: ConfigurationPaths) -> ListenerTLSConfiguration? {
        let before = reporter.diagnostics.errorCount
        var marks = ListenerTLSMarks(whole: mark)
        let identity = tlsIdentity(paths, &marks.identity)
        let named = tlsNames(paths, &marks)
        let authorities = value("client_ca")
        marks.clientAuthorities = authorities
        let authoritiesFile = authorities.flatMap(paths.existingFile)
        let authentication = value("client_auth")?.word(TLSClientAuthentication.self)
        if let mark = keyMark("client_auth"), authorities == nil {
            reporter.error("'client_auth' needs 'client_ca'", at: mark)
        }
        let protocols = tlsProtocols()
        let version = value("min_version")?.word(TLSVersion.self)
        guard let identity else { return nil }
        var tls = ListenerTLSConfiguration(identity: identity)
        tls.named = named
        tls.clientAuthorities = authoritiesFile
        tls.clientAuthentication = authentication ?? tls.clientAuthentication
        tls.protocols = protocols ?? tls.protocols
        tls.minimumVersion = version ?? tls.minimumVersion
        if reporter.diagnostics.errorCount == before { checkFiles(of: tls, marks) }
        return tls
    }

    private func tlsIdentity(
        _ paths: ConfigurationPaths, _ marks: inout ListenerTLSMarks.Identity
    ) -> ListenerTLSConfiguration.Identity? {
        marks = .init(certificate: required("certificate"), key: required("key"))
        let certificate = marks.certificate.flatMap(paths.existingFile)
        guard let key = marks.key.flatMap(paths.existingFile), let certificate else { return nil }
        return .init(certificate: certificate, key: key)
    }

    private func tlsNames(
        _ paths: ConfigurationPaths, _ marks: inout ListenerTLSMarks
    ) -> [ListenerTLSConfiguration.Named] {
        var seen: [String: Mark] = [:]
        var found: [ListenerTLSConfiguration.Named] = []
        for value in value("sni")?.list() ?? [] {
            value.mapping { element in
                var names: [String] = []
                for name in element.required("names")?.nonEmptyList() ?? [] {
                    guard let text = name.string() else { continue }
                    guard let pattern = TLSServerName.normalisedPattern(text) else {
                        name.mustBe("a host name, or *. and a host name")
                        continue
                    }
                    if let first = seen[pattern] {
                        name.error("duplicate server name \(text.quoted), first on line \(first.line)")
                    }
                    seen[pattern] = name.mark
                    names.append(pattern)
                }
                var identityMarks = ListenerTLSMarks.Identity()
                guard let identity = element.tlsIdentity(paths, &identityMarks) else { return }
                marks.named.append(identityMarks)
                found.append(.init(names: names, identity: identity))
            }
        }
        return found
    }

    /// `alpn`: at least one word, none twice.
    private func tlsProtocols() -> [TLSApplicationProtocol]? {
        guard let elements = value("alpn")?.nonEmptyList() else { return nil }
        var protocols: [TLSApplicationProtocol] = []
        for element in elements {
            guard let word = element.word(TLSApplicationProtocol.self) else { continue }
            if protocols.contains(word) { element.error("duplicate protocol \(word.rawValue.quoted)") }
            protocols.append(word)
        }
        return protocols
    }

    /// Loads what would be served, and says what is wrong or odd where the file is named.
    private func checkFiles(of tls: ListenerTLSConfiguration, _ marks: ListenerTLSMarks) {
        let identities = [(tls.identity, marks.identity)] + zip(tls.named.map(\.identity), marks.named)
        for (identity, marks) in identities where !Self.isPrivate(identity.key) {
            marks.key?.warning("'key': others than its owner may read \(identity.key.quoted): chmod 600")
        }
        do {
            let context = try ListenerTLS.read(tls, tickets: try ListenerTLS.makeTicketKeys())
            for remark in context.remarks {
                reporter.warning(ListenerTLS.text(remark, in: tls), at: marks.mark(of: remark.role))
            }
        } catch let fault as ListenerTLSFault {
            reporter.error(fault.description, at: marks.mark(of: fault.role))
        } catch {
            reporter.error("\(error)", at: mark)
        }
    }

    private static func isPrivate(_ file: String) -> Bool {
        do throws(SystemFault) {
            try FileSystem.requirePrivate(at: file)
            return true
        } catch {
            return false
        }
    }
}
