// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// The section `tls` of a listener; paths are resolved.
package struct ListenerTLSConfiguration: Sendable, Equatable {
    /// Files of a certificate chain and its key.
    package struct Identity: Sendable, Equatable {
        package var certificate: String
        package var key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// An element of `sni`.
    package struct Named: Sendable, Equatable {
        package var names: [String]
        package var identity: Identity

        package init(names: [String], identity: Identity) {
            self.names = names
            self.identity = identity
        }
    }

    package var identity: Identity
    package var named: [Named] = []
    /// File of the authorities whose clients are believed.
    package var clientAuthorities: String?
    package var clientAuthentication = TLSClientAuthentication.optional
    /// In the server's order of preference.
    package var protocols: [TLSApplicationProtocol] = [.http2, .http1]
    package var minimumVersion = TLSVersion.tls12

    package init(identity: Identity) {
        self.identity = identity
    }
}
