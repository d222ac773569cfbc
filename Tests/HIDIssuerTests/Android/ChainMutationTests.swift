// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

/// Octets of passing chains, changed one by one and at random.
@Suite struct ChainMutationTests {
    private let verifier = AndroidAttestationVerifier()

    private func outcome(
        _ chain: [[UInt8]], _ policy: AndroidAttestationPolicy, at now: Int64 = AndroidTestChain.now
    ) -> AttestationOutcome {
        verifier.verify(chain: chain, policy: policy, revocation: nil, now: now).outcome
    }

    /// A supplied copy of the root counts by its key alone: everything but that is read and forgotten.
    private func isForgotten(_ index: Int, of chain: [[UInt8]], _ other: [[UInt8]]) throws -> Bool {
        guard index == chain.count - 1 else { return false }
        let key = try Certificate(chain[index]).subjectPublicKeyInfo
        return try Certificate(other[index]).subjectPublicKeyInfo == key
    }

    private func mutate(_ chain: [[UInt8]], _ policy: AndroidAttestationPolicy, at now: Int64, _ masks: [UInt8]) throws
    {
        #expect(outcome(chain, policy, at: now) == .human)
        for index in chain.indices {
            for position in chain[index].indices {
                for mask in masks {
                    var other = chain
                    other[index][position] ^= mask
                    guard outcome(other, policy, at: now) == .human else { continue }
                    let isForgotten = try isForgotten(index, of: chain, other)
                    #expect(isForgotten, "certificate \(index), octet \(position), xor \(mask)")
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `no octet of a chain can be changed`(_ isRemote: Bool) throws {
        let chain = isRemote ? try AndroidTestChain(remote: "TEE") : try AndroidTestChain(level: "StrongBox")
        try mutate(chain.signed(), try chain.policy(), at: AndroidTestChain.now, [0x01, 0x80])
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `no octet of a recorded chain can be changed`() throws {
        for name in ["acu-strongbox-v400-factory-2026"] {
            let entry = try RecordedChain.named(name)
            try mutate(entry.chain(), entry.policy, at: entry.now, [0x04])
        }
    }

    @Test func `a chain that is cut off at any octet is refused`() throws {
        let chain = try AndroidTestChain()
        let (octets, policy) = (try chain.signed(), try chain.policy())
        for index in octets.indices {
            for count in octets[index].indices {
                var other = octets
                other[index] = Array(octets[index].prefix(count))
                #expect(outcome(other, policy) == .rejected)
            }
            var longer = octets
            longer[index].append(0)
            #expect(outcome(longer, policy) == .rejected)
        }
    }

    @Test func `ten thousand random changes end in a report`() throws {
        let chain = try AndroidTestChain(remote: "StrongBox")
        let (octets, policy) = (try chain.signed(), try chain.policy())
        var random = SystemRandomNumberGenerator()
        var humans = 0
        for _ in 0..<10_000 {
            var other = octets
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<octets.count - 1, using: &random)
                change(&other[index], &random)
            }
            if other != octets, outcome(other, policy) == .human { humans += 1 }
        }
        #expect(humans == 0)
    }

    private func change(_ octets: inout [UInt8], _ random: inout SystemRandomNumberGenerator) {
        let position = Int.random(in: 0..<max(octets.count, 1), using: &random)
        guard position < octets.count else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: octets[position] = UInt8.random(in: 0 ... .max, using: &random)
        case 1: octets.insert(UInt8.random(in: 0 ... .max, using: &random), at: position)
        case 2: octets.remove(at: position)
        default: octets.removeSubrange(position..<min(position + 16, octets.count))
        }
    }

    @Test func `a signed leaf with random contents ends in a report`() throws {
        let right = KeyDescriptionWriter().written()
        var random = SystemRandomNumberGenerator()
        let chain = try AndroidTestChain()
        let (octets, policy) = (try chain.signed(), try chain.policy())
        for _ in 0..<500 {
            var description = right
            for _ in 0..<Int.random(in: 1...3, using: &random) { change(&description, &random) }
            var leaf = chain.leaf
            leaf.extensions = [CertificateBuilder.extension("1.3.6.1.4.1.11129.2.1.17", description)]
            let other = [try leaf.signed(by: chain.keys.batch)] + octets.dropFirst()
            let report = verifier.verify(chain: other, policy: policy, revocation: nil, now: AndroidTestChain.now)
            #expect(report.reasons.allSatisfy { $0 != .badSignature })
        }
    }
}
