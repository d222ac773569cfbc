// SPDX-License-Identifier: Apache-2.0

/// A connection of HTTP/1, or a stream of HTTP/2, with a request to begin.
protocol Newcomer: AnyObject {
    /// Its turn has come.
    ///
    /// Called on the loop.
    func admit()
}

/// Requests that have come but were not looked at yet, in the order of arrival.
///
/// While a loop has more events than a turn takes, what is under way goes first: an answer that is ready frees a
/// connection and memory, a request takes both. Begun one after the other as their events come, thousands of requests
/// would stand in front of the answers to the first. Confined to its loop.
struct AdmissionQueue {
    private var entries: [(newcomer: any Newcomer, since: UInt64)] = []
    private var head = 0

    /// How many begin in one turn.
    static let perTurn = 32

    var isEmpty: Bool { head == entries.count }

    mutating func append(_ newcomer: any Newcomer, now: UInt64) {
        entries.append((newcomer, now))
    }

    mutating func popFirst() -> (newcomer: any Newcomer, since: UInt64)? {
        guard head < entries.count else { return nil }
        let first = entries[head]
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: entries.capacity <= 4096)
            head = 0
        } else if head > 1024, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
        return first
    }
}
