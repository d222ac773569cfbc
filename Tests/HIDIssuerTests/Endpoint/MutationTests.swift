// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDDaemon
import HIDHTTP
import HIDStore
import HIDTesting
import Testing

@testable import HIDIssuer

/// Right requests with a few octets changed, in great number.
@Suite(.timeLimit(.minutes(10))) struct MutationTests {
    private let world: IssuerWorld

    init() throws {
        world = try IssuerWorld()
    }

    /// Numbers that are the same in every run (splitmix64).
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private static let telling = Array("\"\\{}[]:,0e-u \u{80}".utf8) + [0, 0xFF]

    private func mutate(_ body: [UInt8], _ numbers: inout Numbers) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...3, using: &numbers) where !body.isEmpty {
            let index = Int.random(in: body.indices, using: &numbers)
            switch Int.random(in: 0..<6, using: &numbers) {
            case 0: body[index] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
            case 1: body[index] = Self.telling[Int.random(in: Self.telling.indices, using: &numbers)]
            case 2: body.remove(at: index)
            case 3: body.insert(UInt8.random(in: 0...255, using: &numbers), at: index)
            case 4: body.removeSubrange(index..<min(body.count, index + Int.random(in: 1...40, using: &numbers)))
            default: body.insert(contentsOf: body[index..<min(body.count, index + 20)], at: index)
            }
        }
        return body
    }

    private func request(_ kind: String, _ challenge: GivenChallenge) throws -> HIDTesting.TestClaims {
        switch kind {
        case "android": try Phone(Phone.android).androidAttestation(challenge)
        case "ios": try Phone(Phone.ios).appleAttestation(challenge, by: world.apple, key: TestSigningKey())
        case "key_proof": try Phone().keyProof(challenge)
        default: try Phone().testAttestation(challenge, by: world.authority)
        }
    }

    /// Puts a challenge with a fixed name and nonce into force again, so that one body stays right.
    private func renew(_ challenge: GivenChallenge, _ platform: String) {
        let stored = Challenge(
            id: challenge.id, nonce: challenge.nonceOctets, appID: "demo-app", deviceID: "phone-1", platform: platform,
            expiry: world.clock.wall + 60)
        world.store.inner.issue(stored, now: world.clock.wall) { _ in }
    }

    @Test(arguments: [("test", 10_000), ("key_proof", 7_000), ("android", 1_500), ("ios", 1_500)])
    func `a mutated request gets an error object or a token, never anything else`(kind: String, count: Int) throws {
        var numbers = Numbers(state: 20_261_130)
        let challenge = GivenChallenge(
            id: "AAAAAAAAAAAAAAAAAAAAAA", nonce: TestDevice.base64URL([UInt8](repeating: 5, count: 32)), keyStatus: "")
        let platform = kind == "key_proof" ? "test" : kind
        let body = Array(try request(kind, challenge).json.utf8)
        var statuses: [Int: Int] = [:]
        for _ in 0..<count {
            renew(challenge, platform)
            let mutated = mutate(body, &numbers)
            let answer = try world.post(IssuerWorld.verifyPath, mutated).answer
            statuses[answer.status, default: 0] += 1
            guard try isWellFormed(answer.status, answer.content) else {
                Issue.record("\(answer.status) to \(String(decoding: mutated, as: UTF8.self))")
                break
            }
        }
        #expect(Set(statuses.keys).isSubset(of: [200, 400, 403, 404, 409]), "\(statuses)")
        #expect(statuses[400, default: 0] > count / 10)
        #expect(statuses[403, default: 0] + statuses[409, default: 0] > count / 100, "\(statuses)")
    }

    private func isWellFormed(_ status: Int, _ content: [UInt8]) throws -> Bool {
        let json = try StrictJSON(content)
        guard status != 200 else { return json.member("token", of: json.root) != nil }
        guard let error = json.member("error", of: json.root), let code = json.member("code", of: error),
            let text = json.textBytes(code), let id = json.member("request_id", of: error),
            let known = IssuerError(rawValue: String(decoding: text, as: UTF8.self))
        else { return false }
        return known.status == status && json.textBytes(id)?.count == 32
    }

    @Test func `random octets are refused`() throws {
        var numbers = Numbers(state: 7)
        for _ in 0..<500 {
            let octets = (0..<Int.random(in: 0...200, using: &numbers)).map { _ in
                UInt8.random(in: 0...255, using: &numbers)
            }
            #expect(try world.post(IssuerWorld.verifyPath, octets).status == 400)
            #expect(try world.post(IssuerWorld.challengePath, octets).status == 400)
        }
    }
}
