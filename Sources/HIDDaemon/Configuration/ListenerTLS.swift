// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto
internal import HIDHTTP
internal import HIDService

/// What is wrong with the files of a listener's TLS.
package struct ListenerTLSFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which of the files.
    package let role: TLSContextFault.Role
    /// With the key of the configuration and the file.
    package let description: String
}

/// Reads the files of a section `tls`; blocks, so not for event loops.
package enum ListenerTLS {
    /// Octets of one file at most.
    static let fileLimit = 1 << 20

    /// Keys for tickets, which go on when the files are read again.
    ///
    /// - Throws: `startup` without entropy.
    package static func makeTicketKeys() throws(StartError) -> TLSTicketKeys {
        do throws(CryptoError) {
            return try TLSTicketKeys { Int64(clamping: MonotonicClock.now() / 1_000_000_000) }
        } catch {
            throw .startup("tls: \(error)")
        }
    }

    /// Seconds since 1970.
    package static func wallClock() -> Int64 { WallClock.now() / 1_000_000_000 }

    /// Reads and checks all files.
    ///
    /// - Parameters:
    ///   - configuration: Which files, and the policy.
    ///   - tickets: nil makes new ones, for a context that is only looked at.
    ///   - wallClock: Seconds since 1970.
    /// - Returns: What a listener serves.
    /// - Throws: `configuration` with the key and the file at fault.
    package static func load(
        _ configuration: ListenerTLSConfiguration, tickets: TLSTicketKeys? = nil,
        wallClock: @escaping @Sendable () -> Int64 = ListenerTLS.wallClock
    ) throws(StartError) -> TLSServerContext {
        let keys: TLSTicketKeys = if let tickets { tickets } else { try makeTicketKeys() }
        do throws(ListenerTLSFault) {
            return try read(configuration, tickets: keys, wallClock: wallClock)
        } catch {
            throw .configuration("tls: \(error)")
        }
    }

    /// Like `load`, and tells which file it was.
    static func read(
        _ configuration: ListenerTLSConfiguration, tickets: TLSTicketKeys,
        wallClock: @escaping @Sendable () -> Int64 = ListenerTLS.wallClock
    ) throws(ListenerTLSFault) -> TLSServerContext {
        var settings = TLSServerSettings(identity: try identity(configuration.identity, nil))
        for (index, named) in configuration.named.enumerated() {
            settings.named.append(
                TLSNamedIdentity(names: named.names, identity: try identity(named.identity, index)))
        }
        if let file = configuration.clientAuthorities {
            settings.clientAuthorities = try contents(file, .clientAuthorities)
        }
        settings.clientAuthentication = configuration.clientAuthentication
        settings.protocols = configuration.protocols
        settings.minimumVersion = configuration.minimumVersion
        do throws(TLSContextFault) {
            return try TLSServerContext(settings, tickets: tickets, wallClock: wallClock)
        } catch {
            throw fault(error.role, error.description, in: configuration)
        }
    }

    private static func identity(
        _ files: ListenerTLSConfiguration.Identity, _ index: Int?
    ) throws(ListenerTLSFault) -> TLSIdentity {
        TLSIdentity(
            certificates: try contents(files.certificate, .certificate(index)),
            key: try contents(files.key, .key(index)))
    }

    private static func contents(_ file: String, _ role: TLSContextFault.Role) throws(ListenerTLSFault) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemFault) {
            bytes = try FileSystem.contents(of: file, limit: fileLimit)
        } catch {
            throw ListenerTLSFault(role: role, description: "\(word(role)): cannot read \(file.quoted): \(error)")
        }
        guard bytes.count <= fileLimit else {
            throw ListenerTLSFault(role: role, description: "\(word(role)): \(file.quoted) has more than 1 MiB")
        }
        return bytes
    }

    private static func fault(
        _ role: TLSContextFault.Role, _ words: String, in configuration: ListenerTLSConfiguration
    ) -> ListenerTLSFault {
        let file = file(role, in: configuration).map { " \($0.quoted)" } ?? ""
        return ListenerTLSFault(role: role, description: "\(word(role)):\(file) \(words)")
    }

    /// A remark with the key and the file that it is about.
    static func text(_ remark: TLSRemark, in configuration: ListenerTLSConfiguration) -> String {
        fault(remark.role, "- \(remark.description)", in: configuration).description
    }

    private static func word(_ role: TLSContextFault.Role) -> String {
        switch role {
        case .certificate: "'certificate'"
        case .key: "'key'"
        case .names: "'names'"
        case .clientAuthorities: "'client_ca'"
        case .library: "'tls'"
        }
    }

    private static func file(_ role: TLSContextFault.Role, in configuration: ListenerTLSConfiguration) -> String? {
        func identity(_ index: Int?) -> ListenerTLSConfiguration.Identity? {
            guard let index else { return configuration.identity }
            return configuration.named.indices.contains(index) ? configuration.named[index].identity : nil
        }
        return switch role {
        case .certificate(let index): identity(index)?.certificate
        case .key(let index): identity(index)?.key
        case .clientAuthorities: configuration.clientAuthorities
        case .names, .library: nil
        }
    }
}
