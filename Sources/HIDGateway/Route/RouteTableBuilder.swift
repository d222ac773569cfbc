// SPDX-License-Identifier: Apache-2.0

/// Sorts rules and files them for ``RouteTable``.
struct RouteTableBuilder {
    /// How narrow the host of a rule is; the greater one is narrower.
    private struct HostRank: Comparable {
        /// 2 for a name, 1 for `*.name`, 0 for none.
        let kind: Int
        let length: Int

        static func < (left: HostRank, right: HostRank) -> Bool {
            (left.kind, left.length) < (right.kind, right.length)
        }
    }

    private struct Candidate {
        let index: Int
        let rule: RouteRule
        let host: [UInt8]
        let rank: HostRank
    }

    private(set) var entries: [RouteTable.Entry] = []
    private(set) var hosts = ByteTable()
    private(set) var suffixes = ByteTable()
    private(set) var methods = MethodTable()
    private(set) var canonical = RouteIndex()
    private(set) var folded = RouteIndex()
    private(set) var ambiguous = RouteIndex(filesWholePaths: false)
    private(set) var patternsAreOwnKeys = true
    private var scopes = RouteTable.everyHost + 1
    private var fold = PathFold()
    private let filesAmbiguous: Bool
    /// One rule of each treatment, without what tells it from the others; the first is that of the defaults.
    private var treatments = [RouteRule(name: "", match: .init(host: nil, path: .root, methods: []))]

    init(filesAmbiguous: Bool) {
        self.filesAmbiguous = filesAmbiguous
    }

    mutating func add(_ rules: [RouteRule]) {
        let candidates = rules.enumerated().map { index, rule in
            var host: [UInt8] = []
            NormalisedHost.write(Array((rule.match.host ?? "").utf8).span, into: &host)
            let isWildcard = host.starts(with: [ASCII.asterisk, ASCII.dot])
            let kind = rule.match.host == nil ? 0 : isWildcard ? 1 : 2
            return Candidate(index: index, rule: rule, host: host, rank: HostRank(kind: kind, length: host.count))
        }
        var place = -1
        var previous: Candidate?
        for candidate in candidates.sorted(by: Self.isNarrower) {
            if let previous, Self.isSamePlace(previous, candidate) {} else { place += 1 }
            previous = candidate
            file(candidate, place: place)
        }
    }

    private static func isNarrower(_ left: Candidate, _ right: Candidate) -> Bool {
        let (path, otherPath) = (left.rule.match.path.specificity, right.rule.match.path.specificity)
        if path != otherPath, path < otherPath || otherPath < path { return otherPath < path }
        if left.rank != right.rank { return right.rank < left.rank }
        let (text, otherText) = (left.rule.match.path.text, right.rule.match.path.text)
        if text != otherText { return text < otherText }
        if left.host != right.host { return left.host.lexicographicallyPrecedes(right.host) }
        let (hasMethods, otherHasMethods) = (!left.rule.match.methods.isEmpty, !right.rule.match.methods.isEmpty)
        if hasMethods != otherHasMethods { return hasMethods }
        if left.rule.isCritical != right.rule.isCritical { return left.rule.isCritical }
        return left.index < right.index
    }

    private static func isSamePlace(_ left: Candidate, _ right: Candidate) -> Bool {
        left.rule.match.path.text == right.rule.match.path.text && left.rank == right.rank && left.host == right.host
    }

    private mutating func file(_ candidate: Candidate, place: Int) {
        let pattern = candidate.rule.match.path
        let scope = scope(of: candidate)
        let number = entries.count
        let widest = pattern.folded(&fold, reading: .widest)
        let narrowest = pattern.folded(&fold, reading: [])
        let forms = widest == narrowest ? [widest] : [widest, narrowest]
        entries.append(
            RouteTable.Entry(
                ruleIndex: candidate.index, isCritical: candidate.rule.isCritical,
                methods: methods.add(candidate.rule.match.methods),
                passesOtherMethods: candidate.rule.methodsNotListed == .pass, pattern: pattern,
                hasHost: candidate.rank.kind > 0, place: place, foldedForms: forms,
                allowed: candidate.rule.allowedSpellings.reduce(into: []) { $0.formUnion($1.ambiguity) },
                treatment: treatment(of: candidate.rule)))
        canonical.insert(number, path: pattern.bytes, matchesBelow: pattern.matchesBelow, scope: scope)
        if filesAmbiguous { fileAmbiguous(candidate, number, forms, scope: scope) }
        guard candidate.rule.isCritical else { return }
        if widest != pattern.bytes || narrowest != pattern.bytes { patternsAreOwnKeys = false }
        for path in forms {
            folded.insert(number, path: path, matchesBelow: pattern.matchesBelow, scope: scope)
            folded.insert(number, path: path, matchesBelow: pattern.matchesBelow, scope: RouteTable.everyHost)
        }
    }

    private mutating func fileAmbiguous(_ candidate: Candidate, _ number: Int, _ forms: [[UInt8]], scope: Int) {
        let pattern = candidate.rule.match.path
        for path in forms {
            for scope in candidate.rule.isCritical ? [scope, RouteTable.everyHost] : [scope] {
                ambiguous.insert(number, path: path, matchesBelow: pattern.matchesBelow, scope: scope)
            }
        }
    }

    private mutating func treatment(of rule: RouteRule) -> Int {
        guard filesAmbiguous else { return 0 }
        var bare = rule
        (bare.name, bare.match) = (treatments[0].name, treatments[0].match)
        bare.allowedSpellings = []
        if let known = treatments.firstIndex(of: bare) { return known }
        treatments.append(bare)
        return treatments.count - 1
    }

    private mutating func scope(of candidate: Candidate) -> Int {
        let scope: Int
        switch candidate.rank.kind {
        case 0: return RouteTable.anyHost
        case 1: scope = suffixes.value(of: Array(candidate.host.dropFirst()), scope: 0, inserting: scopes)
        default: scope = hosts.value(of: candidate.host, scope: 0, inserting: scopes)
        }
        scopes = max(scopes, scope + 1)
        return scope
    }
}
