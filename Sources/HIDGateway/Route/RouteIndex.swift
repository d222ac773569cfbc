// SPDX-License-Identifier: Apache-2.0

/// Finds the entries whose pattern matches a path, in time that does not depend on how many there are.
///
/// Exact paths are hashed whole; patterns are a trie of segments. Everything is kept per host scope, a number that
/// ``RouteTable`` gives out.
struct RouteIndex: Sendable {
    private struct Node: Sendable {
        /// The child for any one segment, or -1.
        var any = -1
        /// The list of patterns that end here, or -1.
        var here = -1
        /// The list of patterns that match here and everywhere below, or -1.
        var below = -1
    }

    /// By (path, host scope); the value is a list.
    private var exact = ByteTable()
    /// By (segment, node); the value is a node.
    private var edges = ByteTable()
    /// The first node of each host scope, or -1.
    private var rootOfScope: [Int] = []
    private var nodes: [Node] = []
    /// Entries, ascending.
    private var lists: [[Int]] = []
    private let filesWholePaths: Bool

    /// Makes an empty index; one that files no whole paths takes exact ones for patterns as well.
    init(filesWholePaths: Bool = true) {
        self.filesWholePaths = filesWholePaths
    }

    /// Adds an entry; entries must come in ascending order.
    ///
    /// - Parameters:
    ///   - entry: its offset.
    ///   - path: the octets of the pattern without a final `/**`.
    ///   - matchesBelow: whether it ended in `/**`.
    ///   - scope: of its host.
    mutating func insert(_ entry: Int, path: [UInt8], matchesBelow: Bool, scope: Int) {
        let segments = path.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: !filesWholePaths)
        if filesWholePaths, !matchesBelow, !segments.contains(where: { $0.elementsEqual([ASCII.asterisk]) }) {
            let list = exact.value(of: path, scope: scope, inserting: lists.count)
            append(entry, to: list)
            return
        }
        var node = root(of: scope)
        for segment in path.isEmpty ? [] : segments {
            if segment.elementsEqual([ASCII.asterisk]) {
                if nodes[node].any < 0 { nodes[node].any = addNode() }
                node = nodes[node].any
            } else {
                let child = edges.value(of: Array(segment), scope: node, inserting: nodes.count)
                if child == nodes.count { _ = addNode() }
                node = child
            }
        }
        let known = matchesBelow ? nodes[node].below : nodes[node].here
        let list = known < 0 ? lists.count : known
        if matchesBelow { nodes[node].below = list } else { nodes[node].here = list }
        append(entry, to: list)
    }

    private mutating func append(_ entry: Int, to list: Int) {
        if list == lists.count { lists.append([]) }
        if lists[list].last != entry { lists[list].append(entry) }
    }

    private mutating func addNode() -> Int {
        nodes.append(Node())
        return nodes.count - 1
    }

    // MARK: - Nodes

    func root(ofScope scope: Int) -> Int? {
        scope < rootOfScope.count && rootOfScope[scope] >= 0 ? rootOfScope[scope] : nil
    }

    func child(_ segment: Span<UInt8>, below node: Int) -> Int? {
        let child = edges.value(of: segment, scope: node)
        return child >= 0 ? child : nil
    }

    func any(below node: Int) -> Int? { nodes[node].any >= 0 ? nodes[node].any : nil }
    func listHere(_ node: Int) -> [Int]? { nodes[node].here >= 0 ? lists[nodes[node].here] : nil }
    func listBelow(_ node: Int) -> [Int]? { nodes[node].below >= 0 ? lists[nodes[node].below] : nil }

    private mutating func root(of scope: Int) -> Int {
        while rootOfScope.count <= scope { rootOfScope.append(-1) }
        if rootOfScope[scope] < 0 { rootOfScope[scope] = addNode() }
        return rootOfScope[scope]
    }

    /// Offers every list of entries that match a key to a search.
    ///
    /// - Parameters:
    ///   - key: what the patterns are compared with.
    ///   - scope: of the host.
    ///   - path: the canonical path of the request.
    ///   - entries: what the lists hold the offsets of.
    ///   - search: takes the candidates.
    func visit(
        _ key: Span<UInt8>, scope: Int, path: Span<UInt8>, entries: [RouteTable.Entry], search: inout RouteSearch
    ) {
        let list = exact.value(of: key, scope: scope)
        if list >= 0 { search.offer(lists[list], of: entries, path: path, key: key) }
        guard scope < rootOfScope.count, rootOfScope[scope] >= 0 else { return }
        walk(from: rootOfScope[scope], key, at: 0, path: path, entries: entries, search: &search)
    }

    /// Follows a key from a node on; recursion is as deep as the patterns of the configuration have `*`.
    private func walk(
        from first: Int, _ key: Span<UInt8>, at start: Int, path: Span<UInt8>, entries: [RouteTable.Entry],
        search: inout RouteSearch
    ) {
        var node = first
        var offset = start
        while true {
            let here = nodes[node]
            if here.below >= 0 { search.offer(lists[here.below], of: entries, path: path, key: key) }
            guard offset < key.count else {
                if here.here >= 0 { search.offer(lists[here.here], of: entries, path: path, key: key) }
                return
            }
            let end = PathPattern.endOfSegment(key, after: offset)
            if here.any >= 0, end > offset + 1 {
                walk(from: here.any, key, at: end, path: path, entries: entries, search: &search)
            }
            let child = edges.value(of: key.extracting((offset + 1)..<end), scope: node)
            guard child >= 0 else { return }
            node = child
            offset = end
        }
    }
}

/// The candidates of one look-up; what is kept are offsets into the entries, the least being the most specific.
struct RouteSearch {
    enum Plane {
        case canonical
        case fold
    }

    let plane: Plane
    let method: RequestMethod
    /// Whether rules of other hosts are offered as well.
    var offersOtherHosts = false
    /// The entry that the canonical path takes; it overrules wider ones as long as a reading does not lead out of it.
    var overruling: Int?
    /// Whether the keys are those without an extension, which lead out of nothing.
    var dropsExtension = false
    /// The most specific entry that takes the method.
    private(set) var best = Int.max
    /// The most specific critical entry that does not list the method.
    private(set) var unlisted = Int.max

    init(plane: Plane, method: RequestMethod) {
        self.plane = plane
        self.method = method
    }

    /// Whether a fold hit was found.
    var hasHit: Bool { min(best, unlisted) < Int.max }

    /// Takes an entry without having looked at every reading.
    mutating func giveUp(at entry: Int?) {
        if let entry { best = min(best, entry) }
    }

    /// Considers entries in ascending order.
    mutating func offer(_ list: [Int], of entries: [RouteTable.Entry], path: Span<UInt8>, key: Span<UInt8>) {
        for index in list {
            guard index < best else { return }
            let entry = entries[index]
            if plane == .fold, isKnown(entry, path), !leadsOut(key, entries) { continue }
            if entry.methods.contains(method, isCritical: entry.isCritical) {
                best = index
                return
            }
            if entry.isCritical, !entry.passesOtherMethods { unlisted = min(unlisted, index) }
        }
    }

    /// Whether an entry was already offered for the canonical path, where a narrower route may have overruled it.
    private func isKnown(_ entry: RouteTable.Entry, _ path: Span<UInt8>) -> Bool {
        (!offersOtherHosts || !entry.hasHost) && entry.pattern.matches(path)
    }

    /// Whether a reading leaves the route that the canonical path takes.
    private func leadsOut(_ key: Span<UInt8>, _ entries: [RouteTable.Entry]) -> Bool {
        guard !dropsExtension, let overruling else { return false }
        let entry = entries[overruling]
        for form in entry.foldedForms where PathPattern.matches(form.span, entry.pattern.matchesBelow, key) {
            return false
        }
        return true
    }
}
