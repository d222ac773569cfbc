// SPDX-License-Identifier: Apache-2.0

/// Names one token for the replay guard: 128 bits of a digest over kid, hid and jti.
package struct ReplayKey: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// One attempt to use a token.
package struct ReplayUse: Sendable, Equatable {
    package var key: ReplayKey
    /// What the token is used for; only an equal request may repeat it within the grace.
    package var fingerprint: UInt64
    /// How long the mark must live, in nanoseconds: at least until the token is no longer accepted.
    package var life: UInt64
    /// Nanoseconds in which an equal request may come again; 0: never.
    package var grace: UInt64

    package init(key: ReplayKey, fingerprint: UInt64, life: UInt64, grace: UInt64) {
        self.key = key
        self.fingerprint = fingerprint
        self.life = life
        self.grace = grace
    }
}

/// What became of an attempt.
package enum ReplayAnswer: Sendable, Equatable {
    /// The first use; it is marked now.
    case first
    /// An equal request within the grace of the first use.
    case graced
    /// Used before.
    case repeated
    /// No room for another mark: nothing live is ever thrown out for it.
    case full
    /// The store cannot tell.
    case unavailable
}

/// Remembers used tokens: the first use wins, whoever asks at the same time.
package protocol ReplayStore: AnyObject, Sendable {
    /// Marks a token as used, once. `now` is monotonic nanoseconds. The answer comes in place or later, on the loop
    /// that asked.
    func useOnce(_ use: ReplayUse, now: UInt64, answer: @escaping (ReplayAnswer) -> Void)
}
