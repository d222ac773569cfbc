// SPDX-License-Identifier: Apache-2.0

/// How names of upstreams become addresses.
package struct ResolverSettings: Sendable, Hashable {
    /// `127.0.0.1:5353`, `[::1]:53`; empty: those of /etc/resolv.conf.
    package var nameservers: [String] = []
    /// Answers are asked for again after their time to live, held to these two.
    package var minimumLife: Duration = .seconds(1)
    package var maximumLife: Duration = .seconds(300)
    /// For one question, repetitions included.
    package var timeout: Duration = .seconds(2)

    package init() {}
}

/// A good answer of the resolver.
struct ResolvedName: Equatable {
    var addresses: [PeerAddress]
    /// Seconds; of /etc/hosts 0.
    var life: Int
}

/// Why there is no good answer, in the library's words.
struct ResolverFault: Error, Equatable {
    let description: String
}

/// What is known of one name, and when to ask again: the last good answer stays whatever comes after it.
struct ResolutionState {
    enum Note: Equatable {
        case stale
        case unresolved
        case recovered
    }

    private let settings: ResolverSettings
    private var hasAnswer = false
    private var isFailing = false
    private var failures = 0

    /// After a failure the next question comes soon, so that an upstream is back as soon as its name is.
    private static let retryDelays: [UInt64] = [1, 1, 2, 2, 5].map { $0 * 1_000_000_000 }

    init(_ settings: ResolverSettings) {
        self.settings = settings
    }

    /// Returns what is worth telling, and nanoseconds until the next question.
    mutating func answered(life: Int) -> (note: Note?, delay: UInt64) {
        let wasFailing = isFailing
        (hasAnswer, isFailing, failures) = (true, false, 0)
        let least = max(settings.minimumLife.nanoseconds, 100_000_000)
        let most = max(settings.maximumLife.nanoseconds, least)
        let delay = min(max(UInt64(clamping: life) &* 1_000_000_000, least), most)
        return (wasFailing ? .recovered : nil, delay)
    }

    /// Returns what is worth telling, and nanoseconds until the next question.
    mutating func failed() -> (note: Note?, delay: UInt64) {
        let isFirst = !isFailing
        isFailing = true
        let delay = Self.retryDelays[min(failures, Self.retryDelays.count - 1)]
        failures += 1
        return (isFirst ? (hasAnswer ? .stale : .unresolved) : nil, delay)
    }
}
