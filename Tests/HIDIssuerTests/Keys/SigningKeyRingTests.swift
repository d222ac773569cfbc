// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import Testing

@testable import HIDIssuer

/// The schedule of the keys as a value.
@Suite struct SigningKeyRingTests {
    private static let overlap: Int64 = 600
    private static let linger: Int64 = 720

    private func key(_ published: Int64, _ activates: Int64?, retires: Int64? = nil) throws -> SigningKey {
        var key = SigningKey(key: try P256PrivateKey(), published: published, activates: activates)
        key.retires = retires
        return key
    }

    @Test func `the youngest active key signs, from its second until it retires`() throws {
        let (first, second, third) = (try key(0, 0, retires: 200), try key(0, 100), try key(0, nil))
        let ring = SigningKeyRing(keys: [third, second, first])
        #expect(ring.current(at: 0)?.kid == first.kid)
        #expect(ring.current(at: 99)?.kid == first.kid)
        #expect(ring.current(at: 100)?.kid == second.kid)
        #expect(ring.current(at: 1_000_000)?.kid == second.kid)
        #expect(ring.next(at: 0)?.kid == second.kid)
        #expect(ring.next(at: 100)?.kid == third.kid)
        #expect(ring.standby?.kid == third.kid)
        #expect(SigningKeyRing().current(at: 0) == nil)
        #expect(SigningKeyRing().next(at: 0) == nil)
    }

    @Test func `the published set holds all that are not retired, the signing key first`() throws {
        let (first, second, third) = (try key(0, 0, retires: 200), try key(5, 100), try key(50, nil))
        let ring = SigningKeyRing(keys: [third, second, first])
        #expect(ring.published(at: 99).map(\.kid) == [first.kid, second.kid, third.kid])
        #expect(ring.published(at: 199).map(\.kid) == [second.kid, first.kid, third.kid])
        #expect(ring.published(at: 200).map(\.kid) == [second.kid, third.kid])
    }

    @Test func `a clock that was set back leaves the first key signing`() throws {
        let (first, second, third) = (try key(1000, 1000, retires: 2720), try key(1000, 2000), try key(1000, nil))
        let ring = SigningKeyRing(keys: [first, second, third])
        for moment in [999, 0, -5_000, Int64.min] as [Int64] {
            #expect(ring.current(at: moment)?.kid == first.kid)
            #expect(ring.next(at: moment)?.kid == second.kid)
        }
        #expect(SigningKeyRing(keys: [third]).current(at: 5000) == nil, "a key that stands by never signs unasked")
    }

    @Test(arguments: [(0 as Int64, 600 as Int64), (100, 600), (599, 600), (600, 600), (601, 601), (90_000, 90_000)])
    func `a rotation waits until the next key was published for the overlap, and no longer`(
        now: Int64, expected: Int64
    ) throws {
        let (first, second) = (try key(0, 0), try key(0, nil))
        var ring = SigningKeyRing(keys: [first, second])
        #expect(ring.rotate(overlap: Self.overlap, linger: Self.linger, at: now) == expected)
        #expect(ring.current(at: expected - 1)?.kid == (expected > now ? first.kid : second.kid) || expected == now)
        #expect(ring.current(at: expected)?.kid == second.kid)
        #expect(ring.keys[0].retires == expected + Self.linger)
        #expect(ring.keys[1].retires == nil)
        #expect(ring.published(at: expected + Self.linger - 1).count == 2)
        #expect(ring.published(at: expected + Self.linger).map(\.kid) == [second.kid])
    }

    @Test func `a rotation under way is hastened by a shorter overlap and not put off by a longer one`() throws {
        let (first, second, third) = (try key(0, 0), try key(0, nil), try key(0, nil))
        var ring = SigningKeyRing(keys: [first, second])
        #expect(ring.rotate(overlap: 600, linger: Self.linger, at: 0) == 600)
        ring.keys.append(third)
        #expect(ring.rotate(overlap: 900, linger: Self.linger, at: 1) == 600)
        #expect(ring.rotate(overlap: 60, linger: Self.linger, at: 2) == 60)
        #expect(ring.rotate(overlap: 0, linger: Self.linger, at: 3) == 3)
        #expect(ring.current(at: 3)?.kid == second.kid)
        #expect(ring.keys[2].activates == nil)
        #expect(ring.rotate(overlap: 10, linger: Self.linger, at: 4) == 10)
        #expect(ring.current(at: 10)?.kid == third.kid)
    }

    @Test func `without a key that stands by there is no rotation`() throws {
        var ring = SigningKeyRing(keys: [try key(0, 0)])
        #expect(ring.rotate(overlap: 0, linger: 0, at: 10) == nil)
        #expect(ring.keys[0].retires == nil)
    }

    @Test func `a sweep forgets retired keys in their second`() throws {
        let (first, second) = (try key(0, 0, retires: 100), try key(0, 50))
        var ring = SigningKeyRing(keys: [first, second])
        #expect(ring.sweep(at: 99) == [])
        #expect(ring.sweep(at: 100) == [first.kid])
        #expect(ring.keys.map(\.kid) == [second.kid])
        #expect(ring.sweep(at: .max - 1) == [])
    }

    @Test(arguments: [Int64.min, Int64.min + 1, -1, 0, Int64.max - 1, Int64.max])
    func `no moment makes it trap`(moment: Int64) throws {
        var ring = SigningKeyRing(keys: [
            try key(moment, moment), try key(moment, nil), try key(0, .max, retires: .min),
        ])
        _ = (ring.current(at: moment), ring.next(at: moment), ring.published(at: moment))
        _ = ring.rotate(overlap: .max, linger: .max, at: moment)
        _ = ring.rotate(overlap: .min, linger: .min, at: moment)
        _ = ring.sweep(at: moment)
    }
}
