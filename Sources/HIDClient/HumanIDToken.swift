// SPDX-License-Identifier: Apache-2.0

/// A token for one action, as it goes into the field `X-HID-Token`.
///
/// A gateway accepts a token once. Its life is counted by the monotonic clock from the moment at which the request for
/// it was sent, so it is never shown fresher than it is: neither a slow answer, nor a suspended process, nor a changed
/// wall clock prolongs it.
public struct HumanIDToken: Sendable, Equatable {
    /// The text of the token.
    public let value: String
    /// Whether the token says that the device is refused, read without verifying it.
    ///
    /// Such a token is sent as any other: the decision is the gateway's, and in monitoring it passes.
    public let isBlocked: Bool
    /// The verdict in the token, read without verifying it; nil when it cannot be read.
    public let verdict: String?
    /// The device's identifier at this application, as the server gave it.
    public let hid: String?

    let issuedTo: [UInt8]
    let sentAt: Duration
    let life: Duration
    private let clock: any HumanIDClock

    init(_ answer: TokenAnswer, issuedTo publicKey: [UInt8], sentAt: Duration, clock: any HumanIDClock) {
        value = answer.token
        isBlocked = answer.isBlocked
        verdict = answer.verdict
        hid = answer.hid
        issuedTo = publicKey
        self.sentAt = sentAt
        life = .seconds(answer.expiresIn)
        self.clock = clock
    }

    /// Whole seconds of life left now; 0 when there are none.
    public var expiresIn: Int { Int(clamping: lifeLeft(at: clock.now()).components.seconds) }

    /// Whether no whole second of life is left now.
    public var isExpired: Bool { expiresIn == 0 }

    /// Whether two tokens are the same text.
    public static func == (left: HumanIDToken, right: HumanIDToken) -> Bool { left.value == right.value }

    /// The life left; zero also when the clock stands before the moment of sending.
    func lifeLeft(at now: Duration) -> Duration {
        now < sentAt ? .zero : max(.zero, sentAt + life - now)
    }
}

/// What goes into a request that is signed as a whole (profile v2): a token of its own and the signature bound to it.
public struct HumanIDSignedHeaders: Sendable, Equatable {
    /// The field that carries the token.
    public static let tokenField = "X-HID-Token"
    /// The field that carries the signature.
    public static let signatureField = "X-HID-Signature"

    /// The token that the signature covers; no other request gets it.
    public let token: HumanIDToken
    /// The value of `X-HID-Signature`.
    public let signature: String

    /// Both fields; put them into the request exactly once each.
    public var headers: [String: String] {
        [Self.tokenField: token.value, Self.signatureField: signature]
    }
}
