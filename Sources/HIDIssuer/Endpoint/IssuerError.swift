// SPDX-License-Identifier: Apache-2.0

internal import HIDDaemon
internal import HIDService

/// Why a client gets no token (PROTOCOL.md section 2); the raw values are the codes on the wire.
package enum IssuerError: String, Error, Sendable, CaseIterable {
    case badRequest = "bad_request"
    case appUnknown = "app_unknown"
    case platformNotEnabled = "platform_not_enabled"
    case challengeUnknown = "challenge_unknown"
    case attestationRejected = "attestation_rejected"
    case keyUnknown = "key_unknown"
    case keyProofRejected = "key_proof_rejected"
    case rateLimited = "rate_limited"
    case unavailable

    var status: Int {
        switch self {
        case .badRequest: 400
        case .appUnknown: 404
        case .platformNotEnabled, .attestationRejected, .keyProofRejected: 403
        case .challengeUnknown, .keyUnknown: 409
        case .rateLimited: 429
        case .unavailable: 503
        }
    }

    /// One sentence for the developer of an app; nothing that helps to get past a check.
    var message: StaticString {
        switch self {
        case .badRequest: "the request is not as the protocol wants it"
        case .appUnknown: "no such app_id"
        case .platformNotEnabled: "this platform is not enabled for the app"
        case .challengeUnknown: "the challenge is unknown, used, expired or not for this device; ask for a new one"
        case .attestationRejected: "the attestation was not accepted"
        case .keyUnknown: "no key of this device is registered; attest again"
        case .keyProofRejected: "the key proof was not accepted; attest again"
        case .rateLimited: "too many requests; try again later"
        case .unavailable: "no decision can be made now; try again later"
        }
    }
}

/// What a failed request is answered, besides its code.
package struct IssuerFailure: Error, Sendable, Equatable {
    package var error: IssuerError
    /// Seconds until another attempt makes sense.
    package var retryAfter: Int?
    /// What was really wrong, for log and metrics only.
    package var detail: String

    package init(_ error: IssuerError, detail: String = "", retryAfter: Int? = nil) {
        self.error = error
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The error object of the protocol.
    func answer(requestID: [UInt8], status: Int? = nil) -> WholeAnswer {
        var line = JSONLineWriter(capacity: 256)
        line.begin()
        line.beginObject("error")
        line.string("code", error.rawValue)
        line.constant("message", error.message)
        line.string("request_id", requestID)
        line.endObject()
        line.end()
        var answer = WholeAnswer(status: status ?? error.status, content: line.bytes)
        let seconds = retryAfter ?? (error == .unavailable || error == .rateLimited ? 1 : nil)
        if let seconds { answer.fields.append(.init("Retry-After", String(max(1, seconds)))) }
        return answer
    }
}
