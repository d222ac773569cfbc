// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 3 of data/tokens/cases.md.
@Suite struct TokenSignatureTests {
    private let harness: TokenHarness

    private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    private static let orderLessOne = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"

    init() throws {
        harness = try TokenHarness()
    }

    private func check(signature: ([UInt8]) throws -> [UInt8]) throws -> Reason? {
        let token = try harness.issuer.mint(
            header: Array(harness.header.json.utf8), payload: Array(harness.claims.json.utf8), signature: signature)
        return harness.check(token).reason
    }

    @Test func `T54 T55 no flipped bit of a token is ever accepted`() throws {
        let token = try harness.issuer.mint(harness.claims)
        for bit in 0..<token.count * 8 {
            var flipped = token
            flipped[bit / 8] ^= 1 << (bit % 8)
            let check = harness.check(flipped)
            #expect(check.reason != nil && check.token == nil)
        }
    }

    @Test func `T54 a flipped bit of the decoded signature does not verify`() throws {
        for bit in stride(from: 0, to: 512, by: 7) {
            let reason = try check { signature in
                var flipped = signature
                flipped[bit / 8] ^= 1 << (bit % 8)
                return flipped
            }
            #expect(reason == .tokenSignatureInvalid)
        }
    }

    @Test func `T55 another payload or header under the same signature does not verify`() throws {
        let parts = try harness.parts()
        let payload = base64URL(harness.claims.json)
        #expect(harness.check("\(parts[0]).\(payload).\(parts[2])").reason == .tokenSignatureInvalid)
        let header = base64URL(harness.header.appending("x", "1").json)
        #expect(harness.check("\(header).\(parts[1]).\(parts[2])").reason == .tokenSignatureInvalid)
        let space = base64URL(harness.header.json + " ")
        #expect(harness.check("\(space).\(parts[1]).\(parts[2])").reason == .tokenSignatureInvalid)
    }

    @Test func `T56 T57 r and s of 0 and n are out of range, 1 and n-1 do not verify`() throws {
        let zero = String(repeating: "00", count: 32)
        let one = String(repeating: "00", count: 31) + "01"
        let values = [(zero, true), (one, false), (Self.orderLessOne, false), (Self.order, true)]
        for (r, isBadR) in values {
            for (s, isBadS) in values {
                let reason = try check { _ in Vectors.hex(r + s) }
                #expect(reason == (isBadR || isBadS ? .tokenSignatureRange : .tokenSignatureInvalid))
            }
        }
    }

    @Test(arguments: [0, 1, 32, 62, 63, 65, 66, 96, 128])
    func `T59 a signature of another length is refused`(_ count: Int) throws {
        #expect(try check { Array(($0 + $0).prefix(count)) } == .tokenSignatureLength)
    }

    @Test func `T59 T60 trailing zeros and DER are refused`() throws {
        #expect(try check { $0 + [0] } == .tokenSignatureLength)
        #expect(try check { $0 + [0, 0] } == .tokenSignatureLength)
        #expect(try check { try #require(ECDSASignature.encodeDER($0)) } == .tokenSignatureLength)
    }

    @Test func `T61 the other half of a malleable pair verifies and has the same replay key`() throws {
        let token = try harness.issuer.mint(harness.claims)
        let parts = String(decoding: token, as: UTF8.self).split(separator: ".")
        let signature = try #require(Base64URL.decode(Array(parts[2].utf8)))
        let mirrored = signature.prefix(32) + Self.subtractFromOrder(Array(signature.suffix(32)))
        let other = "\(parts[0]).\(parts[1]).\(TestDevice.base64URL(Array(mirrored)))"
        #expect(Array(other.utf8) != token)
        #expect(harness.check(other).reason == nil)
        #expect(harness.check(other).token?.replayKey == harness.check(token).token?.replayKey)
    }

    @Test func `T62 r and s swapped do not verify`() throws {
        #expect(try check { Array($0.suffix(32) + $0.prefix(32)) } == .tokenSignatureInvalid)
    }

    @Test func `a token by the same kid of a stranger does not verify`() throws {
        let stranger = try TestIssuer()
        #expect(harness.check(try stranger.mint(harness.claims)).reason == .tokenSignatureInvalid)
    }

    @Test func `T64 a token by a removed key has an unknown kid`() throws {
        let removed = try TestIssuer(kid: "k0")
        #expect(harness.check(try removed.mint(harness.claims)).reason == .keyIDUnknown)
    }

    @Test func `no cut of a token is accepted or traps`() throws {
        let token = try harness.issuer.mint(harness.claims)
        for count in 0..<token.count {
            #expect(harness.check(Array(token.prefix(count))).reason != nil)
            #expect(harness.check(Array(token.suffix(count))).reason != nil)
            let middle = Array(token[(token.count - count) / 2..<(token.count + count) / 2])
            #expect(harness.check(middle).reason != nil)
        }
    }

    @Test func `random octets are refused and do not trap`() throws {
        for round in 0..<2000 {
            let bytes = try SecureRandom.bytes(round % 300)
            #expect(harness.check(bytes).reason != nil)
            let header = TestDevice.base64URL(bytes)
            #expect(harness.check("\(header).\(header).\(header)").reason != nil)
        }
    }

    /// n - s in 32 octets.
    private static func subtractFromOrder(_ value: [UInt8]) -> [UInt8] {
        var borrow = 0
        var result = [UInt8](repeating: 0, count: 32)
        let order = Vectors.hex(order)
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(value[index]) - borrow
            result[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        return result
    }
}
