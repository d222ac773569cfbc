// SPDX-License-Identifier: Apache-2.0

/// Which call failed, and why.
public enum HumanIDError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no token.
    case getTokenFailed(HumanIDFailure)
    /// There is no signature.
    case signRequestBodyFailed(HumanIDFailure)
    /// Something that no other case describes; the text is for a bug report.
    case unknownError(String)

    /// Why; nil for `unknownError`.
    public var failure: HumanIDFailure? {
        switch self {
        case .getTokenFailed(let failure), .signRequestBodyFailed(let failure): failure
        case .unknownError: nil
        }
    }

    /// Whether the same call can succeed later without a change of the application, its configuration or the device.
    public var isRetryable: Bool { failure?.isRetryable ?? false }

    /// How long the server asked to be left alone, if it did.
    public var retryAfter: Duration? { failure?.retryAfter }

    /// What failed and why, in lower case and without a full stop; without secrets.
    public var description: String {
        switch self {
        case .getTokenFailed(let failure): "no token: \(failure)"
        case .signRequestBodyFailed(let failure): "no signature: \(failure)"
        case .unknownError(let text): "unknown error: \(text)"
        }
    }
}

/// Why a call failed.
public enum HumanIDFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The server could not be reached; the text is the network library's.
    case network(String)
    /// The server or the device's key took longer than the configuration allows.
    case timeout
    /// The server wants fewer calls.
    case rateLimited(retryAfter: Duration?)
    /// The server refused this application or device: an error code of the protocol, and the id of its log line.
    case rejected(code: String, requestID: String?)
    /// The server cannot decide at the moment.
    case unavailable(retryAfter: Duration?)
    /// The answer is not one of the protocol.
    case badAnswer(String)
    /// The device's key cannot be made, used or attested.
    case keyUnavailable(HumanIDKeyError)
    /// The token was past its life before its answer had been read.
    case expiredOnArrival
    /// The monotonic clock ran backwards while the server answered, so that nothing can be said about the token's life.
    case clockRanBackwards
    /// No token was got before, so there is nothing that the signature would go with.
    case noToken
    /// A part of the request to sign cannot stand in a request.
    case invalidRequest(String)
    /// The task that called was cancelled.
    case cancelled

    /// Whether the same call can succeed later without a change of the application, its configuration or the device.
    public var isRetryable: Bool {
        switch self {
        case .network, .timeout, .rateLimited, .unavailable, .badAnswer, .expiredOnArrival, .clockRanBackwards: true
        case .keyUnavailable(let error): error.isRetryable
        // Both are over with the next challenge.
        case .rejected(let code, _): code == "challenge_unknown" || code == "key_unknown"
        case .noToken, .invalidRequest, .cancelled: false
        }
    }

    /// How long the server asked to be left alone, if it did.
    public var retryAfter: Duration? {
        switch self {
        case .rateLimited(let delay), .unavailable(let delay): delay
        default: nil
        }
    }

    /// Why, in lower case and without a full stop; without secrets.
    public var description: String {
        switch self {
        case .network(let words): "the server cannot be reached: \(words)"
        case .timeout: "it took too long"
        case .rateLimited: "the server wants fewer calls"
        case .rejected(let code, let requestID): "refused by the server: \(code)" + (requestID.map { " (\($0))" } ?? "")
        case .unavailable: "the server is unavailable"
        case .badAnswer(let fault): "the server's answer is not of the protocol: \(fault)"
        case .keyUnavailable(let error): "\(error)"
        case .expiredOnArrival: "the answer came after the end of the token's life"
        case .clockRanBackwards: "the monotonic clock ran backwards"
        case .noToken: "get a token first"
        case .invalidRequest(let fault): fault
        case .cancelled: "the calling task was cancelled"
        }
    }
}

/// Why a key holder cannot do what it is asked.
public enum HumanIDKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// This device has no such keys, or not for this application: a simulator, an app extension, a desktop.
    case unsupported(String)
    /// The key cannot be used now: the device is locked, its storage busy, the vendor's service out of reach.
    case unavailable(String)
    /// The key is gone for good, or is no longer the current one; the SDK makes and attests a new one.
    case invalidated
    /// What is stored is damaged; it is neither used nor replaced until somebody takes it away.
    case corrupt(String)
    /// The platform refused to attest the key.
    case attestationFailed(String)
    /// The key holder gave something that is no ECDSA P-256 signature.
    case malformedSignature

    /// Whether the same call can succeed later by itself.
    public var isRetryable: Bool {
        switch self {
        case .unavailable, .invalidated: true
        case .unsupported, .corrupt, .attestationFailed, .malformedSignature: false
        }
    }

    /// What is wrong, in lower case and without a full stop; without secrets.
    public var description: String {
        switch self {
        case .unsupported(let words): "no device keys here: \(words)"
        case .unavailable(let words): "the device key cannot be used now: \(words)"
        case .invalidated: "the device key is gone or replaced"
        case .corrupt(let words): "the stored device key is damaged: \(words)"
        case .attestationFailed(let words): "the device key cannot be attested: \(words)"
        case .malformedSignature: "the key holder gave no ECDSA P-256 signature"
        }
    }
}
