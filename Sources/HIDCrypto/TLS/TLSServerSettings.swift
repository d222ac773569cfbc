// SPDX-License-Identifier: Apache-2.0

/// A certificate chain and its private key as they stand in their files.
package struct TLSIdentity: Sendable, Equatable {
    /// PEM, the server's certificate first, then those that lead to the root.
    package var certificates: [UInt8]
    /// PEM without a password.
    package var key: [UInt8]

    package init(certificates: [UInt8], key: [UInt8]) {
        self.certificates = certificates
        self.key = key
    }
}

/// An identity for some server names.
package struct TLSNamedIdentity: Sendable, Equatable {
    /// `api.example.com`, or `*.example.com` for exactly one label.
    package var names: [String]
    package var identity: TLSIdentity

    package init(names: [String], identity: TLSIdentity) {
        self.names = names
        self.identity = identity
    }
}

/// What may be spoken inside, by its ALPN name (RFC 7301).
package enum TLSApplicationProtocol: String, Sendable, CaseIterable {
    case http2 = "h2"
    case http1 = "http/1.1"
}

/// A version of the protocol.
package enum TLSVersion: String, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}

/// Whether a client must show a certificate.
package enum TLSClientAuthentication: String, Sendable, CaseIterable {
    /// A client without one passes; one with a bad one fails.
    case optional
    case required
}

/// Everything that a listener's TLS is made of.
package struct TLSServerSettings: Sendable, Equatable {
    /// For clients that name no server, or one that `named` does not know.
    package var identity: TLSIdentity
    package var named: [TLSNamedIdentity] = []
    package var minimumVersion = TLSVersion.tls12
    /// In the server's order of preference; with none, ALPN is not answered.
    package var protocols: [TLSApplicationProtocol] = []
    /// PEM of the authorities whose clients are believed; nil asks no client for a certificate.
    package var clientAuthorities: [UInt8]?
    package var clientAuthentication = TLSClientAuthentication.optional

    package init(identity: TLSIdentity) {
        self.identity = identity
    }
}

/// Why settings are no TLS context.
package struct TLSContextFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file or value at fault.
    package enum Role: Sendable, Equatable {
        /// A chain; nil is the default identity, a number the element of `named`.
        case certificate(Int?)
        case key(Int?)
        case names(Int)
        case clientAuthorities
        /// Nothing that was given: the library itself.
        case library
    }

    package let role: Role
    /// What is wrong and what to do.
    package let description: String

    init(_ role: Role, _ description: String) {
        self.role = role
        self.description = description
    }
}

/// What an operator should know about settings that work.
package struct TLSRemark: Sendable, Equatable, CustomStringConvertible {
    package let role: TLSContextFault.Role
    package let description: String
}
