// SPDX-License-Identifier: Apache-2.0

/// What an `HTTP2Session` tells its owner.
///
/// Calls come out of `receive`, `resume`, `transmit` and `deliver`, never from inside the framing layer; every method of
/// the session may be called back. A stream that was reset before its request could be told is never told.
package protocol HTTP2SessionDelegate: AnyObject {
    /// A checked head is in `stream.head`.
    ///
    /// `requestEnded` follows in any case, unless the stream is lost.
    func requestBegan(_ stream: HTTP2Stream)
    /// The request is well-formed and over a limit; the status of the fault answers it.
    func requestRefused(_ stream: HTTP2Stream, _ fault: RequestFault)
    /// A stream was cut before its request could be told.
    ///
    /// Its head is malformed, or one too many, or what was wrong came with it.
    func requestCut(_ stream: HTTP2Stream, _ fault: HTTP2Fault)
    /// Whether no content is wanted now; `resume` tells what came meanwhile.
    func holdsContent(_ stream: HTTP2Stream) -> Bool
    /// Content octets; the span is valid only during the call, and its octets are taken.
    func requestContent(_ stream: HTTP2Stream, _ content: Span<UInt8>)
    /// The request is whole: its content has the length it announced; trailers are in `stream.trailers`.
    func requestEnded(_ stream: HTTP2Stream)
    /// The stream ended before its exchange was whole.
    func streamLost(_ stream: HTTP2Stream, _ loss: HTTP2StreamLoss)
    /// The client took enough of the answer for its producer to go on.
    func outputDrained(_ stream: HTTP2Stream)
    /// The end of the answer was handed to the connection.
    func answerSent(_ stream: HTTP2Stream)
    /// A limit or rule cut a stream or, when `stream` is 0, the connection.
    ///
    /// Once for each cut, behind what it means for streams; for counting and logging.
    func faultOccurred(_ fault: HTTP2Fault, stream: Int32)
}
