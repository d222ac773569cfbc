// SPDX-License-Identifier: Apache-2.0

package import HIDCrypto
internal import Synchronization

/// What one listener of a server demands of its connections.
package struct ListenerSettings: Sendable {
    /// Makes the session of each connection; nil: no TLS.
    package var tls: (@Sendable () -> TLSServerContext)?
    /// Whether clients without TLS may speak HTTP/2 from their first octet on; with TLS, ALPN decides.
    package var acceptsHTTP2 = false
    /// Whether every connection begins with a PROXY header.
    package var expectsProxyHeader = false
    /// Peers that may send one: whoever does chooses the address of the client.
    package var maySendProxyHeader: @Sendable (PeerAddress) -> Bool = { _ in false }
    /// Peers whose connections carry many clients: they are not capped as one.
    package var isTrusted: @Sendable (PeerAddress) -> Bool = { _ in false }

    package init() {}
}

/// How a connection is protected, as the application sees it.
package struct ConnectionSecurity: Sendable, Equatable {
    package let version: TLSVersion
    /// OpenSSL's name of the cipher.
    package let cipher: String
    /// The host name the client asked for.
    package let serverName: String?
    /// The verified certificate of the client.
    package let clientCertificate: TLSPeerCertificate?

    /// The facts of an established session.
    init?(_ session: TLSServerSession) {
        guard let version = session.version else { return nil }
        self.version = version
        cipher = session.cipher ?? ""
        serverName = session.serverName
        clientCertificate = session.peerCertificate
    }
}

/// Why a connection ended before its first request could.
package enum OpeningFault: String, Sendable, CaseIterable {
    /// The PROXY header is missing or malformed.
    case proxyHeader = "proxy_header"
    /// A PROXY header of a peer that is not trusted.
    case proxyUntrusted = "proxy_untrusted"
    /// The TLS handshake failed.
    case handshake
    /// Header and handshake took longer than `timeouts.header`.
    case timeout
    /// The client closed.
    case closed
}

/// How often connections ended before their first request, by cause.
///
/// Any thread.
package final class OpeningCounts: Sendable {
    private struct State {
        var faults: [OpeningFault: Int] = [:]
        var handshakes: [TLSSessionFault.Reason: Int] = [:]
    }

    private let state = Mutex(State())

    func note(_ fault: OpeningFault, _ detail: TLSSessionFault? = nil) {
        state.withLock { state in
            state.faults[fault, default: 0] += 1
            if let detail { state.handshakes[detail.reason, default: 0] += 1 }
        }
    }

    package func count(of fault: OpeningFault) -> Int { state.withLock { $0.faults[fault, default: 0] } }

    /// Failed handshakes of that cause.
    package func count(of reason: TLSSessionFault.Reason) -> Int {
        state.withLock { $0.handshakes[reason, default: 0] }
    }
}
