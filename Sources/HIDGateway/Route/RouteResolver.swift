// SPDX-License-Identifier: Apache-2.0

/// Storage that is reused from one request of a connection or loop to the next.
package struct RouteScratch: Sendable {
    /// What is forwarded in front of the query of the last request: its canonical path, `*` for the asterisk-form, an
    /// ambiguous path as it came.
    package private(set) var path: [UInt8] = []
    /// The host of the last request as rules are matched by; empty when there was none.
    package private(set) var host: [UInt8] = []
    private var readers = Readers()

    private struct Readers {
        var fold = PathFold()
        var pieces = PathPieces()
    }

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
        do throws(PathFault) {
            let parsed = try RequestTarget(parsing: target, method: method, host: host)
            NormalisedHost.write(host, into: &self.host)
            return .resolved(
                try Self.route(
                    parsed, target.extracting(parsed.path), method, host: &self.host, in: table, path: &path,
                    readers: &readers))
        } catch {
            path.removeAll(keepingCapacity: true)
            return .refused(error)
        }
    }

    private static func route(
        _ parsed: RequestTarget, _ given: Span<UInt8>, _ method: Span<UInt8>, host: inout [UInt8],
        in table: RouteTable, path: inout [UInt8], readers: inout Readers
    ) throws(PathFault) -> ResolvedRoute {
        var isNormalised = parsed.form == .absolute
        if parsed.form == .asterisk {
            path.removeAll(keepingCapacity: true)
            path.append(ASCII.asterisk)
        } else {
            do throws(PathFault) {
                if try PathCanonicaliser.canonicalise(given, into: &path) == .normalised { isNormalised = true }
            } catch {
                let match = try unchanged(
                    given, fault: error, method, host: &host, in: table, path: &path, readers: &readers)
                return ResolvedRoute(
                    match: match, query: parsed.query, isNormalised: isNormalised, isAmbiguous: true)
            }
        }
        let match = table.match(method: method, host: host.span, path: path.span, fold: &readers.fold)
        return ResolvedRoute(
            match: match, query: parsed.query, isNormalised: isNormalised, isAmbiguous: false)
    }

    /// The route of an ambiguous path, which is forwarded as it came: what was judged are these octets.
    ///
    /// What is thrown when no route takes it is the fault for which it has no canonical form, or `ambiguous`.
    private static func unchanged(
        _ given: Span<UInt8>, fault: PathFault, _ method: Span<UInt8>, host: inout [UInt8], in table: RouteTable,
        path: inout [UInt8], readers: inout Readers
    ) throws(PathFault) -> RouteMatch {
        guard table.ambiguous != nil, PathAmbiguity(fault) != nil else { throw fault }
        let spellings = try PathCanonicaliser.ambiguities(of: given, using: &path)
        let match = try table.match(
            ambiguous: given, spellings, method: method, host: host.span, fold: &readers.fold,
            pieces: &readers.pieces)
        guard let match else { throw table.policy == .guarded ? .ambiguous : fault }
        path.removeAll(keepingCapacity: true)
        for index in 0..<given.count { path.append(given[index]) }
        return match
    }
}

/// What became of a request-target.
package enum RouteResolution: Sendable, Equatable {
    /// Answered with the fault's status; nothing is forwarded.
    case refused(PathFault)
    case resolved(ResolvedRoute)
}

/// A request-target that was read; what is forwarded of its path is in ``RouteScratch/path``.
package struct ResolvedRoute: Sendable, Equatable {
    package let match: RouteMatch
    /// Where the query stands in the request-target, question mark included; forwarded octet for octet.
    package let query: Range<Int>
    /// Whether what is forwarded differs from what came.
    package let isNormalised: Bool
    /// Whether the path has no canonical form and is forwarded as it came.
    package let isAmbiguous: Bool
}
