// SPDX-License-Identifier: Apache-2.0

/// The rules that some reading of an ambiguous path touches.
struct AmbiguitySearch {
    /// Steps that one path may take: look-ups of a piece below a node, and entries that are looked at.
    ///
    /// A path of 8 KiB that no rule is about takes one or two a piece.
    private static let budget = 16_384
    /// Nodes that may be waited at: a path takes as many only with rules written for that.
    private static let maximumStates = 64

    let method: RequestMethod
    /// Whether rules of other hosts are looked at: Host says no site, so the upstream serves one of its own choice.
    var isElsewhere = false
    /// The most specific entry that is touched and takes the method.
    private(set) var best = Int.max
    /// The most specific critical entry that is touched and does not list the method.
    private(set) var unlisted = Int.max
    /// Whether a critical one is.
    private(set) var touchesCritical = false
    /// Whether one is that belongs to another host, or there was too much to look at.
    private(set) var isHopeless = false
    /// Whether what is touched is not all treated like the defaults.
    private(set) var isMixed = false
    private var steps = 0
    fileprivate var states: [AmbiguityState] = []
    fileprivate var next: [AmbiguityState] = []

    init(method: RequestMethod) {
        self.method = method
    }

    fileprivate mutating func step() {
        steps += 1
        if steps > Self.budget { isHopeless = true }
    }

    fileprivate mutating func wait(at state: AmbiguityState) {
        guard !next.contains(state) else { return }
        next.append(state)
        if next.count > Self.maximumStates { isHopeless = true }
    }

    /// Takes entries that a reading touches.
    fileprivate mutating func offer(_ list: [Int], of entries: [RouteTable.Entry]) {
        for index in list {
            step()
            let entry = entries[index]
            let isListed = entry.methods.contains(method, isCritical: entry.isCritical)
            guard isListed || entry.isCritical && !entry.passesOtherMethods else { continue }
            if isElsewhere, entry.hasHost { isHopeless = true }
            if entry.isCritical { touchesCritical = true }
            if entry.treatment != 0 { isMixed = true }
            if isListed { best = min(best, index) } else { unlisted = min(unlisted, index) }
        }
    }
}

/// A node, and whether the segment that led there may take in more pieces: that of a `*`, or a dropped extension.
private struct AmbiguityState: Equatable {
    let node: Int
    let isOpen: Bool
}

extension RouteIndex {
    /// Offers every list of entries that some choice of pieces leads to.
    ///
    /// For an index that files everything as patterns.
    func touch(
        _ pieces: [PathPiece], of text: Span<UInt8>, scope: Int, entries: [RouteTable.Entry],
        search: inout AmbiguitySearch
    ) {
        guard scope >= 0, let root = root(ofScope: scope) else { return }
        search.next.removeAll(keepingCapacity: true)
        enter(root, isOpen: false, entries, &search)
        // The first piece of the last segment that a reader may see.
        let lastKept = pieces.lastIndex { !$0.isDroppable } ?? 0
        let last = pieces.prefix(lastKept + 1).lastIndex { $0.startsSegment } ?? 0
        for (index, piece) in pieces.enumerated() {
            swap(&search.states, &search.next)
            search.next.removeAll(keepingCapacity: true)
            for position in search.states.indices {
                guard !search.isHopeless else { return }
                take(piece, isLast: index >= last, from: search.states[position], text, entries, &search)
            }
            guard !search.next.isEmpty else { return }
        }
        for state in search.next { offerEnd(state.node, entries, &search) }
    }

    private func take(
        _ piece: PathPiece, isLast: Bool, from state: AmbiguityState, _ text: Span<UInt8>,
        _ entries: [RouteTable.Entry], _ search: inout AmbiguitySearch
    ) {
        search.step()
        if piece.isDroppable || state.isOpen && !piece.startsSegment { search.wait(at: state) }
        // The name of a stream goes on to the end of a segment.
        let isCut = piece.kept.upperBound < piece.text.upperBound
        follow(piece.kept, isOpen: isCut, from: state.node, text, entries, &search)
        if piece.kept != piece.text { follow(piece.text, isOpen: false, from: state.node, text, entries, &search) }
        if let any = any(below: state.node) { enter(any, isOpen: true, entries, &search) }
        guard isLast else { return }
        // The extensions of a last segment may be dropped, with what is in them.
        for dot in piece.kept where text[dot] == ASCII.dot && !search.isHopeless {
            search.step()
            follow(piece.kept.lowerBound..<dot, isOpen: true, from: state.node, text, entries, &search)
        }
    }

    private func follow(
        _ name: Range<Int>, isOpen: Bool, from node: Int, _ text: Span<UInt8>, _ entries: [RouteTable.Entry],
        _ search: inout AmbiguitySearch
    ) {
        guard let child = child(text.extracting(name), below: node) else { return }
        enter(child, isOpen: isOpen, entries, &search)
    }

    private func enter(
        _ node: Int, isOpen: Bool, _ entries: [RouteTable.Entry], _ search: inout AmbiguitySearch
    ) {
        search.wait(at: AmbiguityState(node: node, isOpen: isOpen))
        if let list = listBelow(node) { search.offer(list, of: entries) }
    }

    private func offerEnd(_ node: Int, _ entries: [RouteTable.Entry], _ search: inout AmbiguitySearch) {
        if let list = listHere(node) { search.offer(list, of: entries) }
    }
}
