// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// An answer of the gateway itself.
package struct Answer: Sendable, Equatable {
    package var decision: Decision
    package var reason: StopReason
    package var status: Int
    /// Seconds for Retry-After, where trying again makes sense.
    package var retryAfter: Int?
    /// Value of Allow for 405.
    package var allow: String?
    /// How a refusal looks; nil for what is no question of trust.
    package var block: BlockAnswer?

    package init(
        _ decision: Decision, _ reason: StopReason, status: Int, retryAfter: Int? = nil, allow: String? = nil,
        block: BlockAnswer? = nil
    ) {
        self.decision = decision
        self.reason = reason
        self.status = status
        self.retryAfter = retryAfter
        self.allow = allow
        self.block = block
    }

    /// The word for the status in the answer's body.
    ///
    /// It tells no more than the status does.
    var word: StaticString {
        switch status {
        case 400: "bad_request"
        case 405: "method_not_allowed"
        case 408: "request_timeout"
        case 413: "content_too_large"
        case 414: "uri_too_long"
        case 417: "expectation_failed"
        case 429: "rate_limited"
        case 431: "header_too_large"
        case 501: "not_implemented"
        case 502: "bad_gateway"
        case 503: "unavailable"
        case 504: "gateway_timeout"
        case 505: "version_not_supported"
        default: "blocked"
        }
    }

    /// The body: the same octets for every refusal but for the two codes that lead an operator to its reason.
    func body(requestID: [UInt8], supportCode: [UInt8]?) -> [UInt8] {
        if let block, block.body == .empty { return [] }
        var out = Array("{\"error\":{\"code\":\"".utf8)
        out.append(literal: block == nil || status != block?.status ? word : "blocked")
        out.append(contentsOf: Array("\",\"message\":\"".utf8))
        out.append(literal: decision == .block ? "the request was not accepted" : "the request could not be served")
        out.append(contentsOf: Array("\",\"request_id\":\"".utf8))
        out.append(contentsOf: requestID)
        if let supportCode, block?.supportCode ?? true {
            out.append(contentsOf: Array("\",\"support_code\":\"".utf8))
            out.append(contentsOf: supportCode)
        }
        out.append(contentsOf: Array("\"}}\n".utf8))
        return out
    }
}
