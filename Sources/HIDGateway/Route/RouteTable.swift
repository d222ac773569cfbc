// SPDX-License-Identifier: Apache-2.0

/// Which route a request takes.
package struct RouteMatch: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// The canonical path, the host and the method are those of the route.
        case canonical
        /// Only a wider reading of path or host touches the route, which is critical: the token is demanded.
        case fold
        /// No route: the defaults apply, nothing is demanded.
        case none
    }

    package static let none = RouteMatch(routeIndex: nil, kind: .none, methodNotListed: false)

    /// Index into the rules that the table was built from.
    package let routeIndex: Int?
    package let kind: Kind
    /// The path is that of a critical route which does not list the method, and no rule as narrow does: 405.
    package let methodNotListed: Bool

    package init(routeIndex: Int?, kind: Kind, methodNotListed: Bool) {
        self.routeIndex = routeIndex
        self.kind = kind
        self.methodNotListed = methodNotListed
    }
}

/// All routes, ready to be looked up; never changed after `init`.
///
/// The most specific route wins: exact path before pattern, longer before shorter (``PathPattern/Specificity``), exact
/// host before `*.` host before none, a list of methods before none, critical before not, then the order of the rules.
///
/// A method that a critical route does not list is refused unless a route for the same path and host takes it: a wider
/// route such as `/**` never does, else `PUT` would lead around a rule for `POST`. Rules with
/// `methods_not_listed: pass` are simply not there for other methods.
///
/// Any loop may use it at the same time.
package final class RouteTable: Sendable {
    struct Entry: Sendable {
        let ruleIndex: Int
        let isCritical: Bool
        let methods: RouteMethods
        /// Whether other methods pass as if the rule were not there.
        let passesOtherMethods: Bool
        let pattern: PathPattern
        let hasHost: Bool
        /// Equal for rules with the same path and host; less is more specific.
        let place: Int
        /// The octets of the pattern as the widest reading and the narrowest one see them.
        let foldedForms: [[UInt8]]
        /// Spellings of a path that it allows.
        let allowed: PathAmbiguity
        /// Equal for rules that treat a request alike; 0: like the defaults.
        let treatment: Int
    }

    /// Rules without a host.
    static let anyHost = 0
    /// All critical rules, as if they had no host.
    static let everyHost = 1
    /// Octets that may be folded for one request, with 256 more for each reading: some 100 of a short path, 3 of the
    /// longest one.
    private static let readingBudget = 32 << 10

    let entries: [Entry]
    private let hosts: ByteTable
    private let suffixes: ByteTable
    private let methods: MethodTable
    private let canonical: RouteIndex
    private let folded: RouteIndex
    /// All patterns as the fold reads them; nil when no ambiguous path is ever forwarded.
    let ambiguous: RouteIndex?
    /// What becomes of ambiguous paths.
    package let policy: PathPolicy
    /// The most specific critical entry, or nil without any.
    private let firstCritical: Int?
    /// Whether every critical pattern is its own folded form, so that a plain path needs one look-up only.
    private let patternsAreOwnKeys: Bool

    package init(rules: [RouteRule], policy: PathPolicy = .strict) {
        self.policy = policy
        let forwardsAmbiguous = policy == .guarded || rules.contains { !$0.allowedSpellings.isEmpty }
        var builder = RouteTableBuilder(filesAmbiguous: forwardsAmbiguous)
        builder.add(rules)
        entries = builder.entries
        hosts = builder.hosts
        suffixes = builder.suffixes
        methods = builder.methods
        canonical = builder.canonical
        folded = builder.folded
        ambiguous = forwardsAmbiguous ? builder.ambiguous : nil
        firstCritical = builder.entries.firstIndex { $0.isCritical }
        patternsAreOwnKeys = builder.patternsAreOwnKeys
    }

    /// Finds the route of a request.
    ///
    /// - Parameters:
    ///   - method: as it came.
    ///   - host: as ``NormalisedHost/write(_:into:)`` gives it; empty when there was no Host.
    ///   - path: the canonical path.
    ///   - fold: storage for the fold key.
    /// - Returns: the route and how it was hit.
    package func match(
        method: Span<UInt8>, host: Span<UInt8>, path: Span<UInt8>, fold: inout PathFold
    ) -> RouteMatch {
        guard path.count > 0, path[0] == ASCII.slash else { return .none }
        let known = hosts.isEmpty ? -1 : hosts.value(of: host, scope: 0)
        let isSite = known >= 0 || NormalisedHost.isName(host)
        let method = methods.method(method)
        var search = RouteSearch(plane: .canonical, method: method)
        visit(canonical, key: path, host: host, known: known, path: path, &search)
        let (entry, methodNotListed) = decision(of: search)
        let isCritical = entry.map { entries[$0].isCritical } ?? false
        if firstCritical != nil, !isCritical, !(isSite && patternsAreOwnKeys && PathFold.hasOneName(path)) {
            var wide = RouteSearch(plane: .fold, method: method)
            wide.offersOtherHosts = !isSite
            wide.overruling = entry
            visitReadings(of: path, host: host, known: known, &fold, &wide)
            if wide.hasHit {
                let entry = entries[wide.best < Int.max ? wide.best : wide.unlisted]
                return RouteMatch(routeIndex: entry.ruleIndex, kind: .fold, methodNotListed: false)
            }
        }
        guard let entry else { return .none }
        return RouteMatch(
            routeIndex: entries[entry].ruleIndex, kind: .canonical, methodNotListed: methodNotListed)
    }

    func methodNumber(_ method: Span<UInt8>) -> RequestMethod { methods.method(method) }

    /// Calls back for every host scope that a request may belong to.
    ///
    /// The flag marks the scope of all critical rules of any host, when Host does not say which site is meant.
    func visitScopes(of host: Span<UInt8>, _ body: (_ scope: Int, _ isElsewhere: Bool) -> Void) {
        let known = hosts.isEmpty ? -1 : hosts.value(of: host, scope: 0)
        body(Self.anyHost, false)
        if known >= 0 { body(known, false) }
        if known < 0, !NormalisedHost.isName(host) { body(Self.everyHost, true) }
        guard !suffixes.isEmpty, host.count > 1, host.count <= NormalisedHost.maximumLength else { return }
        for dot in 1..<host.count where host[dot] == ASCII.dot {
            let scope = suffixes.value(of: host.extracting(dot..<host.count), scope: 0)
            if scope >= 0 { body(scope, false) }
        }
    }

    /// The entry that applies: a critical one that refuses the method yields only to one for the same path and host.
    private func decision(of search: RouteSearch) -> (entry: Int?, methodNotListed: Bool) {
        if search.unlisted < search.best {
            guard search.best < Int.max else { return (search.unlisted, true) }
            if entries[search.unlisted].place < entries[search.best].place { return (search.unlisted, true) }
        }
        return (search.best < Int.max ? search.best : nil, false)
    }

    /// Looks one key up in every host scope that the request belongs to.
    private func visit(
        _ index: RouteIndex, key: Span<UInt8>, host: Span<UInt8>, known: Int, path: Span<UInt8>,
        _ search: inout RouteSearch
    ) {
        if search.offersOtherHosts {
            index.visit(key, scope: Self.everyHost, path: path, entries: entries, search: &search)
            return
        }
        index.visit(key, scope: Self.anyHost, path: path, entries: entries, search: &search)
        if known >= 0 { index.visit(key, scope: known, path: path, entries: entries, search: &search) }
        guard !suffixes.isEmpty, host.count > 1, host.count <= NormalisedHost.maximumLength else { return }
        for dot in 1..<host.count where host[dot] == ASCII.dot {
            let scope = suffixes.value(of: host.extracting(dot..<host.count), scope: 0)
            if scope >= 0 { index.visit(key, scope: scope, path: path, entries: entries, search: &search) }
        }
    }

    /// Tries the readings of a path, the widest one first, until one hits a critical rule.
    ///
    /// A long path with many readings is not worth the time: it counts as a hit, so that the token is demanded.
    private func visitReadings(
        of path: Span<UInt8>, host: Span<UInt8>, known: Int, _ fold: inout PathFold, _ search: inout RouteSearch
    ) {
        var effects = fold.fold(path)
        visitNames(fold.key, host: host, known: known, path: path, &search)
        guard !effects.isEmpty else { return }
        var budget = Self.readingBudget
        for reading in PathFold.Reading.narrower {
            guard !search.hasHit else { return }
            guard PathFold.Reading.widest.subtracting(reading).isSubset(of: effects) else { continue }
            budget -= path.count + 256
            guard budget >= 0 else { return search.giveUp(at: firstCritical) }
            effects.formUnion(fold.fold(path, reading: reading))
            visitNames(fold.key, host: host, known: known, path: path, &search)
        }
    }

    /// Looks a key up, and then without the extensions of its last segment: three from each end.
    private func visitNames(
        _ key: [UInt8], host: Span<UInt8>, known: Int, path: Span<UInt8>, _ search: inout RouteSearch
    ) {
        visit(folded, key: key.span, host: host, known: known, path: path, &search)
        let slash = key.lastIndex(of: ASCII.slash) ?? 0
        let dots = key[slash...].count { $0 == ASCII.dot }
        guard dots > 0 else { return }
        search.dropsExtension = true
        defer { search.dropsExtension = false }
        var number = 0
        for dot in slash..<key.count where key[dot] == ASCII.dot {
            number += 1
            if number > 3, number <= dots - 3 { continue }
            let end = dot == slash + 1 ? slash : dot
            guard end > 0 else { continue }
            visit(folded, key: key.span.extracting(0..<end), host: host, known: known, path: path, &search)
        }
    }
}
