// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@testable import HIDIssuer

@Suite struct RateLimiterTests {
    private static let start: UInt64 = 5_000_000_000_000
    private static let second: UInt64 = 1_000_000_000

    private func admitted(_ limiter: RateLimiter<String>, _ key: String, now: UInt64, of attempts: Int = 200) -> Int {
        (0..<attempts).count { _ in limiter.excess(key, now: now) == nil }
    }

    @Test(arguments: [1, 2, 5, 50, 199]) func `a full bucket holds exactly its count`(count: Int) {
        let limiter = RateLimiter<String>(rate: Rate(count: count, per: .seconds(1)))
        #expect(admitted(limiter, "a", now: Self.start) == count)
        #expect(admitted(limiter, "b", now: Self.start) == count)
        #expect(limiter.excess("a", now: Self.start) != nil)
    }

    @Test func `a bucket fills evenly and never beyond its size`() {
        let limiter = RateLimiter<String>(rate: Rate(count: 10, per: .seconds(1)))
        #expect(admitted(limiter, "a", now: Self.start) == 10)
        var now = Self.start
        for _ in 0..<20 {
            now += Self.second / 10 - 1
            #expect(limiter.excess("a", now: now) == 1)
            now += 1
            #expect(limiter.excess("a", now: now) == nil)
        }
        now += Self.second / 2
        #expect(admitted(limiter, "a", now: now) == 5)
        now += 3600 * Self.second
        #expect(admitted(limiter, "a", now: now) == 10)
    }

    @Test func `the wait that is told is enough and no longer than needed`() throws {
        let limiter = RateLimiter<String>(rate: Rate(count: 3, per: .seconds(60)))
        #expect(admitted(limiter, "a", now: Self.start) == 3)
        let wait = try #require(limiter.excess("a", now: Self.start))
        #expect(wait == 20 * Self.second)
        #expect(limiter.excess("a", now: Self.start + wait - 1) != nil)
        #expect(limiter.excess("a", now: Self.start + wait) == nil)
    }

    @Test func `refused attempts cost nothing`() {
        let limiter = RateLimiter<String>(rate: Rate(count: 1, per: .seconds(1)))
        #expect(admitted(limiter, "a", now: Self.start, of: 10_000) == 1)
        #expect(limiter.excess("a", now: Self.start + Self.second) == nil)
    }

    @Test func `with a full table known keys are counted, new ones pass uncounted, and it does not grow`() {
        let limiter = RateLimiter<Int>(rate: Rate(count: 1, per: .seconds(10)), capacity: 1000)
        for key in 0..<1000 { #expect(limiter.excess(key, now: Self.start) == nil) }
        #expect(limiter.count == 1000)
        for key in 1000..<3000 { #expect(limiter.excess(key, now: Self.start + 1) == nil) }
        #expect(limiter.excess(2000, now: Self.start + 1) == nil)
        #expect(limiter.excess(0, now: Self.start + 1) != nil)
        #expect(limiter.count == 1000)
    }

    @Test func `keys whose bucket is full again make room`() {
        let limiter = RateLimiter<Int>(rate: Rate(count: 1, per: .seconds(1)), capacity: 100)
        for round in 0..<50 {
            let now = Self.start + UInt64(round) * Self.second
            for key in 0..<100 { #expect(limiter.excess(round * 100 + key, now: now) == nil) }
            for key in 0..<100 { #expect(limiter.excess(round * 100 + key, now: now) != nil, "counted again") }
            #expect(limiter.count <= 100)
        }
    }

    @Test(arguments: [
        Rate(count: Int.max, per: .seconds(1)), Rate(count: 1, per: .seconds(3600)), Rate(count: 1, per: .seconds(1)),
        Rate(count: 0, per: .seconds(1)), Rate(count: -5, per: .seconds(1)), Rate(count: 1, per: .zero),
    ])
    func `no rate and no clock makes it trap`(rate: Rate) {
        let limiter = RateLimiter<String>(rate: rate)
        for now in [0, 1, UInt64.max / 2, UInt64.max - 1, UInt64.max, 0] {
            _ = limiter.excess("a", now: now)
            _ = limiter.excess("\(now)", now: now)
        }
        #expect(limiter.count > 0)
    }
}
