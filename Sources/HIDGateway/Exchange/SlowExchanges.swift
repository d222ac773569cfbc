// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// The exchanges of a loop that hold an upstream connection while their client is slow.
///
/// They cost others nothing until an upstream has no connection left: then the one whose client has stood still for
/// longest is cut. Confined to the loop.
struct SlowExchanges {
    private var drivers: [ObjectIdentifier: ExchangeDriver] = [:]

    /// How long a client must have stood still before it may be cut for others, in nanoseconds.
    private static let patience: UInt64 = 200_000_000

    var isEmpty: Bool { drivers.isEmpty }

    mutating func insert(_ driver: ExchangeDriver) {
        drivers[ObjectIdentifier(driver)] = driver
    }

    mutating func remove(_ driver: ExchangeDriver) {
        drivers[ObjectIdentifier(driver)] = nil
    }

    /// The one to cut so that another gets a connection to that upstream; nil when none has been slow for long.
    func slowest(at upstream: String, now: UInt64) -> ExchangeDriver? {
        var found: (driver: ExchangeDriver, since: UInt64)?
        for driver in drivers.values {
            guard let since = driver.slowSince, now &- since >= Self.patience, driver.forward?.name == upstream,
                found.map({ since < $0.since }) ?? true
            else { continue }
            found = (driver, since)
        }
        return found?.driver
    }
}

extension ExchangeDriver {
    /// Content that counts as progress.
    static var leastProgress: Int { 1 << 10 }

    /// The client holds an upstream connection from now on and owes us something.
    func becameSlow() {
        slowSince = loop.now
        slowProgress = 0
        services.slow.insert(self)
    }

    /// The client did its part.
    func isSlowNoMore() {
        guard slowSince != nil else { return }
        slowSince = nil
        services.slow.remove(self)
    }

    /// Content came from a client whose request is not complete.
    func progressed(_ count: Int) {
        guard slowSince != nil, phase == .forwarding else { return }
        slowProgress += count
        guard slowProgress >= Self.leastProgress else { return }
        slowProgress = 0
        slowSince = loop.now
    }

    /// Cuts the exchange, so that its upstream connection is free for another.
    func cutForOthers() {
        guard let stream else { return isSlowNoMore() }
        end = .slowClient
        giveUp(stream, Answer(.reject, .gateway(.slowClient), status: 408))
    }
}
