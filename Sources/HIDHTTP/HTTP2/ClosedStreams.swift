// SPDX-License-Identifier: Apache-2.0

/// The streams that closed last, so that a late frame can be told from a forbidden one (RFC 9113 section 5.1).
struct ClosedStreams {
    private static let capacity = 512
    private var ids: [Int32] = []
    private var finished: [Bool] = []
    private var next = 0

    /// Remembers a stream; `byClient` when the client itself had ended or reset it.
    mutating func add(_ id: Int32, byClient: Bool) {
        guard ids.count == Self.capacity else {
            ids.append(id)
            finished.append(byClient)
            return
        }
        ids[next] = id
        finished[next] = byClient
        next = (next + 1) % Self.capacity
    }

    /// Whether the client had ended that stream itself; nil when it is not remembered.
    func endedByClient(_ id: Int32) -> Bool? {
        ids.firstIndex(of: id).map { finished[$0] }
    }
}
