// SPDX-License-Identifier: Apache-2.0

/// Who waits for a connection, in the order of arrival; all wait equally long.
struct WaitQueue<Waiter: AnyObject> {
    struct Entry {
        let waiter: Waiter
        let isHeadRequest: Bool
        let preamble: [UInt8]
        /// Monotonic nanoseconds.
        let since: UInt64
        let deadline: UInt64
    }

    private var entries: [Entry] = []
    private var head = 0

    var count: Int { entries.count - head }
    var first: Entry? { head < entries.count ? entries[head] : nil }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
    }

    mutating func popFirst() -> Entry? {
        guard let first else { return nil }
        head += 1
        if head > 64, head * 2 > entries.count { compact() }
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
        }
        return first
    }

    /// Takes one out wherever it stands; false when it is not there.
    mutating func remove(where isWanted: (Waiter) -> Bool) -> Bool {
        guard let index = entries[head...].firstIndex(where: { isWanted($0.waiter) }) else { return false }
        entries.remove(at: index)
        return true
    }

    private mutating func compact() {
        entries.removeFirst(head)
        head = 0
    }
}
