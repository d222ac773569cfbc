// SPDX-License-Identifier: Apache-2.0

/// Counts what a client can send for nothing, and says when it is too much (RFC 9113 section 10.5).
struct FrameBudget {
    private let limits: HTTP2Limits
    private var streams = FrameCount()
    private var resets = FrameCount()
    private var settings = FrameCount()
    private var pings = FrameCount()
    private var priorities = FrameCount()
    private var emptyData = FrameCount()
    private var windowUpdates = FrameCount()
    private var emptyHeaders = FrameCount()
    private var strays = FrameCount()
    private var dataSent = FrameCount()

    init(limits: HTTP2Limits) {
        self.limits = limits
    }

    /// A stream was opened.
    mutating func streamOpened(at now: UInt64) {
        _ = streams.add(at: now)
    }

    /// A stream was reset by the client, or by us because of what the client did.
    ///
    /// More than half of many streams is an attack; one in five never is, however fast they come.
    mutating func streamReset(at now: UInt64) -> HTTP2Fault? {
        let count = resets.add(at: now)
        let opened = streams.count(at: now)
        let isMost = count > limits.resets && count * 2 > opened
        let isMuch = count > limits.manyResets && count * 4 > opened
        return isMost || isMuch ? .rapidReset : nil
    }

    /// A DATA frame was sent, for which the client may open its windows.
    mutating func sentData(at now: UInt64) {
        _ = dataSent.add(at: now)
    }

    mutating func emptyDataFrame(at now: UInt64) -> HTTP2Fault? {
        emptyData.add(at: now) > limits.emptyDataFrames ? .emptyDataFlood : nil
    }

    mutating func emptyHeader(at now: UInt64) -> HTTP2Fault? {
        emptyHeaders.add(at: now) > limits.emptyHeaders ? .emptyHeaderFlood : nil
    }

    mutating func strayFrame(at now: UInt64) -> HTTP2Fault? {
        strays.add(at: now) > limits.strayFrames ? .strayFrameFlood : nil
    }

    /// A control frame came.
    mutating func controlFrame(_ kind: FrameHeader.Kind, at now: UInt64) -> HTTP2Fault? {
        switch kind {
        case .settings: return settings.add(at: now) > limits.settingsFrames ? .settingsFlood : nil
        case .ping: return pings.add(at: now) > limits.pingFrames ? .pingFlood : nil
        case .priority: return priorities.add(at: now) > limits.priorityFrames ? .priorityFlood : nil
        case .windowUpdate:
            let earned = dataSent.count(at: now) * limits.windowUpdatesPerData
            return windowUpdates.add(at: now) > limits.windowUpdateFrames + earned ? .windowUpdateFlood : nil
        case .unknown, .goAway: return strayFrame(at: now)
        case .data, .headers, .continuation, .resetStream, .pushPromise: return nil
        }
    }
}
