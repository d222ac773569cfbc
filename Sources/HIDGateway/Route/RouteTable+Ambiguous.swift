// SPDX-License-Identifier: Apache-2.0

/// Routes of paths that upstreams read in different ways.
extension RouteTable {
    /// Finds the route of an ambiguous path that is forwarded as it came, octet for octet.
    ///
    /// Three questions decide, all about the rules that any reading touches (``PathPieces``):
    ///
    /// - Does the most specific of them hold in every reading? It does when it ends in `/**`, its segments stand plainly
    ///   at the start of the path and nothing climbs. Then it is the route, whatever else is touched; a critical one
    ///   must allow the spellings, and its token is demanded.
    /// - Otherwise: is none of them critical, and all of them treated like the defaults? Then it makes no difference
    ///   which one holds.
    /// - Otherwise no route is certain, and the path is refused.
    ///
    /// - Parameters:
    ///   - path: as it came, not malformed.
    ///   - spellings: what makes it ambiguous.
    ///   - method: as it came.
    ///   - host: as ``NormalisedHost/write(_:into:)`` gives it.
    ///   - fold: storage.
    ///   - pieces: storage.
    /// - Returns: the route; nil when it is not certain.
    /// - Throws: a fault that no policy forgives.
    func match(
        ambiguous path: Span<UInt8>, _ spellings: PathAmbiguity, method: Span<UInt8>, host: Span<UInt8>,
        fold: inout PathFold, pieces: inout PathPieces
    ) throws(PathFault) -> RouteMatch? {
        try pieces.cut(path, with: &fold)
        guard let index = ambiguous else { return nil }
        var search = AmbiguitySearch(method: methodNumber(method))
        let text = fold.work.span
        visitScopes(of: host) { scope, isElsewhere in
            search.isElsewhere = isElsewhere
            index.touch(pieces.list, of: text, scope: scope, entries: entries, search: &search)
        }
        guard !search.isHopeless else { return nil }
        let (touched, isListed) = mostSpecific(search)
        guard let touched else { return policy == .guarded ? RouteMatch.none : nil }
        let entry = entries[touched]
        let isAllowed = entry.allowed.isSuperset(of: spellings)
        let match = RouteMatch(routeIndex: entry.ruleIndex, kind: .canonical, methodNotListed: false)
        if holdsInEveryReading(entry.pattern, path, pieces) {
            guard isListed else { return nil }
            return isAllowed || policy == .guarded && !entry.isCritical ? match : nil
        }
        return policy == .guarded && !search.touchesCritical && !search.isMixed ? match : nil
    }

    /// A critical entry that refuses the method yields only to one for the same path and host, as everywhere.
    private func mostSpecific(_ search: AmbiguitySearch) -> (entry: Int?, isListed: Bool) {
        if search.unlisted < search.best {
            guard search.best < Int.max, entries[search.unlisted].place == entries[search.best].place else {
                return (search.unlisted, false)
            }
        }
        return (search.best < Int.max ? search.best : nil, true)
    }

    /// Whether no reader takes the path out of a pattern.
    private func holdsInEveryReading(_ pattern: PathPattern, _ path: Span<UInt8>, _ pieces: PathPieces) -> Bool {
        guard pattern.matchesBelow else { return false }
        guard !pattern.bytes.isEmpty else { return true }
        guard !pieces.isUprooted else { return false }
        var offset = 0
        for _ in 0..<pattern.specificity.segmentCount {
            let end = PathPattern.endOfSegment(path, after: offset)
            guard Self.isPlain(path.extracting((offset + 1)..<end)) else { return false }
            offset = end
        }
        return offset < path.count && pattern.matches(path)
    }

    /// Whether every reader sees the same name in a segment.
    private static func isPlain(_ segment: Span<UInt8>) -> Bool {
        for index in 0..<segment.count where !ASCII.isUnreserved(segment[index]) {
            return false
        }
        return segment.count > 0 && segment[0] != ASCII.dot && segment[segment.count - 1] != ASCII.dot
    }
}
