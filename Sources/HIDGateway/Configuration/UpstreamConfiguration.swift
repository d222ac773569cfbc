// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

package struct UpstreamConfiguration: Sendable, Equatable {
    package var name: String
    /// At least one; all of them https, or none.
    package var servers: [UpstreamServerConfiguration] {
        didSet { authority = Self.authority(of: servers) }
    }
    /// What Host says when the client sent none: the first server.
    package private(set) var authority: [UInt8]
    package var tls = UpstreamTLSConfiguration()
    package var connectTimeout: Duration = .seconds(2)
    /// From the last octet of the request to the head of the answer, and between reads of the content.
    package var responseTimeout: Duration = .seconds(30)
    /// How long an idle connection is kept; below the 5 s after which common servers close theirs.
    package var idleTimeout: Duration = .seconds(4)
    /// Connections, queue, retries, ejection, health checks, PROXY header.
    package var policy = UpstreamPolicy()

    package init(name: String, url: UpstreamURL) {
        self.name = name
        servers = [UpstreamServerConfiguration(url: url)]
        authority = Self.authority(of: servers)
    }

    /// The first server, whose host is the Host of requests that have none.
    package var url: UpstreamURL { servers.first?.url ?? UpstreamURL(isTLS: false, host: "", port: 0) }
    package var maximumConnections: Int { policy.maximumConnections }

    private static func authority(of servers: [UpstreamServerConfiguration]) -> [UInt8] {
        guard let url = servers.first?.url else { return [] }
        let target = UpstreamTarget(isTLS: url.isTLS, host: url.host, port: url.port, unixPath: url.unixPath)
        return Array(target.hostField.utf8)
    }
}

/// One entry of `servers`.
package struct UpstreamServerConfiguration: Sendable, Equatable {
    package var url: UpstreamURL
    /// 0...256; 0 gets nothing new.
    package var weight = 1
    /// nil: as many as the upstream may have.
    package var maximumConnections: Int?

    package init(url: UpstreamURL) {
        self.url = url
    }
}

/// Scheme and authority of an upstream.
///
/// A path, query, fragment or userinfo is a configuration error.
package struct UpstreamURL: Sendable, Hashable {
    package var isTLS: Bool
    /// A name, an IPv4 address, or an IPv6 address without brackets; empty with `unixPath`.
    package var host: String
    package var port: UInt16
    /// `unix:/path`: the socket to dial instead of a host.
    package var unixPath: String?

    package init(isTLS: Bool, host: String, port: UInt16, unixPath: String? = nil) {
        self.isTLS = isTLS
        self.host = host
        self.port = port
        self.unixPath = unixPath
    }
}

package struct UpstreamTLSConfiguration: Sendable, Equatable {
    /// PEM file of trusted roots; nil: the system's.
    package var certificateAuthorities: String?
    package var verify = true
    /// Name to verify and to send as SNI; nil: the host of the URL.
    package var serverName: String?

    package init() {}
}

extension UpstreamURL {
    /// As an operator writes it.
    package var text: String {
        if let unixPath { return "unix:\(unixPath)" }
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(isTLS ? "https" : "http")://\(name):\(port)"
    }
}
