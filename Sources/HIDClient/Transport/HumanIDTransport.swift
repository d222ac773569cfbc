// SPDX-License-Identifier: Apache-2.0

/// One POST of a JSON text to the server.
public struct HumanIDTransportRequest: Sendable, Equatable {
    /// Where to.
    public let url: String
    /// The JSON text.
    public let body: [UInt8]
    /// How long the whole exchange may take.
    public let timeout: Duration
    /// The most octets of the answer's content that may be taken into memory.
    public let answerLimit: Int
}

/// What the server answered.
public struct HumanIDTransportAnswer: Sendable, Equatable {
    /// The status code.
    public let status: Int
    /// The value of `Retry-After`, if there was one.
    public let retryAfter: String?
    /// The content.
    public let body: [UInt8]

    /// Makes an answer.
    public init(status: Int, retryAfter: String? = nil, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// Why there was no answer.
public enum HumanIDTransportError: Error, Sendable, Equatable {
    /// Name resolution, connection, TLS or the exchange itself failed; the text says how.
    case network(String)
    /// The request's timeout ran out.
    case timeout
    /// The content is over the request's limit.
    case answerTooLarge
}

/// Carries the SDK's requests.
///
/// Requests are POSTs with `Content-Type: application/json`. Redirects are not followed, cookies and caches not used.
/// Any thread may call; a blocking implementation has to bring its own thread.
public protocol HumanIDTransport: Sendable {
    /// Sends one request and waits for the answer, whatever its status.
    ///
    /// - Throws: Why there is no answer.
    func send(_ request: HumanIDTransportRequest) async throws(HumanIDTransportError) -> HumanIDTransportAnswer
}
