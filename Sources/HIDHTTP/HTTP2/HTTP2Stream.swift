// SPDX-License-Identifier: Apache-2.0

/// Why a stream ended before its exchange was whole.
package enum HTTP2StreamLoss: Sendable, Equatable {
    /// The client reset it, with that error code (RFC 9113 section 7).
    case resetByPeer(UInt32)
    /// The client broke a rule of the stream or of the connection, or a limit was reached.
    case fault(HTTP2Fault)
    /// The connection ended under it.
    case connectionClosed
}

/// One stream of an HTTP/2 connection: what came of its request and what waits of its answer.
///
/// Owned by an `HTTP2Session`, confined to its loop.
package final class HTTP2Stream {
    /// The stream identifier (RFC 9113 section 5.1.1).
    package let id: Int32
    /// The head of the request, as octets of HTTP/1; empty when it was refused.
    package internal(set) var head = RequestHead()
    /// Field lines behind the content that may be passed on, as octets of HTTP/1 without the empty line.
    package internal(set) var trailers: [UInt8] = []
    /// Octets received for the stream, frame headers included.
    package internal(set) var bytesIn = 0
    /// Octets sent for the stream, frame headers included.
    package internal(set) var bytesOut = 0
    /// When the header block of the request began, on the session's clock.
    package internal(set) var began: UInt64
    /// When content last came or, without content, when the head was whole.
    package internal(set) var lastInput: UInt64
    /// When octets of the answer last left, or began to wait.
    package internal(set) var lastOutput: UInt64
    /// What the owner of the session keeps with the stream.
    package var context: AnyObject?

    // The request.
    var builder: HTTP2HeadBuilder?
    var trailerBuilder: HTTP2TrailerBuilder?
    var refusal: RequestFault?
    var input = ByteQueue()
    var received: UInt64 = 0
    var hasHead = false
    /// The client has ended the stream.
    var isRemoteEnded = false

    // What the delegate knows.
    var isTouched = false
    var isAnnounced = false
    var isEndTold = false
    var isLossTold = false
    var isReleased = false

    // The answer.
    var output = ByteQueue()
    var isAnswerBegun = false
    var isAnswerEnded = false
    /// Field lines to be sent behind the content.
    var answerTrailers: [UInt8]?
    /// END_STREAM has left.
    var isLocalEnded = false
    var isDeferred = false
    var isBackedUp = false

    // The end.
    var loss: HTTP2StreamLoss?
    /// We chose to reset it, so that its RST_STREAM says nothing about the client.
    var isResetByChoice = false
    /// The client's RST_STREAM has come.
    var isResetByPeer = false
    var isClosed = false
    /// Never shown to the delegate and without a slot.
    var isRefused = false
    var holdsSlot = false

    init(id: Int32, now: UInt64) {
        self.id = id
        began = now
        lastInput = now
        lastOutput = now
    }

    /// Whether the whole request has come.
    package var isRequestComplete: Bool { isRemoteEnded }
    /// Whether octets of the answer wait for the client.
    package var hasWaitingOutput: Bool { !output.isEmpty }
    /// Octets of the answer that wait.
    package var waitingOutput: Int { output.count }
    /// Whether the whole answer has been handed to the connection.
    package var isAnswerSent: Bool { isLocalEnded }
    /// Whether the stream has ended, one way or the other.
    package var isOver: Bool { isClosed || loss != nil }

    /// What the framing of the head says about the length, when it says one.
    var announcedLength: UInt64? {
        if case .length(let length) = head.framing { length } else { nil }
    }
}
