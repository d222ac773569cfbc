// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

@Suite struct AppAttestAssertionTests {
    private static let hash = SHA256.digest(Array("client data with a nonce".utf8))

    private let key: TestSigningKey

    init() throws {
        key = try TestSigningKey()
    }

    private func verify(
        _ octets: [UInt8], hash: [UInt8] = Self.hash, appIDs: [String] = [TestAppAttest.appID], stored: UInt32 = 0
    ) -> Result<UInt32, AssertionFault> {
        AppAttestVerifier.verifyAssertion(
            octets, clientDataHash: hash, point: key.point, appIDs: appIDs, storedCounter: stored)
    }

    private func assertion(_ counter: UInt32, signature: ([UInt8]) -> [UInt8] = { $0 }) throws -> [UInt8] {
        try TestAppAttest.assertion(clientDataHash: Self.hash, counter: counter, key: key, signature: signature)
    }

    @Test(arguments: [1, 2, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF] as [UInt32])
    func `a counter is unsigned and must be above the stored one`(_ counter: UInt32) throws {
        let octets = try assertion(counter)
        #expect(verify(octets) == .success(counter))
        #expect(verify(octets, stored: counter - 1) == .success(counter))
        #expect(verify(octets, stored: counter) == .failure(.counterReplayed))
        #expect(verify(octets, stored: .max) == .failure(.counterReplayed))
    }

    @Test func `the counter zero is never above`() throws {
        #expect(verify(try assertion(0)) == .failure(.counterReplayed))
    }

    @Test func `a replayed counter is told only to the holder of the key`() throws {
        let octets = try assertion(1)
        #expect(verify(octets, hash: [1], stored: 5) == .failure(.badSignature))
        #expect(verify(octets, hash: [1], appIDs: ["x"], stored: 5) == .failure(.wrongApp))
    }

    @Test func `a signature over the nonce as the digest is refused`() throws {
        let data = TestAppAttest.head(appID: TestAppAttest.appID, counter: 1)
        let pair = try P256PrivateKey()
        let nonce = SHA256.digest(data + Self.hash)
        let digest = SHA256.digest(nonce)
        for (signed, isRight) in [(digest, true), (nonce, false)] {
            let octets = CBORValue.map([
                (.text("signature"), .bytes(try pair.signDER(digest: signed))),
                (.text("authenticatorData"), .bytes(data)),
            ]).encoded
            let result = AppAttestVerifier.verifyAssertion(
                octets, clientDataHash: Self.hash, point: pair.publicKey.point, appIDs: [TestAppAttest.appID],
                storedCounter: 0)
            #expect(result == (isRight ? .success(1) : .failure(.badSignature)))
        }
    }

    @Test func `the other half of s verifies, as plain ECDSA has it`() throws {
        let octets = try assertion(3) { der in
            guard let raw = try? ECDSASignature.parseDER(der),
                let other = ECDSASignature.encodeDER(Array(raw[..<32]) + Self.negated(Array(raw[32...])))
            else { return [] }
            return other
        }
        #expect(octets != (try assertion(3)))
        #expect(verify(octets) == .success(3))
    }

    @Test func `signatures that are no strict DER are refused`() throws {
        let changes: [([UInt8]) -> [UInt8]] = [
            { [0x30, 0x81] + $0.dropFirst() }, { [0x30, 0x80] + $0.dropFirst(2) + [0, 0] }, { $0 + [0] },
            { Array($0.dropLast()) }, { _ in [] }, { (try? ECDSASignature.parseDER($0)) ?? [] },
            { _ in [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00] }, { [0x31] + $0.dropFirst() },
        ]
        for change in changes { #expect(verify(try assertion(1, signature: change)) == .failure(.malformed)) }
    }

    @Test func `extensions may follow the head and nothing else`() throws {
        func verify(_ extensions: [UInt8]) throws -> Result<UInt32, AssertionFault> {
            self.verify(
                try TestAppAttest.assertion(
                    clientDataHash: Self.hash, counter: 9, key: key, extensions: extensions))
        }
        #expect(try verify(TestAppAttest.systemExtensions(category: 4, bundleVersion: "7")) == .success(9))
        #expect(try verify([0xA0]) == .success(9))
        for wrong in [[0x00], [0xA0, 0xA0], [0xA1], [0xBF, 0xFF], [0x80], [0xA0, 0x00]] as [[UInt8]] {
            #expect(try verify(wrong) == .failure(.malformed))
        }
    }

    @Test func `the form of an assertion is fixed`() throws {
        let data = TestAppAttest.head(appID: TestAppAttest.appID, counter: 1)
        let der = try key.sign(SHA256.digest(data + Self.hash), .ecdsaSHA256)
        let signature = (CBORValue.text("signature"), CBORValue.bytes(der))
        let rest = (CBORValue.text("authenticatorData"), CBORValue.bytes(data))
        let right = CBORValue.map([signature, rest]).encoded
        #expect(verify(right) == .success(1))
        #expect(verify(CBORValue.map([rest, signature]).encoded) == .success(1))
        let wrong: [CBORValue] = [
            .map([signature]), .map([rest]), .map([signature, rest, rest]), .map([]),
            .array([.bytes(der), .bytes(data)]),
            .map([signature, rest, (.text("x"), .unsigned(1))]), .raw(right + [0]), .raw([]),
            .map([signature, (.text("authenticatorData"), .text("x"))]),
            .map([(.text("signature"), .text("x")), rest]),
            .map([signature, (.text("authenticatorData"), .bytes(Array(data.dropLast())))]),
            .map([signature, rest, (.text("pad"), .bytes([UInt8](repeating: 0, count: 1024)))]),
        ]
        for value in wrong { #expect(verify(value.encoded) == .failure(.malformed)) }
        for length in right.indices { #expect(verify(Array(right.prefix(length))) == .failure(.malformed)) }
    }

    @Test func `random octets are refused`() throws {
        let right = try assertion(1)
        for _ in 0..<5000 {
            var changed = right
            changed.replaceSubrange(
                Int.random(in: changed.indices)..<changed.count,
                with: (0..<Int.random(in: 0...40)).map { _ in UInt8.random(in: 0...255) })
            #expect(throws: AssertionFault.self) { try verify(changed).get() }
        }
    }

    @Test func `fault codes are stable`() {
        #expect(
            AssertionFault.allCases.map(\.rawValue) == ["malformed", "wrong_app", "bad_signature", "counter_replayed"])
        for fault in AssertionFault.allCases { #expect(AttestationReason(rawValue: fault.rawValue) != nil) }
    }

    /// n - s.
    private static func negated(_ scalar: [UInt8]) -> [UInt8] {
        let order = Vectors.hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        var output = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(scalar[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            output[index] = UInt8(truncatingIfNeeded: difference)
        }
        return output
    }
}
