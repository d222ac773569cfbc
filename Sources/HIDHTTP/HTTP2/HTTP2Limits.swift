// SPDX-License-Identifier: Apache-2.0

/// What one HTTP/2 connection may cost.
///
/// A window is the last ten seconds (`FrameCount.seconds`). The head of a request obeys `HeadLimits` as in HTTP/1.
package struct HTTP2Limits: Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 section 6.5.2); a stream counts until our work for it has ended.
    package var concurrentStreams = 100
    /// Octets of one header block as it is coded, over all its frames.
    package var headerBlock = 64 << 10
    /// CONTINUATION frames of one header block.
    package var continuations = 8
    /// SETTINGS_HEADER_TABLE_SIZE: octets of the decoder's dynamic table.
    package var headerTable = 4_096
    /// SETTINGS_INITIAL_WINDOW_SIZE: octets of content one stream may have on the way to a slow application.
    package var streamWindow = 64 << 10
    /// The same for all streams of the connection.
    package var connectionWindow = 1 << 20
    /// Octets of the head of an answer before it is coded; the upstream's own limits are far below.
    package let answerHead = 1 << 20
    /// Octets of an answer that may wait in a stream before its producer is paused.
    package var streamOutput = 64 << 10
    /// Octets of all answers that may wait in a connection before all producers are paused.
    package var connectionOutput = 2 << 20
    /// Octets that may wait in a connection at all, whatever producers do.
    package var bufferedOctets = 32 << 20
    /// SETTINGS and PING acknowledgements that may wait to be sent.
    package var queuedAcknowledgements = 1_000
    /// Resets in a window from which on they may not be more than half of the streams.
    package var resets = 100
    /// Resets in a window from which on they may not be more than a quarter of the streams.
    package var manyResets = 1_000
    /// SETTINGS frames in a window.
    package var settingsFrames = 100
    /// PING frames in a window.
    package var pingFrames = 1_000
    /// PRIORITY and PRIORITY_UPDATE frames in a window.
    package var priorityFrames = 1_000
    /// DATA frames without content that do not end a stream, in a window.
    package var emptyDataFrames = 100
    /// WINDOW_UPDATE frames in a window, beyond `windowUpdatesPerData` for each DATA frame sent.
    package var windowUpdateFrames = 1_000
    /// WINDOW_UPDATE frames that each DATA frame sent earns.
    package let windowUpdatesPerData = 4
    /// Header blocks and CONTINUATION frames of no octets, and fields with no name, in a window.
    package var emptyHeaders = 10
    /// Frames of unknown types and for streams long gone, in a window.
    package var strayFrames = 1_000

    package init() {}
}
