// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDService
import HIDTesting
import HIDVerifier
import Testing

@testable import HIDIssuer

/// Keys in use: what signs is what verifiers know.
@Suite(.timeLimit(.minutes(10))) struct SigningKeysTests {
    private static let start = ManualClock.start
    private let keys: SigningKeys
    private let device: P256PrivateKey

    init() throws {
        keys = try SigningKeys(directory: nil, log: Log(sink: .memory(MemoryLog())), now: Self.start)
        device = try P256PrivateKey()
    }

    private func token(at now: Int64) throws -> [UInt8] {
        let claims = TokenClaims(
            appID: "demo-app", hid: String(repeating: "h", count: 32), isBlocked: false, platform: "test", level: "tee",
            environment: "test", deviceKey: device.publicKey.point)
        return try TokenIssuer(issuer: IssuerWorld.issuer, life: 30, keys: keys).sign(claims, now: now)
    }

    private func reason(_ token: [UInt8], with set: KeySet, at now: Int64) -> Reason? {
        let policy = IssuerPolicy(issuer: IssuerWorld.issuer, audience: ["demo-app"], keys: set)
        return TokenVerifier(issuers: [policy]).check(token.span, now: now).reason
    }

    private func set(at now: Int64) throws -> KeySet { try KeySet(jwks: keys.keySet(at: now)) }

    @Test func `a new issuer has one key that signs and one that stands by, both published`() throws {
        let published = keys.published(at: Self.start)
        #expect(published.count == 2)
        #expect(published[0].kid == keys.current(at: Self.start)?.kid)
        #expect(published[1].activates == nil)
        #expect(try set(at: Self.start).keyIDs == published.map(\.kid))
    }

    @Test(arguments: [0, 60, 300, 600, 900] as [Int64])
    func
        `in every second of a rotation every token verifies with the set of then and with any younger than the overlap`(
            overlap: Int64
        ) throws
    {
        var sets: [(moment: Int64, set: KeySet)] = []
        let rotated = Self.start + 1000
        for now in stride(from: rotated - 50, through: rotated + overlap + 800, by: 50) {
            if now == rotated { _ = try keys.rotate(overlap: overlap, now: now) }
            keys.maintain(now: now)
            sets.append((now, try set(at: now)))
            let token = try token(at: now)
            for known in sets where now - known.moment <= max(overlap, 300) {
                #expect(reason(token, with: known.set, at: now) == nil, "\(now) with the set of \(known.moment)")
            }
            // A token of before, at the end of its life, with the set of now.
            let old = try self.token(at: now - 30)
            #expect(reason(old, with: sets[sets.count - 1].set, at: now + 4) == nil)
        }
        #expect(keys.published(at: rotated + overlap + 800).count == 2)
    }

    @Test func `a rotation makes the next key sign and publishes another`() throws {
        let before = keys.published(at: Self.start).map(\.kid)
        let rotation = try keys.rotate(overlap: 600, now: Self.start + 10)
        #expect(rotation == KeyRotation(kid: before[1], activates: Self.start + 600, previous: before[0]))
        #expect(keys.published(at: Self.start + 10).count == 3)
        #expect(keys.current(at: Self.start + 599)?.kid == before[0])
        #expect(keys.current(at: Self.start + 600)?.kid == before[1])
        keys.maintain(now: Self.start + 600 + SigningKeys.linger)
        let after = keys.published(at: Self.start + 600 + SigningKeys.linger)
        #expect(after.count == 2)
        #expect(after[0].kid == before[1])
        #expect(!before.contains(after[1].kid))
    }

    @Test func `a second rotation in a row only hastens the first, and makes no further key`() throws {
        let first = try keys.rotate(overlap: 600, now: Self.start)
        for _ in 0..<40 {
            #expect(try keys.rotate(overlap: 900, now: Self.start + 5) == first)
        }
        #expect(keys.published(at: Self.start + 5).count == 3)
        let hastened = try keys.rotate(overlap: 0, now: Self.start + 6)
        #expect(hastened.kid == first.kid)
        #expect(hastened.activates == Self.start + 6)
        #expect(keys.published(at: Self.start + 6).count == 3)
    }

    @Test func `rotations without overlap stop before verifiers refuse the set`() throws {
        var done = 0
        for index in 0..<40 {
            do {
                _ = try keys.rotate(overlap: 0, now: Self.start + Int64(index))
                done += 1
            } catch {
                #expect("\(error)".contains("wait until one has retired"))
            }
        }
        #expect(done == 14)
        let now = Self.start + 40
        #expect(keys.published(at: now).count == KeyDirectory.keyLimit)
        #expect(try set(at: now).count == KeyDirectory.keyLimit)
        #expect(try reason(token(at: now), with: set(at: now), at: now) == nil)
        #expect(throws: Never.self) { try keys.rotate(overlap: 0, now: now + SigningKeys.linger) }
    }

    @Test func `the set is never older than its second, also after the clock was set back`() throws {
        let first = try set(at: Self.start).keyIDs
        _ = try keys.rotate(overlap: 600, now: Self.start)
        #expect(try set(at: Self.start).count == 3)
        let after = Self.start + 600 + SigningKeys.linger
        #expect(try set(at: after).keyIDs.first == first[1])
        #expect(try set(at: Self.start).keyIDs.first == first[0])
    }
}
