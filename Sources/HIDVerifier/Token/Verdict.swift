// SPDX-License-Identifier: Apache-2.0

/// What the issuer says about the device; the words are compared exactly.
public enum Verdict: String, Sendable, Equatable {
    /// A genuine device that satisfies the application's policy.
    case human
    /// Genuine, but noticed; the route decides.
    case suspicious
    /// Driven by a program.
    case bot
    /// Genuine hardware that the application does not want.
    case blocked
    /// Missing, of another type, or a word that this version does not know.
    case unknown
}
