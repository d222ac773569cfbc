// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// What the TLS sessions of a listener have in common: identities, policy, ticket keys.
///
/// Immutable and shared by all loops; a reload makes a new one. Sessions keep the one they were made with.
package final class TLSServerContext: Sendable {
    /// The default identity first, then the others in their order.
    package let certificates: [TLSCertificateFacts]
    /// What works, but not as an operator will have meant it.
    package let remarks: [TLSRemark]
    /// In the server's order of preference.
    package let protocols: [TLSApplicationProtocol]

    let tickets: TLSTicketKeys
    /// Seconds since 1970.
    let wallClock: @Sendable () -> Int64
    /// The octets of `protocols`.
    let protocolNames: [[UInt8]]
    private let main: TLSLibraryContext
    private let others: [TLSLibraryContext]
    private let names: TLSServerNames
    /// What a session must have in common with a connection that resumes it, but for the server name.
    private let sessionScope: [UInt8]

    /// Reads and checks everything.
    ///
    /// - Parameters:
    ///   - settings: Files as they were read, and policy.
    ///   - tickets: The same for each context of a listener, or a reload ends all resumption.
    ///   - wallClock: Seconds since 1970; for remarks on dates, and for certificates of clients that resume.
    /// - Throws: The first fault, with the file it is in.
    package init(
        _ settings: TLSServerSettings, tickets: TLSTicketKeys, wallClock: @escaping @Sendable () -> Int64
    ) throws(TLSContextFault) {
        let now = wallClock()
        let authorities: TLSClientAuthorities? =
            if let pem = settings.clientAuthorities { try TLSClientAuthorities(pem: pem) } else { nil }
        let files = try TLSIdentityFiles(settings.identity, index: nil)
        main = try TLSLibraryContext(files, index: nil, settings: settings, authorities: authorities)
        var facts = [TLSCertificateFacts(name: "default", files.leaf)]
        var remarks = files.remarks(names: [], index: nil, now: now)
        var others: [TLSLibraryContext] = []
        var names = TLSServerNames()
        for (index, named) in settings.named.enumerated() {
            let patterns = try Self.add(named.names, at: index, to: &names)
            let files = try TLSIdentityFiles(named.identity, index: index)
            others.append(
                try TLSLibraryContext(files, index: index, settings: settings, authorities: authorities))
            facts.append(TLSCertificateFacts(name: patterns.first ?? "", files.leaf))
            remarks += files.remarks(names: patterns, index: index, now: now)
        }
        for certificate in authorities?.certificates ?? [] {
            remarks += TLSIdentityFiles.dateRemarks(certificate, now: now).map {
                TLSRemark(role: .clientAuthorities, description: $0)
            }
        }
        (self.others, self.names, self.tickets, self.wallClock) = (others, names, tickets, wallClock)
        (certificates, self.remarks, protocols) = (facts, remarks, settings.protocols)
        protocolNames = settings.protocols.map { Array($0.rawValue.utf8) }
        sessionScope = Self.scope(authorities, settings.clientAuthentication)
    }

    private static func add(
        _ list: [String], at index: Int, to names: inout TLSServerNames
    ) throws(TLSContextFault) -> [String] {
        guard !list.isEmpty else { throw TLSContextFault(.names(index), "is an identity for no name") }
        var patterns: [String] = []
        for name in list {
            guard let pattern = TLSServerName.normalisedPattern(name) else {
                throw TLSContextFault(.names(index), "'\(name)' is no host name, nor one behind '*.'")
            }
            guard names.add(pattern, index: index) else {
                throw TLSContextFault(.names(index), "'\(name)' is there twice; a name has one certificate")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private static func scope(_ authorities: TLSClientAuthorities?, _ mode: TLSClientAuthentication) -> [UInt8] {
        guard let authorities else { return Array("no client certificates;".utf8) }
        return Array("\(mode.rawValue);".utf8) + authorities.digest
    }

    // MARK: - For sessions

    /// The context that a new session starts with.
    var initial: TLSLibraryContext { main }

    /// The context of a server name; nil means the default identity.
    func context(forName name: String?) -> TLSLibraryContext {
        guard let name, let index = names.index(of: name), index < others.count else { return main }
        return others[index]
    }

    /// The session id context: a ticket made in another one is not resumed.
    ///
    /// Holds the server name (RFC 6066 section 3 forbids resumption under another), the authorities of clients and
    /// whether they are required; 32 octets, the most that OpenSSL takes.
    func sessionIdentifier(forName name: String?) -> [UInt8] {
        let octets = sessionScope + [0] + Array((name ?? "").utf8)
        return SHA256.digest(octets.span)
    }
}
