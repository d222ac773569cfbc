// SPDX-License-Identifier: Apache-2.0

/// How one exchange ended for its session.
package enum SessionOutcome: String, Sendable, CaseIterable {
    case passed
    case blocked
    case wouldBlock = "would_block"
}

/// The traffic of one device in one sitting.
package struct Session: Sendable, Equatable {
    /// 32 hexadecimal digits, made here.
    package var id: String
    /// What it is grouped by: `hid:` and the device identifier.
    package var key: String
    package var hid: String
    /// Nanoseconds since 1970.
    package var firstSeen: Int64
    package var lastSeen: Int64
    package var requests = 0
    package var passed = 0
    package var blocked = 0
    package var wouldBlock = 0
    /// In the order they were first seen, at most `Session.maximumAddresses`.
    package var addresses: [String] = []

    /// Further addresses are counted with the others but not kept.
    package static let maximumAddresses = 32

    package init(id: String, hid: String, firstSeen: Int64) {
        self.id = id
        self.hid = hid
        key = "hid:" + hid
        self.firstSeen = firstSeen
        lastSeen = firstSeen
    }
}

/// Which sessions to list.
///
/// Every condition given must hold.
package struct SessionQuery: Sendable {
    package var hid: String?
    package var address: String?
    /// Last seen at or after, nanoseconds since 1970.
    package var since: Int64?
    package var outcome: SessionOutcome?
    package var limit = 100
    /// Where the last page ended.
    package var cursor: SessionCursor?

    package init() {}
}

/// A place in the list of sessions, which is ordered by `lastSeen`, newest first, then by id.
package struct SessionCursor: Sendable, Equatable {
    package var lastSeen: Int64
    package var id: String

    package init(lastSeen: Int64, id: String) {
        self.lastSeen = lastSeen
        self.id = id
    }
}

/// Keeps sessions.
///
/// Safe from any thread.
package protocol SessionStore: AnyObject, Sendable {
    /// Counts an exchange in the session of its device. `now` is wall-clock nanoseconds. Returns the session's id.
    func touch(hid: [UInt8], address: () -> String, outcome: SessionOutcome, now: Int64) -> String
    /// One page, newest first, and where the next one starts.
    func list(_ query: SessionQuery) -> (sessions: [Session], next: SessionCursor?)
    /// One session by id.
    func session(_ id: String) -> Session?
    /// Sessions kept now.
    var count: Int { get }
}
