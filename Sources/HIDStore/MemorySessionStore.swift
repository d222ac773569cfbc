// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The sessions of one process, bounded: when all places are taken, the device that was silent longest makes room.
package final class MemorySessionStore: SessionStore {
    private let shards: [Shard]
    private let idle: Int64
    private let retention: Int64

    /// Makes an empty store; `idle` ends a session, `retention` forgets it.
    package init(capacity: Int = 200_000, idle: Duration, retention: Duration) {
        let count = 16
        shards = (0..<count).map { _ in Shard(capacity: max(1, capacity / count)) }
        self.idle = Self.nanoseconds(idle)
        self.retention = Self.nanoseconds(retention)
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (product, overflow) = duration.components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product + duration.components.attoseconds / 1_000_000_000
    }

    package var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    package func touch(hid: [UInt8], address: () -> String, outcome: SessionOutcome, now: Int64) -> String {
        var hasher = Hasher()
        hasher.combine(hid)
        let shard = shards[Int(bitPattern: UInt(bitPattern: hasher.finalize()) % UInt(shards.count))]
        return shard.table.withLock { table in
            table.expire(before: now.subtractingReportingOverflow(retention).partialValue)
            return table.touch(hid, now: now, idle: idle) { session in
                session.lastSeen = max(session.lastSeen, now)
                session.count(outcome)
                session.note(address())
            }
        }
    }

    package func list(_ query: SessionQuery) -> (sessions: [Session], next: SessionCursor?) {
        var found = shards.flatMap { shard in shard.table.withLock { $0.sessions(matching: query) } }
        found.sort { ($0.lastSeen, $1.id) > ($1.lastSeen, $0.id) }
        guard found.count > query.limit, query.limit > 0 else { return (found, nil) }
        let page = Array(found[..<query.limit])
        return (page, page.last.map { SessionCursor(lastSeen: $0.lastSeen, id: $0.id) })
    }

    package func session(_ id: String) -> Session? {
        for shard in shards {
            if let session = shard.table.withLock({ $0.session(id) }) { return session }
        }
        return nil
    }

    private final class Shard: Sendable {
        let table: Mutex<SessionTable>

        init(capacity: Int) {
            table = Mutex(SessionTable(capacity: capacity))
        }
    }
}

extension Session {
    mutating func count(_ outcome: SessionOutcome) {
        requests += 1
        switch outcome {
        case .passed: passed += 1
        case .blocked: blocked += 1
        case .wouldBlock: wouldBlock += 1
        }
    }

    mutating func note(_ address: String) {
        guard addresses.count < Self.maximumAddresses, !addresses.contains(address) else { return }
        addresses.append(address)
    }
}

/// Sessions in the order of their last use: a table and a doubly linked list over it.
struct SessionTable {
    private struct Node {
        var session: Session
        var hid: [UInt8]
        var newer: Int
        var older: Int
    }

    private static let none = -1
    private let capacity: Int
    private var nodes: [Node] = []
    private var free: [Int] = []
    private var current: [[UInt8]: Int] = [:]
    private var byID: [String: Int] = [:]
    private var newest = SessionTable.none
    private var oldest = SessionTable.none

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { byID.count }

    /// Runs `change` on the session of the device, a new one if it was idle for longer, and returns its id.
    mutating func touch(_ hid: [UInt8], now: Int64, idle: Int64, change: (inout Session) -> Void) -> String {
        if let index = current[hid], now &- nodes[index].session.lastSeen <= idle {
            change(&nodes[index].session)
            unlink(index)
            link(index)
            return nodes[index].session.id
        }
        while byID.count >= capacity, oldest != Self.none { remove(oldest) }
        var session = Session(id: Self.makeID(), hid: String(decoding: hid, as: UTF8.self), firstSeen: now)
        change(&session)
        let index = insert(Node(session: session, hid: hid, newer: Self.none, older: Self.none))
        current[hid] = index
        byID[session.id] = index
        link(index)
        return session.id
    }

    /// Forgets sessions last seen before `moment`.
    ///
    /// A step per call keeps each call short.
    mutating func expire(before moment: Int64) {
        var steps = 8
        while steps > 0, oldest != Self.none, nodes[oldest].session.lastSeen < moment {
            remove(oldest)
            steps -= 1
        }
    }

    func session(_ id: String) -> Session? {
        byID[id].map { nodes[$0].session }
    }

    func sessions(matching query: SessionQuery) -> [Session] {
        var found: [Session] = []
        var index = newest
        while index != Self.none {
            let session = nodes[index].session
            // Those last seen at one moment are ordered by id, which this walk is not: all of them are candidates.
            if found.count > query.limit, let last = found.last, session.lastSeen != last.lastSeen { break }
            if query.matches(session) { found.append(session) }
            index = nodes[index].older
        }
        return found
    }

    private static func makeID() -> String {
        let digits = Array("0123456789abcdef".utf8)
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<2).flatMap { _ -> [UInt8] in
            let number = generator.next() as UInt64
            return (0..<16).map { digits[Int(number >> UInt64(4 * $0) & 15)] }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func insert(_ node: Node) -> Int {
        if let index = free.popLast() {
            nodes[index] = node
            return index
        }
        nodes.append(node)
        return nodes.count - 1
    }

    private mutating func remove(_ index: Int) {
        unlink(index)
        byID[nodes[index].session.id] = nil
        if current[nodes[index].hid] == index { current[nodes[index].hid] = nil }
        nodes[index].session.addresses = []
        free.append(index)
    }

    /// Puts a node where its `lastSeen` belongs: in front, but for clocks that differ a little or step back.
    private mutating func link(_ index: Int) {
        let lastSeen = nodes[index].session.lastSeen
        var (newer, older) = (Self.none, newest)
        while older != Self.none, nodes[older].session.lastSeen > lastSeen {
            (newer, older) = (older, nodes[older].older)
        }
        nodes[index].newer = newer
        nodes[index].older = older
        if newer != Self.none { nodes[newer].older = index } else { newest = index }
        if older != Self.none { nodes[older].newer = index } else { oldest = index }
    }

    private mutating func unlink(_ index: Int) {
        let (newer, older) = (nodes[index].newer, nodes[index].older)
        if newer != Self.none { nodes[newer].older = older } else { newest = older }
        if older != Self.none { nodes[older].newer = newer } else { oldest = newer }
    }
}

extension SessionQuery {
    func matches(_ session: Session) -> Bool {
        if let hid, session.hid != hid { return false }
        if let address, !session.addresses.contains(address) { return false }
        if let since, session.lastSeen < since { return false }
        if let cursor, (session.lastSeen, cursor.id) >= (cursor.lastSeen, session.id) { return false }
        switch outcome {
        case nil: return true
        case .passed: return session.passed > 0
        case .blocked: return session.blocked > 0
        case .wouldBlock: return session.wouldBlock > 0
        }
    }
}
