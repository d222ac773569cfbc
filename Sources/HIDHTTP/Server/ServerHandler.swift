// SPDX-License-Identifier: Apache-2.0

/// Why a request never became, or stopped being, a whole message.
package enum RequestFailure: Sendable, Equatable {
    /// The head breaks a rule; nothing of it may be used.
    case head(RequestFault)
    /// The content breaks its framing.
    case content(BodyFault)
    /// No complete head within `timeouts.header`.
    case headTimeout
    /// Less than 1 KiB of content within `timeouts.body_idle`.
    case contentTimeout
    /// The loop is so far behind that this request was chosen not to be served.
    case overload
    /// A rule or a limit of HTTP/2 cut the stream before its exchange began, or a connection without one.
    ///
    /// There is nobody to answer, and it is the only call that the handler gets.
    case http2(HTTP2Fault)
}

/// Why a client will not get (the rest of) its answer.
package enum ClientLoss: Sendable, Equatable {
    /// It closed or reset the connection.
    case closed
    /// It took less than 1 KiB for `timeouts.write`.
    case writeTimeout
    /// Nothing passed through its tunnel for `timeouts.tunnel_idle`.
    case tunnelIdle
    /// The server cut it, at the end of a drain.
    case cut
    /// A rule or a limit of HTTP/2 cut its stream, or the connection under it.
    case http2(HTTP2Fault)
}

/// The application side of the requests of one stream.
///
/// All calls come on the connection's loop.
///
/// A span is valid only during the call that brings it.
package protocol ServerHandler: AnyObject {
    /// A checked head is in `stream.request`. Content follows unless the framing says there is none.
    func requestBegan(_ stream: ServerStream)
    /// Content octets, without any transfer coding.
    func requestContent(_ stream: ServerStream, _ content: Span<UInt8>)
    /// The request is complete; its trailers are in `stream.trailers`.
    ///
    /// In a tunnel: the client sends no more.
    func requestEnded(_ stream: ServerStream)
    /// The request cannot go on. The handler answers if it still can; the connection closes afterwards.
    func requestFailed(_ stream: ServerStream, _ failure: RequestFailure)
    /// What was written has left; more may follow.
    func responseDrained(_ stream: ServerStream)
    /// The whole answer is on its way to the client; `octets` went out for this exchange.
    func responseEnded(_ stream: ServerStream)
    /// The client is lost while an exchange was under way.
    func clientLost(_ stream: ServerStream, _ loss: ClientLoss)
}
