// SPDX-License-Identifier: Apache-2.0

/// Why a request never became, or stopped being, a whole message.
package enum RequestFailure: Sendable, Equatable {
    /// The head breaks a rule; nothing of it may be used.
    case head(RequestFault)
    /// The content breaks its framing.
    case content(BodyFault)
    /// No complete head within `timeouts.header`.
    case headTimeout
    /// No content within `timeouts.body_idle`.
    case contentTimeout
}

/// Why a client will not get (the rest of) its answer.
package enum ClientLoss: Sendable, Equatable {
    /// It closed or reset the connection.
    case closed
    /// It took nothing for `timeouts.write`.
    case writeTimeout
    /// The server cut it, at the end of a drain.
    case cut
}

/// The application side of one downstream connection.
///
/// All calls come on the connection's loop.
///
/// A span is valid only during the call that brings it.
package protocol ServerHandler: AnyObject {
    /// A checked head is in `connection.request`. Content follows unless the framing says there is none.
    func requestBegan(_ connection: ServerConnection)
    /// Content octets, without any transfer coding.
    func requestContent(_ connection: ServerConnection, _ content: Span<UInt8>)
    /// The request is complete.
    func requestEnded(_ connection: ServerConnection)
    /// The request cannot go on. The handler answers if it still can; the connection closes afterwards.
    func requestFailed(_ connection: ServerConnection, _ failure: RequestFailure)
    /// What was written has left; more may follow.
    func responseDrained(_ connection: ServerConnection)
    /// The whole answer is on its way to the client; `octets` went out for this exchange.
    func responseEnded(_ connection: ServerConnection)
    /// The client is lost while an exchange was under way.
    func clientLost(_ connection: ServerConnection, _ loss: ClientLoss)
}
