// SPDX-License-Identifier: Apache-2.0

/// Storage that is reused from one request of a connection or loop to the next.
package struct RouteScratch: Sendable {
    /// The canonical path of the last request, `*` for the asterisk-form: what is forwarded in front of the query.
    package private(set) var path: [UInt8] = []
    /// The host of the last request as rules are matched by; empty when there was none.
    package private(set) var host: [UInt8] = []
    private var fold = PathFold()

    package init() {}

    /// Forgets the last request: one whose head is refused before it is routed has no path.
    package mutating func reset() {
        path.removeAll(keepingCapacity: true)
        host.removeAll(keepingCapacity: true)
    }

    /// Reads request-target and Host of a request and finds its route.
    ///
    /// - Parameters:
    ///   - method: as it came.
    ///   - target: the request-target as it came.
    ///   - host: the value of Host; empty when there was none.
    ///   - table: the routes.
    /// - Returns: the fault, or the route with what else is forwarded.
    package mutating func resolve(
        method: Span<UInt8>, target: Span<UInt8>, host: Span<UInt8>, in table: RouteTable
    ) -> RouteResolution {
        do {
            return .resolved(
                try Self.route(method, target, host, in: table, path: &path, host: &self.host, fold: &fold))
        } catch {
            path.removeAll(keepingCapacity: true)
            return .refused(error)
        }
    }

    private static func route(
        _ method: Span<UInt8>, _ target: Span<UInt8>, _ given: Span<UInt8>, in table: RouteTable,
        path: inout [UInt8], host: inout [UInt8], fold: inout PathFold
    ) throws(PathFault) -> ResolvedRoute {
        let parsed = try RequestTarget(parsing: target, method: method, host: given)
        NormalisedHost.write(given, into: &host)
        var isNormalised = parsed.form == .absolute
        if parsed.form == .asterisk {
            path.removeAll(keepingCapacity: true)
            path.append(ASCII.asterisk)
        } else if try PathCanonicaliser.canonicalise(target.extracting(parsed.path), into: &path) == .normalised {
            isNormalised = true
        }
        let match = table.match(method: method, host: host.span, path: path.span, fold: &fold)
        return ResolvedRoute(match: match, query: parsed.query, isNormalised: isNormalised)
    }
}

/// What became of a request-target.
package enum RouteResolution: Sendable, Equatable {
    /// Answered with the fault's status; nothing is forwarded.
    case refused(PathFault)
    case resolved(ResolvedRoute)
}

/// A request-target that was read; the path is in ``RouteScratch/path``.
package struct ResolvedRoute: Sendable, Equatable {
    package let match: RouteMatch
    /// Where the query stands in the request-target, question mark included; forwarded octet for octet.
    package let query: Range<Int>
    /// Whether what is forwarded differs from what came.
    package let isNormalised: Bool
}
